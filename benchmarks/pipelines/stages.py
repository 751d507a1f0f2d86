"""Pipelines, described once for ours and for Halide.

    Stage("down", lambda of, _: (of("across") + of("across", 1) + of("across", 2)) * 0.33)

A stage is an element in terms of those before it: `of(name, dy, dx)` is the element of that stage dy rows down and dx
columns to the right; `of(name, dy, dx, (2, 1))` the one at (2 * y + dy, x + dx). What the two libraries call
differently, conversions and `select`, comes as a namespace. "in" is the input; the last stage is the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Of = Callable[..., Any]


@dataclass(frozen=True)
class Stage:
    """One function of the pipeline."""

    name: str
    element: Callable[[Of, Any], Any]
    more: tuple[int, int] = (0, 0)  # rows and columns beyond those of the result
    rate: tuple[int, int] = (1, 1)  # rows and columns for one of the result


@dataclass(frozen=True)
class Pipeline:
    """Stages one after another, of an input that has elements of a dtype."""

    name: str
    dtype: str
    source: Stage
    stages: tuple[Stage, ...]


def blur() -> Pipeline:
    """Means over three columns, then over three rows."""
    across = Stage("across", lambda of, _: (of("in") + of("in", 0, 1) + of("in", 0, 2)) * 0.33, (2, 0))
    down = Stage("down", lambda of, _: (of("across") + of("across", 1) + of("across", 2)) * 0.33)
    return Pipeline("blur", "f32", _source(2, 2), (across, down))


def blur_of(dtype: str) -> Pipeline:
    """The same of integers, in fixed point."""

    def third(of: Of, lib: Any, name: str, dy: int, dx: int) -> Any:
        total = _sum(lib.i32(of(name, k * dy, k * dx)) for k in range(3))
        return lib.narrow(total * 21845 // 65536, dtype)

    across = Stage("across", lambda of, lib: third(of, lib, "in", 0, 1), (2, 0))
    down = Stage("down", lambda of, lib: third(of, lib, "across", 1, 0))
    return Pipeline(f"blur_{dtype}", dtype, _source(2, 2), (across, down))


def unsharp() -> Pipeline:
    """A blur by five rows and columns, subtracted where that is much."""
    weights = (0.0625, 0.25, 0.375, 0.25, 0.0625)
    down = Stage("down", lambda of, _: _sum(of("in", k, 0) * w for k, w in enumerate(weights)), (0, 4))
    blurred = Stage("blurred", lambda of, _: _sum(of("down", 0, k) * w for k, w in enumerate(weights)))

    def sharper(of: Of, lib: Any) -> Any:
        here, there = of("in", 2, 2), of("blurred")
        return lib.select(lib.abs(here - there) < 0.001, here, here * 4.0 - there * 3.0)

    return Pipeline("unsharp", "f32", _source(4, 4), (down, blurred, Stage("sharper", sharper)))


def chain(count: int) -> Pipeline:
    """Five-point stencils, one after another."""
    names = ["in", *(f"s{k}" for k in range(count))]
    stages = [
        Stage(name, _five_points(before), (2 * (count - 1 - k),) * 2)
        for k, (before, name) in enumerate(pairwise(names))
    ]
    return Pipeline(f"chain{count}", "f32", _source(2 * count, 2 * count), tuple(stages))


def harris() -> Pipeline:
    """Corners: two gradients, three sums of their products over windows, and the response."""

    def line(of: Of, at: tuple[int, int], step: tuple[int, int]) -> Any:
        one, two, three = (of("in", at[0] + k * step[0], at[1] + k * step[1]) for k in range(3))
        return one + two * 2.0 + three

    def box(one: str, other: str) -> Callable[[Of, Any], Any]:
        window = [(dy, dx) for dy in range(3) for dx in range(3)]
        return lambda of, _: _sum(of(one, dy, dx) * of(other, dy, dx) for dy, dx in window)

    def response(of: Of, _: Any) -> Any:
        trace = of("xx") + of("yy")
        return of("xx") * of("yy") - of("xy") * of("xy") - trace * trace * 0.04

    gx = Stage("gx", lambda of, _: (line(of, (0, 2), (1, 0)) - line(of, (0, 0), (1, 0))) * 0.0833, (2, 2))
    gy = Stage("gy", lambda of, _: (line(of, (2, 0), (0, 1)) - line(of, (0, 0), (0, 1))) * 0.0833, (2, 2))
    sums = (Stage("xx", box("gx", "gx")), Stage("yy", box("gy", "gy")), Stage("xy", box("gx", "gy")))
    return Pipeline("harris", "f32", _source(4, 4), (gx, gy, *sums, Stage("response", response)))


def level() -> Pipeline:
    """A level of a pyramid: half the rows and columns, bilinear."""

    def half(of: Of, name: str, dy: int, dx: int) -> Any:
        step = (2, 1) if dy else (1, 2)
        return (of(name, 0, 0, step) + of(name, dy, dx, step) * 2.0 + of(name, 2 * dy, 2 * dx, step)) * 0.25

    across = Stage("across", lambda of, _: half(of, "in", 0, 1), (2, 0), (2, 1))
    down = Stage("down", lambda of, _: half(of, "across", 1, 0))
    return Pipeline("level", "f32", Stage("in", lambda of, _: None, (2, 2), (2, 2)), (across, down))


def _five_points(before: str) -> Callable[[Of, Any], Any]:
    return lambda of, _: _sum(of(before, *at) for at in ((1, 1), (0, 1), (2, 1), (1, 0), (1, 2))) * 0.2


def _source(rows: int, columns: int) -> Stage:
    return Stage("in", lambda of, _: None, (rows, columns))


def _sum(terms: Any) -> Any:
    first, *rest = terms
    return sum(rest, first)


ALL = (blur(), blur_of("u8"), blur_of("u16"), unsharp(), chain(3), chain(10), harris(), level())
