"""Bytes that come from beyond a cache: what a loop touches comes once, if an iteration of it leaves the rest in there.

    for i: for j: for k: C[i, j] += A[i, k] * B[k, j]         B is read again for each i, but for a row of it where
                                                              the cache holds all of B
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from polysched.config.heuristics.cost import NEAR_ROWS, SAME_STEP, USED_OF_CACHE
from polysched.config.machine import LINE
from polysched.cost.shape import Access, Loop
from polysched.support import clock


def bytes_into(cache: int, loop: Loop, around: int = 0) -> float:
    """How many come into a cache of so many bytes, and go back, over all entries of the loop, which has so many loops
    around."""
    lines = _lines(loop, around)
    if _fit(lines, cache):
        return loop.entries * _moved(loop, lines) if around else 0.0
    once = Loop(loop.var, loop.kind, loop.entries * loop.trips, 1.0, body=loop.body)
    if loop.var and _fit(_lines(once, around), cache):
        return loop.entries * _moved(loop, lines)
    own = Loop(loop.var, loop.kind, loop.entries, loop.trips, body=list(loop.works))
    inner = sum(bytes_into(cache, each, around + bool(loop.var)) for each in loop.loops)
    return inner + loop.entries * _moved(own, _lines(own, around))


def bytes_touched(loop: Loop, around: int = 0) -> float:
    """How many, in whole lines, an entry of the loop touches, which has so many loops around."""
    return LINE * sum(_lines(loop, around).values())


def _fit(lines: dict[str, float], cache: int) -> bool:
    return LINE * sum(lines.values()) <= USED_OF_CACHE * cache


def _moved(loop: Loop, lines: dict[str, float]) -> float:
    """Bytes that an entry of the loop moves, of these lines; what it stores goes back, too."""
    stored = {each.array for inner in loop.nested() for work in inner.works for each in work.accesses if each.is_store}
    return LINE * sum(count * (1 + (array in stored)) for array, count in lines.items())


def _lines(loop: Loop, around: int) -> dict[str, float]:
    """Lines of each array that an entry of the loop touches.

    Different loops touch the same elements, as far as is known; statements of one loop those that they reach.
    """
    lines: dict[str, float] = defaultdict(float)

    def visit(each: Loop, inside: Sequence[Loop]) -> None:
        inside = (*inside, each) if each.var else inside
        for array, groups in _groups(access for work in each.works for access in work.accesses).items():
            reached = sum(_reached(group, around, inside) for group in groups)
            lines[array] = max(lines[array], min(reached, groups[0][0].extent / LINE + 1))
        for below in each.loops:
            visit(below, inside)

    visit(loop, ())
    return lines


def _groups(accesses: Iterable[Access]) -> dict[str, list[list[Access]]]:
    """Those of each array, by how they step, but for what rounding makes of it."""
    found: dict[str, list[list[Access]]] = defaultdict(list)
    for access in accesses:
        clock.check("the cost model")
        for group in found[access.array]:
            pairs = zip(group[0].steps, access.steps, strict=True)
            if all(abs(one - other) <= SAME_STEP * max(one, other) for one, other in pairs):
                group.append(access)
                break
        else:
            found[access.array].append([access])
    return found


def _reached(group: Sequence[Access], around: int, loops: Sequence[Loop]) -> float:
    """Lines that accesses which step alike touch in these loops."""
    moves = sorted((step, loop.trips) for step, loop in zip(group[0].steps[around:], loops, strict=True) if step)
    size = group[0].bytes
    span, pieces = float(size), 1.0
    for step, trips in moves:
        if step <= max(span, LINE):
            span += step * (trips - 1)
        else:
            pieces *= trips
    steps = [step for step, trips in moves if trips > 2]
    begins = sorted({access.place for access in group})
    apart, last = 1, begins[0]
    for place in begins[1:]:
        if place - last > max(span, LINE) and not any(_is_reached(place - last, step, size) for step in steps):
            apart, last = apart + 1, place
    return pieces * apart * max(1.0, (span + LINE - size) / LINE)


def _is_reached(away: float, step: float, size: int) -> bool:
    """Does another access come there, or near it, a few iterations later?"""
    times = away / step
    return times <= NEAR_ROWS and abs(times - round(times)) * step <= NEAR_ROWS * size
