"""Transposed convolutions: each element of the data adds the kernel, times itself, to the result.

    out[n, f, i * stride + r - before] += data[n, c, i] * weight[c, f, r]

Written as what an element of the result gathers. Of a stride s, y + before = q * s + p gathers the taps r = j * s + p
from data q - j, which is zero beyond its sides: so there is a sum for each phase p, without a condition on remainders,
and `out` puts them in order.
"""

from __future__ import annotations

from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.frontend.tensor import Value
from polysched.frontend.tensor.value import as_value
from polysched.ir.dtypes import f32
from polysched.ir.nodes import Function
from polysched.operators.parameters import variant
from polysched.operators.windows import Numbers, Padding, each, every, padded, pads_of


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
    sizes, kernels = each("in_size", in_size, rank), each("kernel", kernel, rank)
    strides, more = each("stride", stride, rank), each("output_padding", output_padding, rank)
    before, after = zip(*pads_of(padding, kernels), strict=True)
    counts = [
        (size - 1) * s + k - first - last + extra
        for size, s, k, first, last, extra in zip(sizes, strides, kernels, before, after, more, strict=True)
    ]
    if min(counts) < 1:
        raise InputError(f"padding is {padding}, and leaves nothing of the result, whose sizes are {counts}")
    data = te.placeholder((batch, in_channel, *sizes), f32, "data")
    weight = te.placeholder((in_channel, num_filter, *kernels), f32, "weight")
    c, names = te.reduce_axis(in_channel, "c"), "dhw"[-rank:]
    taps = [te.reduce_axis(-(-k // s), f"j{axis}") for k, s, axis in zip(kernels, strides, names, strict=True)]
    steps = [-(-(count + first) // s) for count, first, s in zip(counts, before, strides, strict=True)]

    def phase(n: Value, f: Value, *index: Value) -> Value:
        phases, places = index[:rank], index[rank:]
        read, taken, taps_there, inside = [], [], [], []
        for p, q, tap, k, s, size, count in zip(phases, places, taps, kernels, strides, sizes, steps, strict=True):
            read.append(q - tap)
            taken.append(tap * s + p if s > 1 else tap)
            taps_there += [taken[-1] < k] if k % s else []
            inside += [read[-1] >= 0] if k > s else []
            inside += [read[-1] < size] if count > size else []
        term = padded(data[(n, c, *read)], inside) * weight[(c, f, *taken)]
        return te.sum(term, axis=(c, *taps), where=every(taps_there))

    sums = te.compute(
        (batch, num_filter, *strides, *steps),
        phase,
        "phases",
        names=("n", "f", *(f"p{axis}" for axis in names), *(f"q{axis}" for axis in names)),
        inline=False,
    )

    def element(n: Value, f: Value, *space: Value) -> Value:
        moved = [y + first if first else y for y, first in zip(space, before, strict=True)]
        if max(strides) == 1:
            return phase(n, f, *[as_value(0)] * rank, *moved)
        phases = [y % s if s > 1 else 0 for y, s in zip(moved, strides, strict=True)]
        return sums[(n, f, *phases, *(y // s if s > 1 else y for y, s in zip(moved, strides, strict=True)))]

    out = te.compute((batch, num_filter, *counts), element, "out", names=("n", "f", *names))
    return te.function(name, [data, weight], [out])


conv1d_transpose_ncw = variant(transposed_convolution, "conv1d_transpose_ncw", 1, of="data NCW")
conv2d_transpose_nchw = variant(transposed_convolution, "conv2d_transpose_nchw", 2, of="data NCHW")
conv3d_transpose_ncdhw = variant(transposed_convolution, "conv3d_transpose_ncdhw", 3, of="data NCDHW")
