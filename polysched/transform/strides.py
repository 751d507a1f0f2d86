"""How far apart in memory two neighbouring iterations of a loop touch an array.

    for i: for j: for k: C[i, j] += A[i, k] * B[k, j]       along j: C 1, A 0, B 1       along k: C 0, A 1, B far
"""

from __future__ import annotations

from functools import reduce

from polysched import isl
from polysched.model.scop import Access, Scop, Statement
from polysched.model.tree import Member


def far_accesses(scop: Scop, loops: tuple[Member, ...], innermost: int) -> int:
    """How many accesses step by more than one element when `loops[innermost]` steps and the other loops stand.

    `loops` are all members around the statements, from the outermost band on.
    """
    return sum(
        not _is_near(access, step)
        for statement in scop.statements
        if (step := _step(statement, loops, innermost)) is not None
        for access in (*statement.reads, *statement.writes)
    )


def _step(statement: Statement, loops: tuple[Member, ...], innermost: int) -> isl.Map | None:
    """{ S[x] -> S[x'] }: to the next instance along the loop; None when the statement does not move with it."""
    instances = isl.UnionSet.from_set(isl.Set.universe(statement.domain.get_space()))
    steps = []
    for k, member in enumerate(loops):
        schedule = member.schedule.intersect_domain(instances)
        if schedule.is_empty():
            return None
        ahead = _NEXT if k == innermost else _SAME
        steps.append(schedule.apply_range(ahead).apply_range(schedule.reverse()))
    step = reduce(isl.UnionMap.intersect, steps)
    return None if step.is_empty() else isl.Map.from_union_map(step)


_NEXT, _SAME = isl.UnionMap("{ [x] -> [x + 1] }"), isl.UnionMap("{ [x] -> [x] }")


def _is_near(access: Access, step: isl.Map) -> bool:
    """Does the access stay, or step by one along its last dimension?"""
    deltas = access.relation.reverse().apply_range(step).apply_range(access.relation).deltas()
    rank = deltas.dim(isl.dim_type.set)
    near = isl.Set.universe(deltas.get_space())
    for k in range(rank):
        reach = int(k == rank - 1)
        near = near.lower_bound_val(isl.dim_type.set, k, isl.Val(-reach))
        near = near.upper_bound_val(isl.dim_type.set, k, isl.Val(reach))
    return bool(deltas.is_subset(near))
