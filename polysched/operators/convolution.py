"""Convolutions in any layout, of one to three axes, in groups, of integers too.

    out[n, f, y, x] = sum over c, r, s of data[n, c, y * stride + r - pad, x * stride + s - pad] * weight[f, c, r, s]

where data is zero in the padding, so that an infinite weight gives NaN there, and terms are in the order of the axes of
the weights. Data and weights are laid out as the name of an operator says, by one letter for each axis: N batch, C
channels, D H W space; O and I of the weights are filters and channels of a group.
"""

from __future__ import annotations

from typing import Any, Literal

from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.frontend.tensor import Value
from polysched.ir.dtypes import DType, f32, i8, i32
from polysched.ir.nodes import Function
from polysched.operators.parameters import operator, variant
from polysched.operators.windows import Numbers, Padding, each, padded, windows

SPACE = "DHW"


def convolution(
    name: str,
    data_layout: str,
    weight_layout: str,
    dtype: DType = f32,
    sum_dtype: DType | None = None,
    *,
    batch: int,
    in_channel: int,
    in_size: Numbers,
    num_filter: int,
    kernel: Numbers,
    stride: Numbers = 1,
    padding: Padding = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    add_bias: bool = False,
    add_relu: bool = False,
) -> Function:
    """The nest of `data`, `weight`, with `add_bias` a `bias` for each filter, and `out`, laid out as the data;
    InputError if the groups do not divide the channels and the filters."""
    if in_channel % groups or num_filter % groups:
        raise InputError(f"groups is {groups}, and must divide {in_channel} channels and {num_filter} filters")
    space = [axis for axis in data_layout if axis in SPACE]
    sliding = dict(zip(space, windows(each("in_size", in_size, len(space)), kernel, stride=stride, padding=padding,
                                      dilation=dilation), strict=True))  # fmt: skip
    inputs, outputs = in_channel // groups, num_filter // groups
    total = sum_dtype or dtype
    sizes, kernels = ({axis: getattr(w, part) for axis, w in sliding.items()} for part in ("size", "kernel"))
    data = te.placeholder(arranged(data_layout, N=batch, C=in_channel, **sizes), dtype, "data")
    weight = te.placeholder(arranged(weight_layout, O=num_filter, I=inputs, **kernels), dtype, "weight")
    bias = te.placeholder((num_filter,), total, "bias")
    c = te.reduce_axis(inputs, "c")
    taps = {axis: te.reduce_axis(w.kernel, f"k{axis.lower()}") for axis, w in sliding.items()}

    def element(*index: Value) -> Value:
        at = dict(zip(data_layout, index, strict=True))
        places = {axis: w.at(at[axis], taps[axis]) for axis, w in sliding.items()}
        channel = c if groups == 1 else at["C"] // outputs * inputs + c
        inside = [condition for axis, w in sliding.items() for condition in w.inside(places[axis])]
        x = padded(data[arranged(data_layout, N=at["N"], C=channel, **places)], inside)
        w = weight[arranged(weight_layout, O=at["C"], I=c, **taps)]
        value = te.sum(x.astype(total) * w.astype(total), axis=arranged(weight_layout.replace("O", ""), I=c, **taps))
        return finished(value, bias[at["C"]] if add_bias else None, add_relu)

    shape = arranged(data_layout, N=batch, C=num_filter, **{axis: w.count for axis, w in sliding.items()})
    out = te.compute(shape, element, "out", names=indices_of(data_layout))
    return te.function(name, [data, weight, *([bias] if add_bias else [])], [out])


def finished(value: Value, bias: Value | None, relu: bool) -> Value:
    """A sum with what may follow it."""
    value = value if bias is None else value + bias
    return te.maximum(value, 0) if relu else value


def arranged(layout: str, **axes: Any) -> tuple[Any, ...]:
    """What belongs to each axis, in the order of a layout."""
    return tuple(axes[axis] for axis in layout)


def indices_of(layout: str) -> tuple[str, ...]:
    """The names of a result's indices: n, f for filters, and space."""
    return tuple("f" if axis == "C" else axis.lower() for axis in layout)


@operator()
def conv1d(
    *,
    batch: int,
    in_channels: int,
    in_width: int,
    filters: int,
    kernel_size: int,
    stride: int = 1,
    dilation: int = 1,
    padding: Padding = 0,
    layout: Literal["NCW", "NWC"] = "NCW",
) -> Function:
    """In layout "NCW", with weights OIW, or "NWC", with weights WIO."""
    return convolution(
        "conv1d",
        layout,
        "OIW" if layout == "NCW" else "WIO",
        batch=batch,
        in_channel=in_channels,
        in_size=in_width,
        num_filter=filters,
        kernel=kernel_size,
        stride=stride,
        dilation=dilation,
        padding=padding,
    )


conv2d_nchw = variant(convolution, "conv2d_nchw", "NCHW", "OIHW", of="data NCHW and weights OIHW")
conv2d_nhwc = variant(convolution, "conv2d_nhwc", "NHWC", "HWIO", of="data NHWC and weights HWIO")
conv2d_hwcn = variant(convolution, "conv2d_hwcn", "HWCN", "HWIO", of="data HWCN and weights HWIO")
conv3d_ncdhw = variant(convolution, "conv3d_ncdhw", "NCDHW", "OIDHW", of="data NCDHW and weights OIDHW")
conv3d_ndhwc = variant(convolution, "conv3d_ndhwc", "NDHWC", "DHWIO", of="data NDHWC and weights DHWIO")
group_conv2d = variant(convolution, "group_conv2d", "NCHW", "OIHW", of="data NCHW and weights OIHW in `groups`")
_OF_I8 = "i8 data NCHW and weights OIHW, summed in i32"
conv2d_int8 = variant(convolution, "conv2d_int8", "NCHW", "OIHW", i8, i32, of=_OF_I8)
group_conv2d_int8 = variant(convolution, "group_conv2d_int8", "NCHW", "OIHW", i8, i32, of=f"{_OF_I8}, in `groups`")
