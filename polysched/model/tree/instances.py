"""Trees for other instances: for some of their own, for copies of them, and by other names of statements.

    { S_0[i] : 0 <= i < n }      renamed(tree, {"S_0": "S0"})      { S0[i] : 0 <= i < n }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polysched.errors import InputError
from polysched.model.tree.nodes import Band, Domain, Extension, Filter, InOrder, Set, Tree, children, with_children
from polysched.support import isl


def only(tree: Tree, part: isl.UnionSet, *, whole_loops: bool = False) -> Tree:
    """The node for these instances alone: without statements that have none of them. With `whole_loops`, loops keep
    their values for all other instances of the statements."""
    match tree:
        case Band(child=child):
            kept = tree.within(part.universe() if whole_loops else part)
            return replace(kept, child=only(child, part, whole_loops=whole_loops))
        case InOrder(children=branches) | Set(children=branches):
            passing = [(b.filter.intersect(part), b.child) for b in branches]
            running = [(both, only(b, both, whole_loops=whole_loops)) for both, b in passing if not both.is_empty()]
            own = tuple(Filter(*branch) for branch in running)
            return own[0].child if len(own) == 1 else replace(tree, children=own)
    return with_children(tree, tuple(only(child, part, whole_loops=whole_loops) for child in children(tree)))


def copied(tree: Tree, origin: isl.UnionMap) -> Tree:
    """The tree for copies of its instances, { copy -> instance }, in the order of these."""
    match tree:
        case Domain(domain=domain, child=child):
            return Domain(origin.intersect_range(domain).domain(), copied(child, origin))
        case Band(members=members, child=child):
            rows = (replace(member, schedule=origin.apply_range(member.schedule)) for member in members)
            return replace(tree, members=tuple(rows), child=copied(child, origin))
        case Filter(filter=filter, child=child):
            return Filter(origin.intersect_range(filter).domain(), copied(child, origin))
        case Extension():
            raise InputError("statements that an extension node adds cannot be renamed")
    return with_children(tree, tuple(copied(child, origin) for child in children(tree)))


def renamed(tree: Tree, names: Mapping[str, str]) -> Tree:
    """`tree` with the statements that `names` has called as it says; InputError if the tree has none of a name."""
    assert isinstance(tree, Domain)
    parts = isl.sets_of(tree.domain)
    known = [part.get_tuple_name() or "" for part in parts]  # in their order
    if unknown := sorted(set(names) - set(known)):
        raise InputError(f"the tree has no statement {', '.join(unknown)}", hint=f"it has: {', '.join(known)}")
    if not names:
        return tree
    same = zip((isl.Map.identity(part.get_space().map_from_set()) for part in parts), known, strict=True)
    return copied(tree, isl.union_map(m.set_tuple_name(isl.dim_type.in_, names.get(name, name)) for m, name in same))
