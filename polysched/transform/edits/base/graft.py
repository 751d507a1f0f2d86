"""Parts of trees taken out, copied, and put in elsewhere: what edits that move or recompute statements are made of.

    band: i    S0              band: i_o                  without(tree, S0), and under the loop i_o
    band: i_o              ->    sequence                 grafted(..., path, part_of(tree, S0), ...)
      band: i_2    S1              band: i    S0
                                   band: i_2  S1
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from polysched.model.tree.instances import only
from polysched.model.tree.nodes import (
    Band,
    Context,
    Domain,
    Filter,
    InOrder,
    Mark,
    Storage,
    Tree,
    children,
    with_children,
)
from polysched.support import isl
from polysched.transform.edits.base.loops import changed_at, loops, node_at
from polysched.transform.edits.base.parts import called_otherwise, flat


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


def grafted(tree: Tree, path: Sequence[int], part: Tree, coordinates: Sequence[isl.UnionMap], *, before: bool) -> Tree:
    """`tree` with new instances, in the order of `part`, before or after all that the node at `path` runs.

    `coordinates` are the values that they have in the loops on the way there, one { instance -> [value] } for each.
    Loops of the part whose names the tree has get others.
    """
    assert isinstance(tree, Domain) and isinstance(part, Domain)
    new, values, taken = part.domain, iter(coordinates), {each.name for each in loops(tree)}
    body: Tree = called_otherwise(part, taken, taken | {each.name for each in loops(part)})
    while isinstance(body, Domain | Context):  # what is known of the sizes stands above
        body = body.child

    def graft(node: Tree, path: Sequence[int], reaching: isl.UnionSet) -> Tree:
        if not path:
            branch, rest = Filter(new, body), Filter(reaching, node)
            return flat((branch, rest) if before else (rest, branch))
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
