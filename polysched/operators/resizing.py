"""Data of another size: nearest elements, or lines between them, along each axis of space.

An element x of a result of `out` elements lies over data of `size` elements at

    asymmetric      x * size / out
    half_pixel      (x + 1/2) * size / out - 1/2
    align_corners   x * (size - 1) / (out - 1)

All sizes are known, so this is a fraction of integers: places are floors of them, without floats, and affine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import product
from operator import add, mul
from typing import Any

from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.frontend.tensor import Tensor, Value
from polysched.ir.dtypes import f32
from polysched.ir.nodes import Function

_SIDES = {"D": "depth", "H": "height", "W": "width"}
_LINES = ("linear", "bilinear", "trilinear")


def upsampling(
    *,
    batch: int,
    in_channel: int,
    layout: str | None = None,
    method: str = "nearest_neighbor",
    in_batch_block: int = 0,
    in_channel_block: int = 0,
    **sides: Any,
) -> Function:
    """By `scale_h`, `scale_w` and in 3-D `scale_d` of `in_height`, ...: the nearest element, or with method "bilinear"
    or "trilinear" the lines between them.

    `layout` is NCHW or NHWC, in 3-D with D; of NCHW, batches and channels may be in blocks, which are the last axes.
    """
    axes = "DHW" if "in_depth" in sides else "HW"
    sizes = {axis: sides.pop(f"in_{_SIDES[axis]}") for axis in axes}
    outs = {axis: round(size * sides.pop(f"scale_{axis.lower()}")) for axis, size in sizes.items()}
    _no_others("upsampling", sides)
    blocks = (in_batch_block, in_channel_block) if in_batch_block or in_channel_block else ()
    mode = "asymmetric" if method == "nearest_neighbor" else "half_pixel"
    plain = "".join(axis for axis in layout or f"NC{axes}" if axis.isupper())
    return _resized("upsampling", plain, (batch, in_channel), sizes, outs, method, mode, blocks)


def resize(*, batch: int, in_channel: int, layout: str, method: str = "linear", **sides: Any) -> Function:
    """To `out_height`, `out_width` and in 3-D `out_depth` from `in_height`, ...; method "linear" (or bilinear,
    trilinear) or "nearest_neighbor"; `coord_trans` or `coordinate_transformation_mode` is "asymmetric", "half_pixel",
    the default in 3-D, or "align_corners", the default in 2-D."""
    axes = [axis for axis in layout if axis in _SIDES]
    sizes, outs = ({axis: sides.pop(f"{what}_{_SIDES[axis]}") for axis in axes} for what in ("in", "out"))
    default = "half_pixel" if len(axes) == 3 else "align_corners"
    mode = sides.pop("coord_trans", None) or sides.pop("coordinate_transformation_mode", None) or default
    _no_others("resize", sides)
    return _resized("resize", layout, (batch, in_channel), sizes, outs, method, mode)


def _no_others(name: str, parameters: Mapping[str, Any]) -> None:
    if parameters:
        raise InputError(f"{name} has no parameter {', '.join(parameters)}")


def _resized(
    name: str,
    layout: str,
    leading: tuple[int, int],
    sizes: Mapping[str, int],
    outs: Mapping[str, int],
    method: str,
    mode: str,
    blocks: Sequence[int] = (),
) -> Function:
    if sorted(layout) != sorted(["N", "C", *sizes]):
        raise InputError(f"{name}: layout is {layout!r}, but has the axes N, C, {', '.join(sizes)}")
    if method != "nearest_neighbor" and method not in _LINES:
        raise InputError(f"{name}: method is {method!r}, but is nearest_neighbor or one of {', '.join(_LINES)}")
    named = dict(zip("NC", leading, strict=True))
    shapes = [(*({**named, **extents}[axis] for axis in layout), *blocks) for extents in (sizes, outs)]
    data = te.placeholder(shapes[0], f32, "data")
    space = [k for k, axis in enumerate(layout) if axis in sizes]

    def element(*index: Value) -> Value:
        places = {k: _position(mode, index[k], sizes[layout[k]], outs[layout[k]]) for k in space}
        limits = {k: sizes[layout[k]] - 1 for k in space}
        if method == "nearest_neighbor":
            return data[_moved(index, {k: _nearest(mode, *places[k], limits[k]) for k in space})]
        return _between(data, index, places, limits)

    return te.function(name, [data], [te.compute(shapes[1], element, "out")])


def _position(mode: str, x: Value, size: int, out: int) -> tuple[Value, int]:
    """The place over the data, as numerator and denominator."""
    match mode:
        case "asymmetric":
            return x * size, out
        case "half_pixel":
            return (x * 2 + 1) * size - out, 2 * out
        case "align_corners":
            return x * (size - 1), max(out - 1, 1)
    raise InputError(f"coordinates are {mode!r}, but are asymmetric, half_pixel or align_corners")


def _nearest(mode: str, numerator: Value, denominator: int, last: int) -> Value:
    """The element to the left in asymmetric coordinates, else the nearest one, of two the right one."""
    if mode == "asymmetric":
        return numerator // denominator
    return te.minimum((numerator * 2 + denominator) // (2 * denominator), last)


def _between(
    data: Tensor, index: Sequence[Value], places: Mapping[int, tuple[Value, int]], limits: Mapping[int, int]
) -> Value:
    """The corners around a place, each by how near it is; beyond the sides they are those at the side."""
    corners = []
    for corner in product((0, 1), repeat=len(places)):
        near, shares = {}, []
        for step, (k, (numerator, denominator)) in zip(corner, places.items(), strict=True):
            near[k] = te.minimum(te.maximum(numerator // denominator + step, 0), limits[k])
            part = (numerator % denominator).astype(f32) / float(denominator)
            shares.append(part if step else 1.0 - part)
        corners.append(data[_moved(index, near)] * reduce(mul, shares))
    return reduce(add, corners)


def _moved(index: Sequence[Value], places: Mapping[int, Value]) -> tuple[Value, ...]:
    return tuple(places.get(k, x) for k, x in enumerate(index))
