"""Puts the loop with the shortest strides innermost in each permutable band.

    for i: for j: for k: C[i, j] += A[i, k] * B[k, j]       along j: C 1, A 0, B 1       along k: C 0, A 1, B far

    band: i, j, k       ->       band: i, k, j
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from polysched import isl
from polysched.model.scop import Access, Scop, Statement
from polysched.model.tree import Band, Member, Tree, children, is_innermost, with_children


def stride_one_innermost(tree: Tree, scop: Scop, outer: tuple[Member, ...] = ()) -> Tree:
    """`tree` with the members of innermost permutable bands reordered; `outer` are the members around `tree`."""
    inside = (*outer, *tree.members) if isinstance(tree, Band) else outer
    if isinstance(tree, Band) and tree.permutable and len(tree.members) > 1 and is_innermost(tree):
        far = [_far_accesses(scop, inside, len(outer) + k) for k in range(len(tree.members))]
        best = min(range(len(far)), key=lambda k: (far[k], -k))
        others = (*tree.members[:best], *tree.members[best + 1 :])
        return replace(tree, members=(*others, tree.members[best]))
    return with_children(tree, tuple(stride_one_innermost(child, scop, inside) for child in children(tree)))


def _far_accesses(scop: Scop, loops: tuple[Member, ...], innermost: int) -> int:
    """How many accesses step by more than one element when `loops[innermost]` steps and the other loops stand."""
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
