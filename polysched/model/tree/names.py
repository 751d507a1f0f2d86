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
    known = [part.get_tuple_name() or "" for part in isl.sets_of(tree.domain)]  # in their order
    if unknown := sorted(set(names) - set(known)):
        raise InputError(f"the tree has no statement {', '.join(unknown)}", hint=f"it has: {', '.join(known)}")
    if not names:
        return tree
    same = [isl.Map.identity(part.get_space().map_from_set()) for part in isl.sets_of(tree.domain)]
    new = [names.get(name, name) for name in known]
    pairs = zip(same, new, strict=True)
    return _renamed(tree, isl.union_map(m.set_tuple_name(isl.dim_type.out, name) for m, name in pairs))


def _renamed(tree: Tree, names: isl.UnionMap) -> Tree:
    """The tree of other instances: `names` is { S_0[i] -> S0[i] }."""
    tree = with_children(tree, tuple(_renamed(child, names) for child in children(tree)))
    match tree:
        case Domain(domain=domain):
            return replace(tree, domain=domain.apply(names))
        case Filter(filter=passing):
            return replace(tree, filter=passing.apply(names))
        case Band(members=members):
            renamed = (replace(m, schedule=m.schedule.apply_domain(names)) for m in members)
            return replace(tree, members=tuple(renamed))
        case Extension():
            raise InputError("statements that an extension node adds cannot be renamed")
    return tree
