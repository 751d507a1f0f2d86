"""Transposed convolutions: each element of the data adds the kernel, times itself, to the result.

    out[n, f, i * stride + r - before] += data[n, c, i] * weight[c, f, r]

Written as what an element of the result gathers: the r for which y + before - r is a multiple of the stride.
"""

from __future__ import annotations

from typing import Any

from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.frontend.tensor import Value
from polysched.ir.dtypes import f32
from polysched.ir.nodes import Function
from polysched.operators.windows import Numbers, Padding, each, every, pads_of


def transposed_convolution(
    name: str,
    rank: int,
    *,
    batch: int,
    in_channel: int,
    in_size: Numbers,
    num_filter: int,
    kernel: Numbers,
    stride: Numbers = 1,
    padding: Padding = 0,
    output_padding: Numbers = 0,
) -> Function:
    """The nest of `data`, batch and channels first, `weight`, channels and filters first, and `out`; `padding` is what
    is left out at the sides, `output_padding` what is added after them."""
    sizes, kernels, strides, more = (each(value, rank) for value in (in_size, kernel, stride, output_padding))
    before, after = zip(*pads_of(padding, kernels), strict=True)
    counts = [
        (size - 1) * s + k - first - last + extra
        for size, s, k, first, last, extra in zip(sizes, strides, kernels, before, after, more, strict=True)
    ]
    if min(counts) < 1:
        raise InputError(f"{name}: padding {padding} leaves nothing of the result, which is {counts}")
    data = te.placeholder((batch, in_channel, *sizes), f32, "data")
    weight = te.placeholder((in_channel, num_filter, *kernels), f32, "weight")
    c = te.reduce_axis(in_channel, "c")
    taps = [te.reduce_axis(k, f"k{axis}") for k, axis in zip(kernels, "dhw"[-rank:], strict=True)]

    def element(n: Value, f: Value, *space: Value) -> Value:
        places, conditions = [], []
        for y, tap, s, first, size, count in zip(space, taps, strides, before, sizes, counts, strict=True):
            shifted = (y + first if first else y) - tap
            place = shifted // s if s > 1 else shifted
            places.append(place)
            conditions += [shifted % s == 0] if s > 1 else []
            conditions += [shifted >= 0]
            conditions += [place < size] if count - 1 + first >= size * s else []
        value = data[(n, c, *places)] * weight[(c, f, *taps)]
        return te.sum(value, axis=(c, *taps), where=every(conditions))

    out = te.compute((batch, num_filter, *counts), element, "out", names=("n", "f", *"dhw"[-rank:]))
    return te.function(name, [data, weight], [out])


def conv1d_transpose_ncw(**parameters: Any) -> Function:
    """Of data NCW, with the parameters of `transposed_convolution`."""
    return transposed_convolution("conv1d_transpose_ncw", 1, **parameters)


def conv2d_transpose_nchw(**parameters: Any) -> Function:
    """Of data NCHW, with the parameters of `transposed_convolution`."""
    return transposed_convolution("conv2d_transpose_nchw", 2, **parameters)


def conv3d_transpose_ncdhw(**parameters: Any) -> Function:
    """Of data NCDHW, with the parameters of `transposed_convolution`."""
    return transposed_convolution("conv3d_transpose_ncdhw", 3, **parameters)
