"""Data of another size: nearest elements, or lines between them, along each axis of space.

An element x of a result of `out` elements lies over data of `size` elements at

    asymmetric      x * size / out
    half_pixel      (x + 1/2) * size / out - 1/2
    align_corners   x * (size - 1) / (out - 1)

All sizes are known, so this is a fraction of integers: places are floors of them, without floats, and affine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import product
from operator import add, mul
from typing import Literal, TypeVar

from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.frontend.tensor import Tensor, Value
from polysched.ir.dtypes import f32
from polysched.ir.nodes import Function
from polysched.operators.parameters import operator

T = TypeVar("T")
Mode = Literal["asymmetric", "half_pixel", "align_corners"]
Method = Literal["nearest_neighbor", "linear", "bilinear", "trilinear"]


@operator()
def upsampling(
    *,
    batch: int,
    in_channel: int,
    in_height: int,
    in_width: int,
    scale_h: float,
    scale_w: float,
    in_depth: int | None = None,
    scale_d: float | None = None,
    layout: str | None = None,
    method: Method = "nearest_neighbor",
    in_batch_block: int = 0,
    in_channel_block: int = 0,
) -> Function:
    """To the sizes times the scales, rounded: the nearest element, or with method "linear" (or bilinear, trilinear) the
    lines between them.

    `layout` is NCHW or NHWC, in 3-D with D; of NCHW, batches and channels may be in blocks, which are the last axes and
    may stand in the layout, too, as in NCHW2n16c.
    """
    _both_or_none(in_depth=in_depth, scale_d=scale_d)
    sizes = _of_axes(in_depth, in_height, in_width)
    scales = _of_axes(scale_d, scale_h, scale_w)
    outs = {axis: round(size * scales[axis]) for axis, size in sizes.items()}
    for axis, out in outs.items():
        if out < 1:
            raise InputError(f"scale_{axis.lower()} is {scales[axis]}, and leaves nothing of {sizes[axis]} elements")
    named = layout or f"NC{''.join(sizes)}"
    given = tuple(block for block in (in_batch_block, in_channel_block) if block)
    blocks = tuple(int(number) for number in re.findall(r"\d+", named)) or given
    if given and blocks != given:
        raise InputError(f"layout is {named}, and in_batch_block and in_channel_block are others, {list(given)}")
    plain = re.sub(r"\d+[a-z]", "", named)
    mode: Mode = "asymmetric" if method == "nearest_neighbor" else "half_pixel"
    return _resized("upsampling", plain, (batch, in_channel), sizes, outs, method, mode, blocks)


@operator()
def resize(
    *,
    batch: int,
    in_channel: int,
    in_height: int,
    in_width: int,
    out_height: int,
    out_width: int,
    in_depth: int | None = None,
    out_depth: int | None = None,
    layout: str | None = None,
    method: Method = "linear",
    coord_trans: Mode | None = None,
    coordinate_transformation_mode: Mode | None = None,
) -> Function:
    """To other sizes; method "linear" (or bilinear, trilinear) or "nearest_neighbor"; layout NCHW, in 3-D NCDHW, or any
    other of its axes. `coord_trans`, by another name `coordinate_transformation_mode`, is "asymmetric", "half_pixel",
    the default in 3-D, or "align_corners", the default in 2-D."""
    _both_or_none(in_depth=in_depth, out_depth=out_depth)
    sizes = _of_axes(in_depth, in_height, in_width)
    outs = _of_axes(out_depth, out_height, out_width)
    default: Mode = "half_pixel" if len(sizes) == 3 else "align_corners"
    mode = coord_trans or coordinate_transformation_mode or default
    return _resized("resize", layout or f"NC{''.join(sizes)}", (batch, in_channel), sizes, outs, method, mode)


def _of_axes(depth: T | None, height: T, width: T) -> dict[str, T]:
    """What belongs to each axis of space: H and W, in 3-D also D."""
    return ({} if depth is None else {"D": depth}) | {"H": height, "W": width}


def _both_or_none(**parameters: float | None) -> None:
    """InputError where one of two parameters for depth is given, and the other is not."""
    missing = [name for name, value in parameters.items() if value is None]
    if len(missing) == 1:
        raise InputError(f"{missing[0]} must be given, too, as {' and '.join(parameters.keys() - missing)} is")


def _resized(
    name: str,
    layout: str,
    leading: tuple[int, int],
    sizes: Mapping[str, int],
    outs: Mapping[str, int],
    method: Method,
    mode: Mode,
    blocks: Sequence[int] = (),
) -> Function:
    if sorted(layout) != sorted(["N", "C", *sizes]):
        raise InputError(f"layout is {layout!r}, and must have the axes N, C, {', '.join(sizes)}")
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


def _position(mode: Mode, x: Value, size: int, out: int) -> tuple[Value, int]:
    """The place over the data, as numerator and denominator."""
    match mode:
        case "asymmetric":
            return x * size, out
        case "half_pixel":
            return (x * 2 + 1) * size - out, 2 * out
        case "align_corners":
            return x * (size - 1), max(out - 1, 1)


def _nearest(mode: Mode, numerator: Value, denominator: int, last: int) -> Value:
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
