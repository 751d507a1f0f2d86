"""Wavefronts: parallelism where every loop of a permutable band carries a dependence (Bondhugula et al., PLDI 2008,
section 5.3).

    band: t, i       ->       band: t + i                    wavefront("t", "i")
                                band: i        coincident: the iterations of one wavefront are independent

Every member of a permutable band has distances of zero or more on the dependences that order it. So one that the sum
of two members leaves at zero distance is at zero distance in both of them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from polysched.deps.coincidence import carried, left_below
from polysched.model.tree.nodes import Band, Member
from polysched.support import isl


def wavefront(band: Band, count: int = 2) -> Band:
    """The sum of the first `count` members of `band` as a loop of its own, around all but the first, of which the
    others of the sum are coincident: of n loops, fronts have n - 1 dimensions.

    ValueError if the band is not permutable or has one member only.
    """
    if not band.permutable or len(band.members) < 2:
        raise ValueError("a wavefront needs a permutable band of two or more members")
    first, *others = band.members[:count]
    total = reduce(isl.UnionPwAff.add, (member.function for member in others), first.function)
    inner = (*(replace(member, coincident=True) for member in others), *band.members[count:])
    return Band((Member(isl.UnionMap.from_union_pw_aff(total)),), permutable=True, child=replace(band, members=inner))


def is_parallel_inside(band: Band, reaching: isl.UnionMap) -> bool:
    """Is the second loop of the band parallel in its wavefront? Not where updates of a reduction may run in any order:
    their distances are of either sign."""
    front = wavefront(band)
    assert isinstance(front.child, Band)
    return bool(carried(front.child.members[0], left_below(front, reaching)).is_empty())
