"""Tile loops in common: nests that share data run block by block, one after the other in each block.

    sequence                       band: S, T -> floor(j/64)     coincident      tile("j", ...), tile("j_2", ...)
      filter: S                      sequence                                    reorder("j_f", "i", "j"), ...
        band: i, j         ->          filter: S     band: i, j                  fuse("j_f", "j_2_f")
      filter: T                        filter: T     band: j, i
        band: j, i

What S has brought to the cache T finds there, and threads start once rather than twice. Legal where every dependence
between the nests stays within one value of their loops j. Done inside of other loops, which repeat it all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from polysched.deps.coincidence import together
from polysched.deps.dependences import Dependences
from polysched.model.tree.nodes import Band, Filter, Member, Sequence, Tree
from polysched.support import isl
from polysched.transform.analysis.roles import Around


def tiles_to_fuse(tree: Tree, dependences: Dependences) -> Iterator[tuple[Band, Member, Band, Member]]:
    """Two bands each that follow one another inside of other loops, with the loops that both may have in common."""
    for node, around in Around((), dependences.coincidence).walk(tree, inner_first=True):
        branches = list(node.children) if isinstance(node, Sequence) and around.members else []
        while len(branches) > 1:
            one, other = branches.pop(0), branches[0]
            if found := _in_common(one, other, around.reaching):
                yield found
                branches.pop(0)  # a loop over blocks has no other neighbour


def _in_common(one: Filter, other: Filter, reaching: isl.UnionMap) -> tuple[Band, Member, Band, Member] | None:
    """The parallel loops of two neighbours, of which all that they share stays within an iteration."""
    between = reaching.intersect_domain(one.filter).intersect_range(other.filter)
    if between.is_empty() or not (isinstance(one.child, Band) and isinstance(other.child, Band)):
        return None
    if min(len(one.child.members), len(other.child.members)) < 2:
        return None
    for first, second in product(one.child.members, other.child.members):
        both = first.schedule.intersect_domain(one.filter).union(second.schedule.intersect_domain(other.filter))
        if first.coincident and second.coincident and between.is_subset(together(Member(both))):
            return one.child, first, other.child, second
    return None
