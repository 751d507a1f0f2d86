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

from polysched.deps.coincidence import together
from polysched.model.tree.nodes import Band, Filter, Member
from polysched.support import isl


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
