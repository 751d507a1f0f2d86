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


def wavefront(band: Band) -> Band:
    """The sum of the first two members of `band` as a loop of its own, around the others, of which the second
    member, now first, is coincident.

    ValueError if the band is not permutable or has one member only.
    """
    if not band.permutable or len(band.members) < 2:
        raise ValueError("a wavefront needs a permutable band of two or more members")
    first, second, *rest = band.members
    front = Member(isl.UnionMap.from_union_pw_aff(first.function.add(second.function)))
    inner = replace(band, members=(replace(second, coincident=True), *rest))
    return Band((front,), permutable=True, child=inner)


def wavefront_of_points(band: Band) -> Band:
    """The sum of all members of `band` as a loop of its own, around all but the first, which are coincident: a band of
    n loops has fronts of n - 1 dimensions.

    ValueError if the band is not permutable or has one member only.
    """
    if not band.permutable or len(band.members) < 2:
        raise ValueError("a wavefront needs a permutable band of two or more members")
    first, *rest = band.members
    total = reduce(isl.UnionPwAff.add, (member.function for member in rest), first.function)
    inner = tuple(replace(member, coincident=True) for member in rest)
    return Band((Member(isl.UnionMap.from_union_pw_aff(total)),), permutable=True, child=replace(band, members=inner))


def is_parallel_inside(band: Band, reaching: isl.UnionMap) -> bool:
    """Is the second loop of the band parallel in its wavefront? Not where updates of a reduction may run in any order:
    their distances are of either sign."""
    front = wavefront(band)
    assert isinstance(front.child, Band)
    return bool(carried(front.child.members[0], left_below(front, reaching)).is_empty())
