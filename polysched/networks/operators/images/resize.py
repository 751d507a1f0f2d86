"""Images in other sizes. Where each result comes from depends on its index alone, so that tables have it, made now:

    y[i] = x[place[i]]                                                      nearest
    y[i] = x[place[i, 0]] * weight[i, 0] + x[place[i, 1]] * weight[i, 1]    linear; cubic has four terms

One axis follows the other. Nearest by a whole factor is x[i // factor], without a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
_PLACES = (
    "half_pixel",
    "asymmetric",
    "align_corners",
    "pytorch_half_pixel",
    "half_pixel_symmetric",
    "tf_crop_and_resize",
)
_CROP = _PLACES[-1]


@dataclass(frozen=True)
class _How:
    """What all axes have in common."""

    mode: str
    places: str
    nearest: str
    cubic: float = -0.75
    without_outside: bool = False  # do elements that there are not count for nothing?
    antialias: bool = False
    crops: tuple[tuple[float, float], ...] = ()
    outside_is: float = 0.0


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
    mode, places = (
        node.choice("mode", "nearest", "linear", "cubic"),
        node.choice("coordinate_transformation_mode", *_PLACES),
    )
    axes = [node.normalized(axis, x.rank) for axis in node.get("axes") or range(x.rank)]
    scales, shape = [1.0] * x.rank, list(x.shape)
    policy = node.choice("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller")
    if sizes_of is not None and sizes_of.size:
        sizes = _sizes(node.integers(sizes_of, "sizes"), [x.shape[axis] for axis in axes], policy)
        for axis, (size, scale) in zip(axes, sizes, strict=True):
            shape[axis], scales[axis] = size, scale
    else:
        for axis, scale in zip(axes, node.constant(scales_of, "scales").reshape(-1), strict=True):
            scales[axis], shape[axis] = float(scale), floor(x.shape[axis] * float(scale))
    how = _How(
        mode,
        places,
        node.choice("nearest_mode", *_NEAREST),
        float(node.get("cubic_coeff_a", -0.75)),
        bool(node.get("exclude_outside", 0)),
        bool(node.get("antialias", 0)),
        _crops(node, roi, axes, x.rank) if places == _CROP else (),
        float(node.get("extrapolation_value", 0.0)),
    )
    return _resized(node, x, shape, scales, how)


def _sizes(asked: list[int], extents: list[int], policy: str) -> list[tuple[int, float]]:
    """Sizes and scales; one scale for all where the aspect ratio is kept."""
    scales = [size / extent for size, extent in zip(asked, extents, strict=True)]
    if policy == "stretch":
        return list(zip(asked, scales, strict=True))
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [(floor(scale * extent + 0.5), scale) for extent in extents]


def _crops(node: Node, roi: Array | None, axes: list[int], rank: int) -> tuple[tuple[float, float], ...]:
    """Where the region begins and ends along each axis, as parts of it."""
    given = node.constant(roi, "roi").reshape(-1)
    found = [(0.0, 1.0)] * rank
    for k, axis in enumerate(axes):
        found[axis] = float(given[k]), float(given[k + len(axes)])
    return tuple(found)


@operator("Upsample")
def upsample(node: Node, x: Array, scales_of: Array | None = None) -> Array:
    return _as_upsample(node, x, scales_of)


def _as_upsample(node: Node, x: Array, scales_of: Array | None) -> Array:
    """As it was before places could be chosen: i / scale."""
    mode = node.choice("mode", "nearest", "linear", "bilinear").removeprefix("bi")
    given = node.get("scales")
    scales = [float(scale) for scale in given or node.constant(scales_of, "scales").reshape(-1)]
    shape = [floor(n * scale) for n, scale in zip(x.shape, scales, strict=True)]
    return _resized(node, x, shape, scales, _How(mode, "asymmetric", "floor"))


def _resized(node: Node, x: Array, shape: list[int], scales: list[float], how: _How) -> Array:
    if how.mode != "nearest" and not x.is_float:
        raise node.refusal(f"elements are {x.dtype}, and mode is {how.mode}", "cast them to floats, and back")
    result = x
    for axis, (before, after, scale) in enumerate(zip(x.shape, shape, scales, strict=True)):
        crop = how.crops[axis] if how.crops else (0.0, 1.0)
        if before == after and scale == 1 and crop == (0.0, 1.0):
            continue
        at = [_place(how.places, o, before, after, scale, crop) for o in range(after)]
        is_outside = [bool(how.crops) and not 0 <= p <= before - 1 for p in at]
        if how.mode == "nearest" and not any(is_outside):
            result = _taken(node, result, axis, [_nearest(p, before, how) for p in at])
        elif how.mode == "nearest":
            terms = [[(_nearest(p, before, how), 1.0)] for p in at]
            result = _weighted(node, result, axis, terms, is_outside, how.outside_is)
        else:
            terms = [_terms(p, before, scale, how) for p in at]
            result = _weighted(node, result, axis, terms, is_outside, how.outside_is)
    return result if result is not x else node.make.copied(x)


def _nearest(place: float, extent: int, how: _How) -> int:
    return min(max(_NEAREST[how.nearest](place), 0), extent - 1)


def _place(places: str, o: int, before: int, after: int, scale: float, crop: tuple[float, float]) -> float:
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
        case "tf_crop_and_resize":
            start, end = crop
            step = (end - start) * (before - 1)
            return start * (before - 1) + (step / 2 if wide == 1 else o * step / (wide - 1))
    return (o + 0.5) / scale - 0.5


def _taken(node: Node, x: Array, axis: int, table: list[int]) -> Array:
    shape = (*x.shape[:axis], len(table), *x.shape[axis + 1 :])
    factor = len(table) // x.shape[axis]
    if factor and table == [o // factor for o in range(len(table))]:
        return node.make.compute(shape, x.dtype, lambda i: x[(*i[:axis], i[axis] // factor, *i[axis + 1 :])])
    places = node.make.constant(np.array(table))
    return node.make.compute(shape, x.dtype, lambda i: x[(*i[:axis], places[(i[axis],)], *i[axis + 1 :])])


def _terms(place: float, extent: int, scale: float, how: _How) -> list[tuple[int, float]]:
    """The elements around a place, those of the border for what lies outside, and their weights; without aliases, they
    are as many as a result is wide."""
    kernel, reach = (_linear, 1) if how.mode == "linear" else (partial(_cubic, a=how.cubic), 2)
    narrow = min(scale, 1.0) if how.antialias else 1.0
    first = ceil(place) - 1
    start = floor(-reach / narrow) + 1
    weights = {first + k: kernel(abs(narrow * (first + k - place))) for k in range(start, 2 - start)}
    if how.without_outside:
        weights = {k: w if 0 <= k < extent else 0.0 for k, w in weights.items()}
    total = sum(weights.values())
    return [(min(max(k, 0), extent - 1), w / total) for k, w in weights.items()]


def _linear(t: float) -> float:
    return max(0.0, 1 - t)


def _cubic(t: float, a: float) -> float:
    if t <= 1:
        return ((a + 2) * t - (a + 3)) * t * t + 1
    return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a if t < 2 else 0.0


def _weighted(
    node: Node, x: Array, axis: int, terms: list[list[tuple[int, float]]], is_outside: list[bool], value: float
) -> Array:
    """Sums of elements by their weights; `value` for results that lie outside."""
    shape = (*x.shape[:axis], len(terms), *x.shape[axis + 1 :])
    weights_of = [[0.0 if out else w for _, w in each] for each, out in zip(terms, is_outside, strict=True)]
    places = node.make.constant(np.array([[place for place, _ in each] for each in terms]))
    weights = node.make.constant(np.array(weights_of).astype(x.dtype.numpy))
    more = node.make.constant(np.where(is_outside, value, 0.0).astype(x.dtype.numpy)) if any(is_outside) else None

    def element(i: Index) -> object:
        values = [
            x[(*i[:axis], places[(i[axis], k)], *i[axis + 1 :])] * weights[(i[axis], k)] for k in range(len(terms[0]))
        ]
        total = sum(values[1:], start=values[0])
        return total if more is None else total + more[(i[axis],)]

    return node.make.compute(shape, x.dtype, element)
