"""Which innermost loops may run as SIMD: those whose iterations are independent inside of the loops around.

    band: i, k, j                       band: i, k
                            ->            mark: vector              vectorize("j")
    C[i, j] += A[i, k] * B[k, j]            band: j

A loop over several statements that depend on each other is distributed if that makes one of its parts independent.
Where all iterations wait for each other, several rows run at a time (unroll and jam):

    band: i, j                                       band: floor(i/8)          tile("i", sizes=(8,), names=("i_r",))
                                            ->         band: j                 reorder("i_r", "j", "i")
    p[i, j] = 1 / (a * p[i, j - 1] + b)                  mark: unroll          unroll("i")
                                                           band: i

Along j each division waits for the one before; eight rows of i keep the processor busy meanwhile.

And which loop of a band runs on threads: the first parallel one that has more than one iteration.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.deps.coincidence import carried, left_below
from polysched.model.tree.nodes import Band, InOrder, Leaf, Member, is_innermost
from polysched.support import isl
from polysched.support.remembered import remembered
from polysched.transform.trees.distribute import distribute


def can_vectorize(band: Band, reaching: isl.UnionMap) -> bool:
    """Is the last loop of an innermost `band`, or one that it is distributed to, independent inside of the others?
    `reaching` are the dependences that nothing above orders."""
    if not is_innermost(band):
        return False
    *outer, last = band.members
    inside = left_below(Band(tuple(outer)), reaching)
    if carried(last, inside).is_empty():
        return True
    parts = distribute(replace(band, members=(last,)), inside)
    return parts is not None and any(carried(last, left_below(part, inside)).is_empty() for part in parts.children)


def row_to_interleave(band: Band, reaching: isl.UnionMap) -> Member | None:
    """The parallel loop of the band whose rows would run together; None if there is none, or no need."""
    if not (band.permutable and _is_flat(band)):
        return None
    row = next((member for member in band.members[:-1] if member.coincident), None)
    return None if row is None or can_vectorize(band, reaching) else row


def _is_flat(band: Band) -> bool:
    """Does it run statements, with no loop below?"""
    match band.child:
        case Leaf():
            return True
        case InOrder(children=branches):
            return all(isinstance(branch.child, Leaf) for branch in branches)
    return False


def for_threads(band: Band, domain: isl.UnionSet | None) -> int | None:
    """The first coincident member that runs more than once; None if there is none."""
    parallel = (k for k, member in enumerate(band.members) if member.coincident)
    return next((k for k in parallel if not runs_once(band.members[k], domain)), None)


@remembered
def runs_once(member: Member, domain: isl.UnionSet | None) -> bool:
    """Has the member one value for these instances, if they are known?"""
    if domain is None:
        return False
    values = member.schedule.intersect_domain(domain).range()
    return values.n_set() == 1 and bool(isl.sets_of(values)[0].is_singleton())
