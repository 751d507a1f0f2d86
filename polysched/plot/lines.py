"""Hyperplanes of a schedule: lines through the instances that one iteration of a loop runs, numbered in order.

    i + j over 3 x 3 instances     ->     five parallel lines, 0 to 4
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polysched.model.tree.text import member_text
from polysched.plot.hull import Point
from polysched.plot.timed import Column, Timed
from polysched.support import isl

_BEYOND = 0.55  # how far a line goes on behind its outermost instances


@dataclass(frozen=True)
class Line:
    """The instances on it are run by one iteration of a loop."""

    start: Point
    end: Point  # the upper end, where the label stands
    label: str
    loop: str  # as in t + i
    is_outer: bool  # of the outermost loop of which there are lines


def lines(spots: Sequence[tuple[Timed, Point]]) -> tuple[Line, ...]:
    """The lines of two loops around instances of one statement, those that are not parallel first."""
    columns = spots[0][0].columns if spots else ()
    seen = [k for k, column in enumerate(columns) if column.member and not column.is_tile]
    families: list[list[Line]] = []
    for k in sorted(seen, key=lambda k: columns[k].is_parallel):
        found = list(_family(spots, k, columns[k], is_outer=not families))
        if len(families) < 2 and found and not any(_are_same(found, family) for family in families):
            families.append(found)
    return tuple(line for family in families for line in family)


def _family(spots: Sequence[tuple[Timed, Point]], k: int, column: Column, *, is_outer: bool) -> Iterator[Line]:
    """A line for each value of a number of the time; none if the instances of a value are not on a line."""
    by_value: dict[int, list[Point]] = defaultdict(list)
    for run, at in spots:
        by_value[run.time[k]].append(at)
    longest = max(by_value.values(), key=len)
    if len(by_value) < 2 or len(longest) < 2:
        return
    (x0, y0), (x1, y1) = min(longest), max(longest)
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
    dx, dy = (x1 - x0) / length, (y1 - y0) / length
    if dy < 0:
        dx, dy = -dx, -dy
    if any(abs((x - some[0][0]) * dy - (y - some[0][1]) * dx) > 1e-9 for some in by_value.values() for x, y in some):
        return
    text = _function(column, spots[0][0].statement)
    for rank, value in enumerate(sorted(by_value)):
        (a, b), (c, d) = (end(by_value[value], key=lambda at: at[0] * dx + at[1] * dy) for end in (min, max))
        start, stop = (a - _BEYOND * dx, b - _BEYOND * dy), (c + _BEYOND * dx, d + _BEYOND * dy)
        yield Line(start, stop, str(rank) if is_outer and not column.is_parallel else "", text, is_outer)


def _function(column: Column, statement: str) -> str:
    assert column.member is not None
    parts = isl.maps_of(column.member.schedule)
    part = next(one for one in parts if one.get_tuple_name(isl.dim_type.in_) == statement)
    return member_text(part).partition(" -> ")[2]


def _are_same(family: Sequence[Line], other: Sequence[Line]) -> bool:
    return {(line.start, line.end) for line in family} == {(line.start, line.end) for line in other}
