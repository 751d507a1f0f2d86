"""Wavefronts: parallelism where every loop of a permutable band carries a dependence (Bondhugula et al., PLDI 2008,
section 5.3).

    band: t, i       ->       band: t + i
                                band: i        coincident: the iterations of one wavefront are independent

Every member of a permutable band has distances of zero or more on the dependences that order it. So one that the sum
of two members leaves at zero distance is at zero distance in both of them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from polysched import isl
from polysched.deps.coincidence import carried, left_below
from polysched.deps.dependences import Dependences
from polysched.model.tree import Band, Member, Tree, children, with_children


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


def wavefront_all(tree: Tree, dependences: Dependences) -> Tree:
    """`tree` with a wavefront in the first band of each nest that could have one, unless a loop there is parallel."""
    return _skewed(tree, dependences.coincidence)


def _skewed(tree: Tree, reaching: isl.UnionMap) -> Tree:
    """`reaching` are the dependences that nothing above the node orders."""
    if isinstance(tree, Band):
        if any(member.coincident for member in tree.members):
            return tree
        if tree.permutable and len(tree.members) > 1:
            return wavefront(tree) if is_parallel_inside(tree, reaching) else tree
    below = left_below(tree, reaching)
    return with_children(tree, tuple(_skewed(child, below) for child in children(tree)))


def is_parallel_inside(band: Band, reaching: isl.UnionMap) -> bool:
    """Is the second loop of the band parallel in its wavefront? Not where updates of a reduction may run in any order:
    their distances are of either sign."""
    front = wavefront(band)
    assert isinstance(front.child, Band)
    return bool(carried(front.child.members[0], left_below(front, reaching)).is_empty())
