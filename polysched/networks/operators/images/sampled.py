"""Images at places between pixels, which data says: grids, and regions that are cut into bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import Any

from polysched.frontend import tensor as te
from polysched.ir.dtypes import i64
from polysched.networks.array import Array, Index, constant
from polysched.networks.node import Node
from polysched.networks.operators.table import operator

Value = Any
_CUBIC = -0.75


@operator("GridSample")
def grid_sample(node: Node, x: Array, grid: Array) -> Array:
    """grid[n, i, :] is the place of result i, from -1 to 1 along each axis, the last axis of the image first."""
    padding = node.choice("padding_mode", "zeros", "border", "reflection")
    corners, rank = bool(node.get("align_corners", 0)), x.rank - 2
    mode = node.choice(
        "mode", *(("bilinear", "nearest", "bicubic") if node.since < 20 else ("linear", "nearest", "cubic"))
    )
    mode = mode.removeprefix("bi")
    number = _numbers(grid)

    def place(i: Index, axis: int) -> Value:
        given, extent = grid[(i[0], *i[2:], rank - 1 - axis)], x.shape[2 + axis]
        if corners:
            at = (given + number(1)) * number((extent - 1) / 2)
        else:
            at = ((given + number(1)) * number(extent) - number(1)) * number(0.5)
        at = te.rint(at) if mode == "nearest" else at
        return _inside(at, extent, padding, corners)

    def element(i: Index) -> Value:
        places = [place(i, axis) for axis in range(rank)]
        terms = [_terms(at, mode) for at in places]
        pixel = lambda at: _pixel(x, i[:2], at, padding, corners)  # noqa: E731
        values = [
            reduce(lambda p, q: p * q, (weight for _, weight in chosen), pixel([at for at, _ in chosen]))
            for chosen in product(*terms)
        ]
        return reduce(lambda p, q: p + q, values)

    return node.make.compute((*x.shape[:2], *grid.shape[1:-1]), x.dtype, element)


def _numbers(x: Array) -> Callable[[float], Value]:
    return lambda value: constant(value, x.dtype)


def _inside(at: Value, extent: int, padding: str, corners: bool) -> Value:
    """The place, where no pixel is put there for it."""
    least, most = (0.0, extent - 1.0) if corners else (-0.5, extent - 0.5)
    if padding == "border":
        return te.maximum(constant(0, at.dtype), te.minimum(constant(extent - 1, at.dtype), at))
    return _reflected(at, least, most) if padding == "reflection" else at


def _reflected(at: Value, least: float, most: float) -> Value:
    """As if mirrors stood at both borders."""
    if most <= least:
        return constant(least, at.dtype)
    number = lambda v: constant(v, at.dtype)  # noqa: E731
    wide = most - least
    distance = te.abs(at - number(least))
    turns = te.floor(distance / number(wide))
    rest = distance - turns * number(wide)
    is_even = turns - number(2) * te.floor(turns * number(0.5)) == number(0)
    inside = te.all_of(at >= number(least), at <= number(most))
    return te.select(inside, at, te.select(is_even, number(least) + rest, number(most) - rest))


def _terms(at: Value, mode: str) -> list[tuple[Value, Value]]:
    """The whole places around one, and their weights."""
    number = lambda v: constant(v, at.dtype)  # noqa: E731
    if mode == "nearest":
        return [(at, number(1))]
    first = te.floor(at)
    part = at - first
    if mode == "linear":
        return [(first, number(1) - part), (first + number(1), part)]
    a = _CUBIC

    def near(t: Value) -> Value:
        return (number(a + 2) * t - number(a + 3)) * t * t + number(1)

    def far(t: Value) -> Value:
        return ((number(a) * t - number(5 * a)) * t + number(8 * a)) * t - number(4 * a)

    weights = [far(number(1) + part), near(part), near(number(1) - part), far(number(2) - part)]
    return [(first + number(k - 1), weight) for k, weight in enumerate(weights)]


def _pixel(x: Array, outer: Index, places: Sequence[Value], padding: str, corners: bool) -> Value:
    """The pixel at whole places; of one outside, what stands for it."""
    index: list[Value] = []
    tests: list[Value] = []
    for at, extent in zip(places, x.shape[2:], strict=True):
        zero, last = constant(0, at.dtype), constant(extent - 1, at.dtype)
        if padding == "reflection":
            least, most = (0.0, extent - 1.0) if corners else (-0.5, extent - 0.5)
            at = te.trunc(_reflected(at, least, most))
        tests += [at >= zero, at <= last]
        index.append(te.maximum(zero, te.minimum(last, at)).astype(i64))
    value = x[(*outer, *index)]
    return te.select(te.all_of(*tests), value, constant(0, x.dtype)) if padding == "zeros" else value


@operator("RoiAlign")
def roi_align(node: Node, x: Array, regions: Array, images: Array) -> Array:
    """The mean, or greatest, of samples in each bin of a region."""
    half = node.since >= 16 and node.choice(
        "coordinate_transformation_mode", "half_pixel", "output_half_pixel"
    ) == "half_pixel"  # fmt: skip
    is_mean = node.choice("mode", "avg", "max") == "avg"
    bins = [int(node.get(name, 1)) for name in ("output_height", "output_width")]
    samples, scale = int(node.get("sampling_ratio", 0)), float(node.get("spatial_scale", 1.0))
    if samples <= 0:
        raise node.refusal("attribute sampling_ratio is 0", "give how many samples a bin has along an axis")
    number = _numbers(x)
    inner = [node.make.axis(samples), node.make.axis(samples)]

    def place(i: Index, axis: int) -> Value:
        start, end = (regions[(i[0], k)] * number(scale) - number(0.5 if half else 0) for k in (1 - axis, 3 - axis))
        size = end - start if half else te.maximum(end - start, number(1))
        width = size / number(bins[axis])
        step = (inner[axis].astype(x.dtype) + number(0.5)) * width / number(samples)
        return start + i[2 + axis].astype(x.dtype) * width + step

    def element(i: Index) -> Value:
        image = images[(i[0],)].astype(i64)
        corners, tests = [], []
        for axis in range(2):
            at, extent = place(i, axis), x.shape[2 + axis]
            tests += [at >= number(-1), at <= number(extent)]
            at = te.maximum(number(0), te.minimum(number(extent - 1), at))
            low = te.floor(at)
            high = te.minimum(low + number(1), number(extent - 1))
            corners.append([(low.astype(i64), number(1) - (at - low)), (high.astype(i64), at - low)])
        terms = [x[(image, i[1], r, c)] * (p * q) for (r, p), (c, q) in product(*corners)]
        inside = te.all_of(*tests)
        if is_mean:
            total = te.select(inside, reduce(lambda p, q: p + q, terms), number(0))
            return te.sum(total, axis=tuple(inner)) / number(samples * samples)
        return te.max(te.select(inside, reduce(te.maximum, terms), number(0)), axis=tuple(inner))

    return node.make.compute((regions.shape[0], x.shape[1], *bins), x.dtype, element)
