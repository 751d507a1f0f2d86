"""Other names for the statements of a tree, such as those of a tree that another tool has made.

    { S_0[i] : 0 <= i < n }      renamed(tree, {"S_0": "S0"})      { S0[i] : 0 <= i < n }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polysched.errors import InputError
from polysched.model.tree.nodes import Band, Domain, Extension, Filter, Tree, children, with_children
from polysched.support import isl


def renamed(tree: Tree, names: Mapping[str, str]) -> Tree:
    """`tree` with the statements that `names` has called as it says; InputError if the tree has none of a name."""
    assert isinstance(tree, Domain)
    known = sorted(part.get_tuple_name() or "" for part in isl.sets_of(tree.domain))
    if unknown := sorted(set(names) - set(known)):
        raise InputError(f"the tree has no statement {', '.join(unknown)}", hint=f"it has: {', '.join(known)}")
    return _renamed(tree, names) if names else tree


def _renamed(tree: Tree, names: Mapping[str, str]) -> Tree:
    tree = with_children(tree, tuple(_renamed(child, names) for child in children(tree)))
    match tree:
        case Domain(domain=domain):
            return replace(tree, domain=_set(domain, names))
        case Filter(filter=passing):
            return replace(tree, filter=_set(passing, names))
        case Band(members=members):
            return replace(tree, members=tuple(replace(m, schedule=_map(m.schedule, names)) for m in members))
        case Extension():
            raise InputError("statements that an extension node adds cannot be renamed")
    return tree


def _set(union: isl.UnionSet, names: Mapping[str, str]) -> isl.UnionSet:
    parts = (part.set_tuple_name(names.get(name := part.get_tuple_name() or "", name)) for part in isl.sets_of(union))
    return isl.union_set(parts)


def _map(union: isl.UnionMap, names: Mapping[str, str]) -> isl.UnionMap:
    parts = []
    for part in isl.maps_of(union):
        name = part.get_tuple_name(isl.dim_type.in_) or ""
        parts.append(part.set_tuple_name(isl.dim_type.in_, names.get(name, name)))
    return isl.union_map(parts)
