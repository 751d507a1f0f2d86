"""Images in other sizes. Where each result comes from depends on its index alone, so that tables have it, made now:

    y[i] = x[place[i]]                                                      nearest
    y[i] = x[place[i, 0]] * weight[i, 0] + x[place[i, 1]] * weight[i, 1]    linear; cubic has four terms

One axis follows the other. Nearest by a whole factor is x[i // factor], without a table.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor

import numpy as np

from polysched.networks.array import Array, Index
from polysched.networks.node import Node
from polysched.networks.operators.table import operator

_NEAREST: dict[str, Callable[[float], int]] = {
    "round_prefer_floor": lambda x: ceil(x - 0.5),
    "round_prefer_ceil": lambda x: floor(x + 0.5),
    "floor": floor,
    "ceil": ceil,
}
_PLACES = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric")


@operator("Resize")
def resize(
    node: Node,
    x: Array,
    roi: Array | None = None,
    scales_of: Array | None = None,
    sizes_of: Array | None = None,
) -> Array:
    if node.since < 11:
        return _as_upsample(node, x, roi)
    if node.get("antialias", 0):
        raise node.refusal("attribute antialias is 1", "leave it out")
    node.choice("keep_aspect_ratio_policy", "stretch")
    node.get("extrapolation_value")  # of a mode that is refused
    mode, places = (
        node.choice("mode", "nearest", "linear", "cubic"),
        node.choice("coordinate_transformation_mode", *_PLACES),
    )
    nearest = node.choice("nearest_mode", *_NEAREST)
    axes = [node.normalized(axis, x.rank) for axis in node.get("axes") or range(x.rank)]
    scales, shape = [1.0] * x.rank, list(x.shape)
    if sizes_of is not None and sizes_of.size:
        for axis, size in zip(axes, node.integers(sizes_of, "sizes"), strict=True):
            shape[axis], scales[axis] = size, size / x.shape[axis]
    else:
        for axis, scale in zip(axes, node.constant(scales_of, "scales").reshape(-1), strict=True):
            scales[axis], shape[axis] = float(scale), floor(x.shape[axis] * float(scale))
    cubic, outside = float(node.get("cubic_coeff_a", -0.75)), bool(node.get("exclude_outside", 0))
    return _resized(node, x, shape, scales, mode, places, nearest, cubic, outside)


@operator("Upsample")
def upsample(node: Node, x: Array, scales_of: Array | None = None) -> Array:
    return _as_upsample(node, x, scales_of)


def _as_upsample(node: Node, x: Array, scales_of: Array | None) -> Array:
    """As it was before places could be chosen: i / scale."""
    mode = node.choice("mode", "nearest", "linear", "bilinear").removeprefix("bi")
    given = node.get("scales")
    scales = [float(scale) for scale in given or node.constant(scales_of, "scales").reshape(-1)]
    shape = [floor(n * scale) for n, scale in zip(x.shape, scales, strict=True)]
    return _resized(node, x, shape, scales, mode, "asymmetric", "floor", -0.75, False)


def _resized(
    node: Node,
    x: Array,
    shape: list[int],
    scales: list[float],
    mode: str,
    places: str,
    nearest: str,
    cubic: float,
    outside: bool,
) -> Array:
    if mode != "nearest" and not x.is_float:
        raise node.refusal(f"elements are {x.dtype}, and mode is {mode}", "cast them to floats, and back")
    result = x
    for axis, (before, after, scale) in enumerate(zip(x.shape, shape, scales, strict=True)):
        if before == after and scale == 1:
            continue
        at = [_place(places, o, before, after, scale) for o in range(after)]
        if mode == "nearest":
            table = [min(max(_NEAREST[nearest](p), 0), before - 1) for p in at]
            result = _taken(node, result, axis, table)
        else:
            terms = [_terms(p, cubic if mode == "cubic" else None, before, outside) for p in at]
            result = _weighted(node, result, axis, terms)
    return result if result is not x else node.make.copied(x)


def _place(places: str, o: int, before: int, after: int, scale: float) -> float:
    """Where result o lies among the elements."""
    wide = scale * before
    match places:
        case "asymmetric":
            return o / scale
        case "align_corners":
            return o * (before - 1) / (wide - 1) if wide != 1 else 0.0
        case "pytorch_half_pixel" if after == 1:
            return 0.0
        case "half_pixel_symmetric":
            return before / 2 * (1 - after / wide) + (o + 0.5) / scale - 0.5
    return (o + 0.5) / scale - 0.5


def _taken(node: Node, x: Array, axis: int, table: list[int]) -> Array:
    shape = (*x.shape[:axis], len(table), *x.shape[axis + 1 :])
    factor = len(table) // x.shape[axis]
    if factor and table == [o // factor for o in range(len(table))]:
        return node.make.compute(shape, x.dtype, lambda i: x[(*i[:axis], i[axis] // factor, *i[axis + 1 :])])
    places = node.make.constant(np.array(table))
    return node.make.compute(shape, x.dtype, lambda i: x[(*i[:axis], places[(i[axis],)], *i[axis + 1 :])])


def _terms(place: float, cubic: float | None, extent: int, outside: bool) -> list[tuple[int, float]]:
    """The elements around a place, those of the border for what lies outside, and their weights."""
    first, part = floor(place), place - floor(place)
    weights = {0: 1 - part, 1: part} if cubic is None else _cubic(part, cubic)
    if outside:
        weights = {k: w if 0 <= first + k < extent else 0.0 for k, w in weights.items()}
        total = sum(weights.values())
        weights = {k: w / total for k, w in weights.items()}
    return [(min(max(first + k, 0), extent - 1), w) for k, w in weights.items()]


def _cubic(part: float, a: float) -> dict[int, float]:
    def near(t: float) -> float:
        return ((a + 2) * t - (a + 3)) * t * t + 1

    def far(t: float) -> float:
        return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a

    return {-1: far(1 + part), 0: near(part), 1: near(1 - part), 2: far(2 - part)}


def _weighted(node: Node, x: Array, axis: int, terms: list[list[tuple[int, float]]]) -> Array:
    shape = (*x.shape[:axis], len(terms), *x.shape[axis + 1 :])
    places = node.make.constant(np.array([[place for place, _ in each] for each in terms]))
    weights = node.make.constant(np.array([[weight for _, weight in each] for each in terms]).astype(x.dtype.numpy))

    def element(i: Index) -> object:
        values = [
            x[(*i[:axis], places[(i[axis], k)], *i[axis + 1 :])] * weights[(i[axis], k)] for k in range(len(terms[0]))
        ]
        return sum(values[1:], start=values[0])

    return node.make.compute(shape, x.dtype, element)
