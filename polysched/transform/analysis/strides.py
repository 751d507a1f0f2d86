"""Which loop of a permutable band has the shortest strides, to run innermost.

    for i: for j: for k: C[i, j] += A[i, k] * B[k, j]       along j: C 1, A 0, B 1       along k: C 0, A 1, B far

    band: i, j, k       ->       band: i, k, j        reorder("i", "k", "j")
"""

from __future__ import annotations

from functools import reduce

from polysched.model.scop import Access, Scop, Statement
from polysched.model.tree.nodes import Band, Member
from polysched.support import isl


def nearest(band: Band, scop: Scop, outer: tuple[Member, ...]) -> int:
    """Which member of the band leads to the fewest far elements when it is innermost; the last of several."""
    count = len(band.members)
    far = [far_accesses(scop, (*outer, *band.members), len(outer) + k)[0] for k in range(count)]
    return min(range(count), key=lambda k: (far[k], -k))


def far_accesses(scop: Scop, loops: tuple[Member, ...], innermost: int) -> tuple[int, int]:
    """How many accesses step by more than one element when `loops[innermost]` steps and the other loops stand: all of
    them, and the writes."""
    reads = writes = 0
    for statement in scop.statements:
        along = step(statement, loops, innermost)
        if along is not None:
            reads += sum(stride(access, along) is None for access in statement.reads)
            writes += sum(stride(access, along) is None for access in statement.writes)
    return reads + writes, writes


def iterators(statement: Statement) -> list[isl.Aff]:
    """{ S[i, j] -> [i] }, { S[i, j] -> [j] }"""
    space = isl.LocalSpace.from_space(statement.domain.get_space())
    return [isl.Aff.var_on_domain(space, isl.dim_type.set, k) for k in range(statement.depth)]


def step(statement: Statement, loops: tuple[Member, ...], innermost: int) -> isl.Map | None:
    """{ S[x] -> S[x'] }: to the next instance along `loops[innermost]`, the others standing; None when the statement
    does not move with it."""
    instances = isl.UnionSet.from_set(isl.Set.universe(statement.domain.get_space()))
    steps = []
    for k, member in enumerate(loops):
        schedule = member.schedule.intersect_domain(instances)
        if schedule.is_empty():
            return None
        ahead = _NEXT if k == innermost else _SAME
        steps.append(schedule.apply_range(ahead).apply_range(schedule.reverse()))
    along = reduce(isl.UnionMap.intersect, steps)
    return None if along.is_empty() else isl.Map.from_union_map(along)


_NEXT, _SAME = isl.UnionMap("{ [x] -> [x + 1] }"), isl.UnionMap("{ [x] -> [x] }")


def stride(access: Access, along: isl.Map, near: int = 1) -> int | None:
    """0 if the access stays, 1 if it may also step by one, or what is `near`, along its last dimension, None if it goes
    further."""
    deltas = access.relation.reverse().apply_range(along).apply_range(access.relation).deltas()
    if deltas.is_subset(_box(deltas, 0)):
        return 0
    return 1 if deltas.is_subset(_box(deltas, near)) else None


def _box(deltas: isl.Set, reach: int) -> isl.Set:
    """Distances of at most `reach` along the last dimension, and of zero along the others."""
    box = isl.Set.universe(deltas.get_space())
    rank = deltas.dim(isl.dim_type.set)
    for k in range(rank):
        most = reach if k == rank - 1 else 0
        box = box.lower_bound_val(isl.dim_type.set, k, isl.Val(-most))
        box = box.upper_bound_val(isl.dim_type.set, k, isl.Val(most))
    return box
