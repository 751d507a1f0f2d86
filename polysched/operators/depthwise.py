"""Convolutions of each channel by itself, and their gradients.

    out[n, c * m, y, x] += data[n, c, y * stride + r - pad, x * stride + s - pad] * weight[c, m, r, s]

where data is zero in the padding. The gradient of the data leaves out what windows add to the padding. Gradients are of
data NHWC and weights (rows, columns, channels, multiplier), as TVM has them.
"""

from __future__ import annotations

from typing import Literal

from polysched.frontend import tensor as te
from polysched.frontend.tensor import Value
from polysched.ir.dtypes import f32
from polysched.ir.nodes import Function
from polysched.operators.convolution import arranged, indices_of
from polysched.operators.parameters import operator
from polysched.operators.windows import Padding, every, padded, windows


@operator()
def depthwise_conv2d(
    *,
    batch: int,
    in_channel: int,
    in_height: int,
    channel_multiplier: int,
    filter_height: int,
    stride: int = 1,
    padding: Padding = 0,
    dilation: int = 1,
    layout: Literal["NCHW", "NHWC"] = "NCHW",
) -> Function:
    """Of `data` NCHW and `weight` (channels, multiplier, rows, columns), or with layout "NHWC" of data NHWC and weights
    (rows, columns, channels, multiplier); square data and filters."""
    weights = "CMHW" if layout == "NCHW" else "HWCM"
    high, wide = windows((in_height,) * 2, filter_height, stride=stride, padding=padding, dilation=dilation)
    data = te.placeholder(arranged(layout, N=batch, C=in_channel, H=high.size, W=wide.size), f32, "data")
    filters = arranged(weights, C=in_channel, M=channel_multiplier, H=high.kernel, W=wide.kernel)
    weight = te.placeholder(filters, f32, "weight")
    r, s = te.reduce_axis(high.kernel, "r"), te.reduce_axis(wide.kernel, "s")

    def element(*index: Value) -> Value:
        at = dict(zip(layout, index, strict=True))
        y, x = high.at(at["H"], r), wide.at(at["W"], s)
        c, m = (at["C"] // channel_multiplier, at["C"] % channel_multiplier) if channel_multiplier > 1 else (at["C"], 0)
        element = padded(data[arranged(layout, N=at["N"], C=c, H=y, W=x)], [*high.inside(y), *wide.inside(x)])
        return te.sum(element * weight[arranged(weights, C=c, M=m, H=r, W=s)], axis=(r, s))

    shape = arranged(layout, N=batch, C=in_channel * channel_multiplier, H=high.count, W=wide.count)
    out = te.compute(shape, element, "out", names=indices_of(layout))
    return te.function("depthwise_conv2d", [data, weight], [out])


@operator()
def depthwise_conv2d_back_input(
    *, batch: int, in_channel: int, in_h: int, channel_multiplier: int, filter_h: int, stride_h: int, padding_h: int
) -> Function:
    """The gradient of the data, `out`, from `weight` and that of the result, `out_grad`; square data and filters."""
    (window,) = windows((in_h,), filter_h, stride=stride_h, padding=padding_h)
    weight = te.placeholder((filter_h, filter_h, in_channel, channel_multiplier), f32, "weight")
    grad = te.placeholder((batch, window.count, window.count, in_channel * channel_multiplier), f32, "out_grad")
    m, r, s = te.reduce_axis(channel_multiplier, "m"), te.reduce_axis(filter_h, "r"), te.reduce_axis(filter_h, "s")

    def element(n: Value, y: Value, x: Value, c: Value) -> Value:
        places, conditions = [], []
        for at, tap in ((y, r), (x, s)):
            shifted = at + padding_h - tap
            place = shifted // stride_h if stride_h > 1 else shifted
            places.append(place)
            conditions += [shifted % stride_h == 0] if stride_h > 1 else []
            conditions += [shifted >= 0, place < window.count]
        channel = c * channel_multiplier + m if channel_multiplier > 1 else c
        term = grad[(n, *places, channel)] * weight[r, s, c, m]
        return te.sum(term, axis=(r, s, m), where=every(conditions))

    out = te.compute((batch, in_h, in_h, in_channel), element, "out")
    return te.function("depthwise_conv2d_back_input", [weight, grad], [out])


@operator()
def depthwise_conv2d_back_weight(
    *, batch: int, in_channel: int, in_h: int, channel_multiplier: int, filter_h: int, stride_h: int, padding_h: int
) -> Function:
    """The gradient of the weights, `out`, from `data` and that of the result, `out_grad`; square data and filters."""
    (window,) = windows((in_h,), filter_h, stride=stride_h, padding=padding_h)
    data = te.placeholder((batch, in_h, in_h, in_channel), f32, "data")
    grad = te.placeholder((batch, window.count, window.count, in_channel * channel_multiplier), f32, "out_grad")
    n, y, x = te.reduce_axis(batch, "n"), te.reduce_axis(window.count, "y"), te.reduce_axis(window.count, "x")

    def element(r: Value, s: Value, c: Value, m: Value) -> Value:
        row, column = window.at(y, r), window.at(x, s)
        channel = c * channel_multiplier + m if channel_multiplier > 1 else c
        element = padded(data[n, row, column, c], [*window.inside(row), *window.inside(column)])
        return te.sum(element * grad[n, y, x, channel], axis=(n, y, x))

    out = te.compute((filter_h, filter_h, in_channel, channel_multiplier), element, "out")
    return te.function("depthwise_conv2d_back_weight", [data, grad], [out])
