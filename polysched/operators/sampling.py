"""Data read at places that other data gives: grids and boxes of images, and convolutions whose windows are bent.

A place between elements is a sum of the four around it, each by how near it is; beyond the data there are zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from operator import add
from typing import Literal

from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.frontend.tensor import Value
from polysched.ir.dtypes import f32, i32, i64
from polysched.ir.nodes import Function
from polysched.operators.convolution import arranged
from polysched.operators.parameters import operator
from polysched.operators.windows import Padding, windows


@operator()
def affine_grid(*, num_batch: int, target_shape: Sequence[int]) -> Function:
    """out[n, :, y, x] = data[n] @ (x', y', 1), the numbers from -1 to 1 that lie under x and y; `data` is (N, 2, 3)."""
    if len(target_shape) != 2:
        raise InputError(f"target_shape is {list(target_shape)}, and must be a height and a width")
    height, width = target_shape
    data = te.placeholder((num_batch, 2, 3), f32, "data")

    def element(n: Value, d: Value, y: Value, x: Value) -> Value:
        along, down = ((2 * at - (size - 1)).astype(f32) / float(max(size - 1, 1)) for at, size in
                       ((x, width), (y, height)))  # fmt: skip
        return data[n, d, 0] * along + data[n, d, 1] * down + data[n, d, 2]

    out = te.compute((num_batch, 2, height, width), element, "out")
    return te.function("affine_grid", [data], [out])


@operator()
def grid_sample(*, data_shape: Sequence[int], grid_shape: Sequence[int]) -> Function:
    """out[n, c, y, x] = data[n, c] at the place grid[n, :, y, x], x first, from -1 to 1, which are the centres of the
    first and the last element."""
    if len(data_shape) != 4:
        raise InputError(f"data_shape is {list(data_shape)}, and must be a batch, channels, a height and a width")
    batch, channels, height, width = data_shape
    if len(grid_shape) != 4 or list(grid_shape[:2]) != [batch, 2]:
        raise InputError(f"grid_shape is {list(grid_shape)}, and must be [{batch}, 2, height, width]")
    data = te.placeholder(data_shape, f32, "data")
    grid = te.placeholder(grid_shape, f32, "grid")

    def element(n: Value, c: Value, y: Value, x: Value) -> Value:
        along, down = ((grid[n, k, y, x] + 1.0) * (0.5 * (size - 1)) for k, size in ((0, width), (1, height)))
        return _sampled(lambda row, column: data[n, c, row, column], down, along, height, width)

    out = te.compute((batch, channels, *grid_shape[2:]), element, "out")
    return te.function("grid_sample", [data, grid], [out])


@operator()
def crop_and_resize(
    *,
    image_shape: Sequence[int],
    boxes: Sequence[Sequence[float]],
    box_ind: Sequence[int],
    size: Sequence[int],
    layout: Literal["NHWC", "NCHW"] = "NHWC",
    method: Literal["bilinear", "nearest_neighbor"] = "bilinear",
    extrapolation_value: float = 0.0,
) -> Function:
    """out[b] = the box (y1, x1, y2, x2) of `boxes`, in parts of the image `box_ind[b]`, resized to `size`; what is
    outside of the image has `extrapolation_value`. Of the boxes, only how many there are is fixed."""
    if len(image_shape) != 4:
        raise InputError(f"image_shape is {list(image_shape)}, and must have four numbers, as {layout} says")
    if len(size) != 2:
        raise InputError(f"size is {list(size)}, and must be a height and a width")
    if len(boxes) == 0 or any(len(box) != 4 for box in boxes):
        raise InputError(f"boxes is {boxes}, and must be one or more of four numbers: y1, x1, y2, x2")
    shape = dict(zip(layout, image_shape, strict=True))
    if len(box_ind) != len(boxes) or max(box_ind) >= shape["N"]:
        images = f"from 0 to {shape['N'] - 1}"
        raise InputError(f"box_ind is {list(box_ind)}, and must have an image {images} for each of {len(boxes)} boxes")
    height, width = shape["H"], shape["W"]
    data = te.placeholder(image_shape, f32, "data")
    box = te.placeholder((len(boxes), 4), f32, "boxes")
    image = te.placeholder((len(box_ind),), i32, "box_ind")

    def element(*index: Value) -> Value:
        at = dict(zip(layout, index, strict=True))
        b = at["N"]

        def place(first: int, x: Value, extent: int, count: int) -> Value:
            low, high = box[b, first], box[b, first + 2]
            if count == 1:
                return (low + high) * float(extent - 1) * 0.5
            return low * float(extent - 1) + x.astype(f32) * ((high - low) * float(extent - 1) / float(count - 1))

        def read(row: Value, column: Value) -> Value:
            return data[arranged(layout, N=image[b], C=at["C"], H=row, W=column)]

        y, x = place(0, at["H"], height, size[0]), place(1, at["W"], width, size[1])
        inside = (y >= 0.0) & (y <= float(height - 1)) & (x >= 0.0) & (x <= float(width - 1))
        if method == "bilinear":
            value = _sampled(read, y, x, height, width)
        else:
            value = read(te.floor(y + 0.5).astype(i64), te.floor(x + 0.5).astype(i64))
        return te.select(inside, value, extrapolation_value)

    out = te.compute(arranged(layout, N=len(boxes), C=shape["C"], H=size[0], W=size[1]), element, "out")
    return te.function("crop_and_resize", [data, box, image], [out])


@operator()
def deformable_conv2d(
    *,
    batch: int,
    in_channel: int,
    in_size: int,
    num_filter: int,
    kernel: int,
    stride: int = 1,
    padding: Padding = 0,
    dilation: int = 1,
    deformable_groups: int = 1,
    groups: int = 1,
) -> Function:
    """A convolution of `data` NCHW and `weight` OIHW, in `groups`, whose taps are moved by `offset`, for each tap a row
    and a column: (N, deformable_groups * kernel * kernel * 2, H, W) of the result."""
    if in_channel % deformable_groups:
        raise InputError(f"deformable_groups is {deformable_groups}, and must divide {in_channel} channels")
    if in_channel % groups or num_filter % groups:
        raise InputError(f"groups is {groups}, and must divide {in_channel} channels and {num_filter} filters")
    high, wide = windows((in_size,) * 2, kernel, stride=stride, padding=padding, dilation=dilation)
    width, inputs, outputs = in_channel // deformable_groups, in_channel // groups, num_filter // groups
    data = te.placeholder((batch, in_channel, in_size, in_size), f32, "data")
    taps = deformable_groups * kernel * kernel
    offset = te.placeholder((batch, taps * 2, high.count, wide.count), f32, "offset")
    weight = te.placeholder((num_filter, inputs, kernel, kernel), f32, "weight")

    def read(n: Value, c: Value, r: Value, s: Value, y: Value, x: Value) -> Value:
        number = ((c // width * kernel + r) * kernel + s) * 2
        row = high.at(y, r).astype(f32) + offset[n, number, y, x]
        column = wide.at(x, s).astype(f32) + offset[n, number + 1, y, x]
        return _sampled(lambda i, j: data[n, c, i, j], row, column, in_size, in_size)

    bent = te.compute((batch, in_channel, kernel, kernel, high.count, wide.count), read, "bent", inline=False)
    c, r, s = te.reduce_axis(inputs, "c"), te.reduce_axis(kernel, "r"), te.reduce_axis(kernel, "s")

    def element(n: Value, f: Value, y: Value, x: Value) -> Value:
        channel = c if groups == 1 else f // outputs * inputs + c
        return te.sum(bent[n, channel, r, s, y, x] * weight[f, c, r, s], axis=(c, r, s))

    out = te.compute((batch, num_filter, high.count, wide.count), element, "out")
    return te.function("deformable_conv2d", [data, offset, weight], [out])


def _sampled(read: Callable[[Value, Value], Value], y: Value, x: Value, height: int, width: int) -> Value:
    """The value at a place, from what is read at whole rows and columns."""
    top, left = te.floor(y), te.floor(x)
    down, along = y - top, x - left
    corners = []
    for dy, dx in product((0, 1), (0, 1)):
        row, column = top.astype(i64) + dy, left.astype(i64) + dx
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        weight = (down if dy else 1.0 - down) * (along if dx else 1.0 - along)
        corners.append(te.select(inside, read(row, column) * weight, 0.0))
    return reduce(add, corners)
