"""What would make a loop parallel, each proposal tried: the dependences that it leaves must not be carried.

    for i:                                  privatize("t", at="i"): each iteration of i reads what it has stored itself
        t[0] = a[i]                 ->
        b[i] = t[0] + t[0]

    for k: for i: c[i] += a[i, k]   ->      reorder("i", "k"): i is parallel outside
    for i: s[0] += a[i]             ->      Options(reorder_reductions=True)

    for i: for j: a[i, j] = a[i - 1, j] + a[i, j - 1]  ->  skew("j", by="i") and reorder("j", "i"): i is parallel inside
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.config.plain import called
from polysched.deps.dataflow import are_fed
from polysched.deps.dependences import Dependence, union
from polysched.deps.distance import MOST_SKEW
from polysched.deps.reaching import Reaching, among, between, names_in
from polysched.explain.loops import Loop
from polysched.transform.edits.order.skew import skew_step
from polysched.transform.trees.distribute import distribute


def parallel_lifts(loop: Loop) -> Iterator[str]:
    """What would make a loop that carries dependences parallel, or another one in its place."""
    proposals = removal(loop, loop.carried, before=loop), _distribution(loop), _interchange(loop), _wavefront(loop)
    yield from (proposal for proposal in proposals if proposal)


def removal(loop: Loop, reaching: Reaching, before: Loop) -> str:
    """What takes away these dependences between iterations of the loop: other storage, or another order of updates.

    What `before` has not changed yet can be copied there, which is this loop or one around it.
    """
    steps: dict[str, None] = {}
    for dependence in reaching:
        how = _without(dependence, reaching, loop, before)
        if not how:
            return ""
        steps[how] = None
    return " and ".join(steps)


def _without(dependence: Dependence, all_of_them: Reaching, loop: Loop, before: Loop) -> str:
    """What takes away one of the dependences; "" if nothing does."""
    array = dependence.array
    if dependence.reduction:
        return "" if loop.nest.dependences.reorder_reductions else "Options(reorder_reductions=True)"
    others = {d.kind for d in all_of_them if d.array == array and not d.reduction}
    if "flow" in others:
        return ""
    if has_own_values(loop, array):
        return called("privatize", array, at=loop.name)
    is_older = not any(d.kind == "flow" and d.array == array for d in before.reaching)
    return f"read {array} from a copy made before {before.name}" if others == {"anti"} and is_older else ""


def has_own_values(loop: Loop, array: str) -> bool:
    """Does every read of the array in the loop get what the same iteration has stored? Then each may have its own."""
    touching = [a for s in loop.statements for a in s.accesses if a.array == array]
    flow = [d for d in loop.inside if d.kind == "flow" and d.array == array]
    written = [a for s in loop.statements for a in s.writes if a.array == array]
    is_known = all(a.must for a in written) and all(a.relation.is_single_valued() for a in touching)
    if not is_known or not all(d.is_exact for d in flow):
        return False
    return are_fed(loop.statements, array, flow, loop.nest.scop)


def _distribution(loop: Loop) -> str:
    """Its statements in loops of their own, if some are parallel then."""
    parts = distribute(loop.band, union(loop.reaching))
    if parts is None:
        return ""
    free = [part for part in parts.children if not between(among(loop.reaching, part.filter), loop.member)]
    if not free:
        return ""
    if len(free) == len(parts.children):
        return f"{called('distribute', loop.name)}: each of its {len(free)} loops is parallel"
    names = ", ".join(s.name for part in free for s in loop.statements if s.name in names_in(part.filter))
    return f"{called('distribute', loop.name)} in part: parallel over {names}"


def _interchange(loop: Loop) -> str:
    """A loop in it, in its place, if that one is parallel there."""
    names = [member.name for member in loop.chain]
    for k in range(1, len(names)):
        order = [k, *(j for j in range(len(names)) if j != k)]
        if loop.distances.reordered(order).is_parallel(0):  # then it may go outside
            return f"{called('reorder', *(names[j] for j in order[: k + 1]))}: {names[k]} is parallel outside"
    return ""


def _wavefront(loop: Loop) -> str:
    """It and the loop around it along wavefronts, if neither is parallel."""
    outer = loop.outer
    if outer is None or not outer.carried:
        return ""
    for factor in range(1, MOST_SKEW + 1):
        there = outer.distances.skewed(1, 0, factor).reordered([1, 0, *range(2, len(outer.chain))])
        if there.in_order and there.is_parallel(1):
            steps = f"{skew_step(loop.name, outer.name, factor).text} and {called('reorder', loop.name, outer.name)}"
            return f"{steps}: {outer.name} is parallel inside"
    return ""
