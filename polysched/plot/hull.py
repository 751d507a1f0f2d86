"""The outline of some lattice points, with a margin around them: how tiles are drawn.

    . .              +----+
    . .      ->      | .. |
                     | .. |
                     +----+
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Point = tuple[float, float]

_MARGIN = 0.24  # less than half of the distance of tiles whose sides are i and i + j
_AROUND = [(-1.0, -0.4), (-0.4, -1.0), (0.4, -1.0), (1.0, -0.4), (1.0, 0.4), (0.4, 1.0), (-0.4, 1.0), (-1.0, 0.4)]


def outline(points: Iterable[Point]) -> tuple[Point, ...]:
    """The corners of the convex hull of the points and a margin, counterclockwise."""
    return hull({(x + _MARGIN * dx, y + _MARGIN * dy) for x, y in points for dx, dy in _AROUND})


def hull(points: Iterable[Point]) -> tuple[Point, ...]:
    """The corners of the convex hull, counterclockwise from the leftmost (Andrew, 1979); at least three points."""
    ordered = sorted(points)
    return (*_chain(ordered)[:-1], *_chain(reversed(ordered))[:-1])


def contains(corners: Sequence[Point], at: Point) -> bool:
    return all(_turn(a, b, at) >= 0 for a, b in zip(corners, (*corners[1:], corners[0]), strict=True))


def _chain(points: Iterable[Point]) -> list[Point]:
    """The corners of one side."""
    side: list[Point] = []
    for point in points:
        while len(side) > 1 and _turn(side[-2], side[-1], point) <= 0:
            side.pop()
        side.append(point)
    return side


def _turn(a: Point, b: Point, c: Point) -> float:
    """Positive for a turn to the left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
