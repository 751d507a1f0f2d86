"""Fusion of tile loops: nests that share data run block by block, one after the other in each block.

    sequence                                      mark: parallel
      filter: S                                     band: S, T -> floor(j/64)      coincident
        band: j, i                   ->               sequence
      filter: T                                         filter: S     band: j, i
        band: i, j                                      filter: T     band: i, j

What S has brought to the cache T finds there, and threads start once rather than twice. Legal where every dependence
between the nests stays within one value of their loops j. Done inside of other loops, which repeat it all.
"""

from __future__ import annotations

from polysched import isl
from polysched.deps.coincidence import together
from polysched.deps.dependences import Dependences
from polysched.heuristics.cpu import FUSED_BLOCK
from polysched.model.tree import Band, Filter, Member, Sequence, Tree, children, with_children
from polysched.transform.roles import Around
from polysched.transform.tile import block_of


def fuse_tile_loops(tree: Tree, dependences: Dependences) -> Tree:
    """`tree` with neighbours in sequences inside of loops fused, where both are bands of two or more members."""
    return _fused(tree, Around((), dependences.coincidence))


def _fused(tree: Tree, around: Around) -> Tree:
    below = around.below(tree)
    tree = with_children(tree, tuple(_fused(child, below) for child in children(tree)))
    if not (isinstance(tree, Sequence) and around.members):
        return tree
    branches: list[Filter] = []
    for branch in tree.children:
        both = _pair(branches[-1], branch, around.reaching) if branches else None
        branches[-1:] = [both] if both else [*branches[-1:], branch]
    if len(branches) == len(tree.children):
        return tree
    return branches[0].child if len(branches) == 1 else Sequence(tuple(branches))


def _pair(one: Filter, other: Filter, reaching: isl.UnionMap) -> Filter | None:
    """Both under one parallel loop over blocks; None if they have no such loop in common, or share nothing."""
    found = in_common(one, other, reaching)
    if found is None:
        return None
    common = Member(_values(one, other, *found), coincident=True)
    return Filter(one.filter.union(other.filter), Band((block_of(common, FUSED_BLOCK),), True, Sequence((one, other))))


def in_common(one: Filter, other: Filter, reaching: isl.UnionMap) -> tuple[Member, Member] | None:
    """The parallel loops of two neighbours, of which all that they share stays within an iteration."""
    between = reaching.intersect_domain(one.filter).intersect_range(other.filter)
    if between.is_empty() or not (isinstance(one.child, Band) and isinstance(other.child, Band)):
        return None
    if min(len(one.child.members), len(other.child.members)) < 2:
        return None
    for first in one.child.members:
        for second in other.child.members:
            are_parallel = first.coincident and second.coincident
            if are_parallel and between.is_subset(together(Member(_values(one, other, first, second)))):
                return first, second
    return None


def _values(one: Filter, other: Filter, first: Member, second: Member) -> isl.UnionMap:
    return first.schedule.intersect_domain(one.filter).union(second.schedule.intersect_domain(other.filter))
