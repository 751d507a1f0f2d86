"""Parts of trees taken out, copied, and put in elsewhere: what edits that move or recompute statements are made of.

    band: i    S0              band: i_o                  without(tree, S0), and under the loop i_o
    band: i_o              ->    sequence                 grafted(..., path, part_of(tree, S0), ...)
      band: i_2    S1              band: i    S0
                                   band: i_2  S1
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import reduce

from polysched.model.tree.nodes import Band, Context, Domain, Filter, Mark, Storage, Tree, children, with_children
from polysched.model.tree.nodes import Sequence as InOrder
from polysched.support import isl
from polysched.transform.edits.base.loops import changed_at, free, loops, node_at
from polysched.transform.edits.base.parts import only
from polysched.transform.edits.base.sequences import flat


def part_of(tree: Tree, kept: isl.UnionSet) -> Tree:
    """The tree for these instances alone."""
    assert isinstance(tree, Domain)
    left = tree.domain.intersect(kept)
    return Domain(left, only(tree.child, left))


def without(tree: Tree, gone: isl.UnionSet) -> Tree:
    """The tree for all but these instances."""
    assert isinstance(tree, Domain)
    return part_of(tree, tree.domain.subtract(gone))


def without_arrays(tree: Tree, gone: Collection[str]) -> Tree:
    """The tree without these arrays where they belong to a node."""
    below = tuple(without_arrays(child, gone) for child in children(tree))
    match tree:
        case Mark(mark=Storage(arrays=names)):
            left = tuple(name for name in names if name not in gone)
            return replace(tree, mark=Storage(left), child=below[0]) if left else below[0]
    return with_children(tree, below)


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
        case _:
            return with_children(tree, tuple(copied(child, origin) for child in children(tree)))


def grafted(tree: Tree, path: Sequence[int], part: Tree, coordinates: Sequence[isl.UnionMap], *, before: bool) -> Tree:
    """`tree` with new instances, in the order of `part`, before or after all that the node at `path` runs.

    `coordinates` are the values that they have in the loops on the way there, one { instance -> [value] } for each.
    Loops of the part whose names the tree has get others.
    """
    assert isinstance(tree, Domain) and isinstance(part, Domain)
    new, values = part.domain, iter(coordinates)
    body = _plain(_named_apart(part, tree))

    def graft(node: Tree, path: Sequence[int], reaching: isl.UnionSet) -> Tree:
        if not path:
            return _beside(node, reaching, Filter(new, body), before=before)
        if isinstance(node, Filter):
            reaching, node = node.filter, replace(node, filter=node.filter.union(new))
        if isinstance(node, Band):
            (member,) = node.members
            schedule = member.schedule.subtract_domain(new)  # which other instances of a statement may have gone on
            node = replace(node, members=(replace(member, schedule=schedule.union(next(values))),))
        below = list(children(node))
        below[path[0]] = graft(below[path[0]], path[1:], reaching)
        return with_children(node, tuple(below))

    return graft(replace(tree, domain=tree.domain.union(new).coalesce()), path, tree.domain)


def _beside(node: Tree, reaching: isl.UnionSet, branch: Filter, *, before: bool) -> Tree:
    rest = Filter(reaching, node)
    return flat((branch, rest) if before else (rest, branch))


def part_with(tree: Tree, path: Sequence[int], instances: isl.UnionSet, *, first: bool) -> tuple[int, ...]:
    """The way to the first, or the last, part of a sequence at `path` that runs some of the instances; the path itself
    where there is no sequence."""
    node = node_at(tree, path)
    if not isinstance(node, InOrder):
        return tuple(path)
    found = [k for k, branch in enumerate(node.children) if not branch.filter.is_disjoint(instances)]
    return (*path, found[0 if first else -1], 0)


def flattened(tree: Tree, path: Sequence[int]) -> Tree:
    """`tree` with the parts of sequences that stand in the one at `path` in that."""
    return changed_at(tree, path, lambda node: flat(node.children) if isinstance(node, InOrder) else node)


def _plain(tree: Tree) -> Tree:
    """Without the root, and without what is known of the sizes, which stands above."""
    while isinstance(tree, Domain | Context):
        tree = tree.child
    return tree


def _named_apart(part: Tree, tree: Tree) -> Tree:
    """The part with other names for the loops whose names the tree has; both have one member in each band."""
    taken, own = {each.name for each in loops(tree)}, [each.name for each in loops(part)]
    names = {name: name for name in own if name not in taken}
    for name in own:
        if name not in names:
            names[name] = free(name, taken | set(names.values()))

    def visit(node: Tree) -> Tree:
        if isinstance(node, Band):
            (member,) = node.members
            node = replace(node, members=(replace(member, name=names[member.name]),))
        return with_children(node, tuple(map(visit, children(node))))

    return visit(part)


def varying(tree: Tree, around: isl.UnionMap) -> Tree:
    """The tree without the loops that have one value for each value of { instance -> [outer loops] }, and unmarked."""
    match tree:
        case Band(members=(member,), child=child):
            below = varying(child, around)
            values = around.reverse().apply_range(member.schedule)
            return below if values.is_single_valued() else Band((replace(member, marks=()),), tree.permutable, below)
        case Mark(child=child):
            return varying(child, around)
        case _:
            return with_children(tree, tuple(varying(child, around) for child in children(tree)))


def bands_above(tree: Tree, path: Sequence[int]) -> Iterator[Band]:
    """The bands on the way to the node at `path`, outermost first, without itself."""
    for k in path:
        if isinstance(tree, Band):
            yield tree
        tree = children(tree)[k]


def coordinates_of(bands: Sequence[Band], instances: isl.UnionSet) -> isl.UnionMap:
    """{ instance -> [value in each loop] }"""
    none = isl.UnionMap.from_domain_and_range(instances, isl.UnionSet("{ [] }"))
    return reduce(isl.UnionMap.flat_range_product, (band.members[0].schedule for band in bands), none)
