"""The operators in PyTorch, which is optional: a second reference, and a rival.

    called("dense", {"batch": 2, ...}, {"data": x, "weight": w})()        F.linear(x, w)

Of ours it has only what padding means: PyTorch pads both sides alike, so that other padding is an operation by itself.
Nearest elements are missing, whose places PyTorch rounds, and crops of boxes, which it has not; clip, relu, reduce and
batch_to_space_nd are in NumPy what they are in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn import grad

from benchmarks.operators.reference import each, pads_of

VERSION = torch.__version__


class Missing(Exception):
    """PyTorch has no operator that means the same."""


def torch_reference(op: str, args: Mapping[str, Any], given: Mapping[str, np.ndarray]) -> np.ndarray:
    """What PyTorch gives for these inputs, in float64, in which integers are exact; Missing where it gives nothing."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a process that was forked from one with OpenMP's threads cannot have its own
    try:
        wide = {name: torch.from_numpy(array).double() for name, array in given.items()}
        with torch.no_grad():
            return called(op, args, wide)().numpy()
    finally:
        torch.set_num_threads(threads)


def rival(
    op: str, args: Mapping[str, Any], given: Mapping[str, np.ndarray], *, threads: int, onednn: bool
) -> Callable[[], Tensor]:
    """The call on these inputs, with settings of the whole process; Missing where there is none."""
    if any(array.dtype.kind != "f" for array in given.values()):
        raise Missing(f"PyTorch has no {op} that sums in i32")  # but in i8, which overflows
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    torch.backends.mkldnn.enabled = onednn
    return called(op, args, {name: torch.from_numpy(array) for name, array in given.items()})


def called(op: str, args: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Callable[[], Tensor]:
    """The operator's call on tensors; Missing where there is none."""
    name = args.get("fn", "resize") if op == "image" else op
    if name not in _OPERATORS:
        raise Missing(f"PyTorch has no {name}")
    return partial(_OPERATORS[name], **tensors, **args)


# Convolutions: of data (batch, channels, *space) and weights (filters, channels of a group, *kernel)


def _convolution(
    data: Tensor,
    weight: Tensor,
    *,
    layout: str,
    weights: str,
    bias: Tensor | None = None,
    padding: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    groups: int = 1,
    add_relu: bool = False,
    **_: Any,
) -> Tensor:
    space = "".join(axis for axis in layout if axis not in "NC")
    x, w = _arranged(data, layout, f"NC{space}"), _arranged(weight, weights, f"OI{space}")
    strides, dilations = each(stride, len(space)), each(dilation, len(space))
    pads = pads_of(padding, [d * (k - 1) + 1 for k, d in zip(w.shape[2:], dilations, strict=True)])
    if any(before != after for before, after in pads):
        x, pads = F.pad(x, _sides(pads)), [(0, 0)] * len(pads)
    out = _FORWARD[len(space)](x, w, bias, strides, [before for before, _ in pads], dilations, groups)
    return _arranged(F.relu_(out) if add_relu else out, f"NC{space}", layout)


def _transposed(
    data: Tensor, weight: Tensor, *, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, **_: Any
) -> Tensor:
    rank = data.ndim - 2
    strides, more, pads = each(stride, rank), each(output_padding, rank), pads_of(padding, weight.shape[2:])
    backward = _BACKWARD[rank]
    if all(before == after for before, after in pads) and all(m < s for m, s in zip(more, strides, strict=True)):
        return backward(data, weight, None, strides, [before for before, _ in pads], more)
    crops = [(-before, extra - after) for (before, after), extra in zip(pads, more, strict=True)]
    return F.pad(backward(data, weight, None, strides), _sides(crops))


def _depthwise(
    data: Tensor, weight: Tensor, *, in_channel: int, layout: str = "NCHW", channel_multiplier: int, **rest: Any
) -> Tensor:
    w = _arranged(weight, "CMHW" if layout == "NCHW" else "HWCM", "CMHW")
    return _convolution(data, w.flatten(0, 1)[:, None], layout=layout, weights="OIHW", groups=in_channel, **rest)


def _depthwise_back_input(
    weight: Tensor, out_grad: Tensor, *, batch: int, in_channel: int, in_h: int, stride_h: int, padding_h: int, **_: Any
) -> Tensor:
    w, g = _arranged(weight, "HWCM", "CMHW").flatten(0, 1)[:, None], _arranged(out_grad, "NHWC", "NCHW")
    shape = (batch, in_channel, in_h, in_h)
    return _arranged(grad.conv2d_input(shape, w, g, stride_h, padding_h, groups=in_channel), "NCHW", "NHWC")


def _depthwise_back_weight(
    data: Tensor,
    out_grad: Tensor,
    *,
    in_channel: int,
    channel_multiplier: int,
    filter_h: int,
    stride_h: int,
    padding_h: int,
    **_: Any,
) -> Tensor:
    x, g = _arranged(data, "NHWC", "NCHW"), _arranged(out_grad, "NHWC", "NCHW")
    shape = (in_channel * channel_multiplier, 1, filter_h, filter_h)
    out = grad.conv2d_weight(x, shape, g, stride_h, padding_h, groups=in_channel)
    return _arranged(out.reshape(in_channel, channel_multiplier, filter_h, filter_h), "CMHW", "HWCM")


def _deformable(
    data: Tensor,
    weight: Tensor,
    offset: Tensor,
    *,
    stride: int = 1,
    padding: Any = 0,
    dilation: int = 1,
    deformable_groups: int = 1,
    groups: int = 1,
    kernel: int,
    **_: Any,
) -> Tensor:
    """All taps are sampled at once, as rows of one grid; with align_corners=False, the element x of n lies at
    (2 * x + 1) / n - 1."""
    n, _, *outs = offset.shape
    sizes = data.shape[2:]
    pads = pads_of(padding, [dilation * (kernel - 1) + 1] * 2)
    rows, columns = (
        torch.arange(kernel)[:, None] * dilation + torch.arange(out) * stride - before
        for out, (before, _) in zip(outs, pads, strict=True)
    )
    moved = offset.reshape(n, deformable_groups, kernel, kernel, 2, *outs)
    y = moved[:, :, :, :, 0] + rows[:, None, :, None]
    x = moved[:, :, :, :, 1] + columns[None, :, None, :]
    grid = torch.stack([(2 * at + 1) / size - 1 for at, size in ((x, sizes[1]), (y, sizes[0]))], dim=-1)
    images = data.reshape(n * deformable_groups, -1, *sizes)
    bent = F.grid_sample(images, grid.reshape(n * deformable_groups, -1, outs[1], 2), align_corners=False)
    grouped = bent.reshape(n, groups, -1, kernel, kernel, *outs)
    return torch.einsum("gfcrs,ngcrsyx->ngfyx", weight.unflatten(0, (groups, -1)), grouped).flatten(1, 2)


# Images


def _upsampling(data: Tensor, *, method: str = "nearest_neighbor", layout: str = "", **rest: Any) -> Tensor:
    sides = [side for side in ("depth", "height", "width") if f"in_{side}" in rest]
    outs = [round(rest[f"in_{side}"] * rest[f"scale_{side[0]}"]) for side in sides]
    layout = layout or ("NCDHW" if len(sides) == 3 else "NCHW")
    return _interpolated(data, layout, outs, method, "half_pixel")


def _resize(data: Tensor, *, layout: str = "", method: str = "linear", **rest: Any) -> Tensor:
    outs = [rest[f"out_{side}"] for side in ("depth", "height", "width") if f"out_{side}" in rest]
    layout = layout or ("NCDHW" if len(outs) == 3 else "NCHW")
    default = "half_pixel" if len(outs) == 3 else "align_corners"
    mode = rest.get("coord_trans") or rest.get("coordinate_transformation_mode") or default
    return _interpolated(data, layout, outs, method, mode)


def _interpolated(data: Tensor, layout: str, outs: Sequence[int], method: str, mode: str) -> Tensor:
    """Axes of space last and all others in one, blocks of batches and channels, too."""
    if method == "nearest_neighbor" or mode == "asymmetric":
        raise Missing(f"PyTorch has no {method} of {mode} places, or rounds them")
    layout = "".join(axis for axis in layout if axis.isupper())
    layout += "nc"[: data.ndim - len(layout)]
    space = "".join(axis for axis in layout if axis in "DHW")
    others = "".join(axis for axis in layout if axis not in space)
    x = _arranged(data, layout, others + space)
    lines = {2: "bilinear", 3: "trilinear"}[len(space)]
    flat = x.reshape(1, -1, *x.shape[-len(space) :])
    out = F.interpolate(flat, list(outs), mode=lines, align_corners=mode == "align_corners")
    return _arranged(out.reshape(*x.shape[: len(others)], *outs), others + space, layout)


def _affine_grid(data: Tensor, *, num_batch: int, target_shape: Sequence[int], **_: Any) -> Tensor:
    if 1 in target_shape:
        raise Missing("PyTorch advises against an affine_grid of one place along an axis")
    return _arranged(F.affine_grid(data, [num_batch, 1, *target_shape], align_corners=True), "NHWD", "NDHW")


def _grid_sample(data: Tensor, grid: Tensor, **_: Any) -> Tensor:
    return F.grid_sample(data, _arranged(grid, "NDHW", "NHWD"), align_corners=True)


# Layouts and sides


def _arranged(x: Tensor, layout: str, wanted: str) -> Tensor:
    """A view with the axes in another order."""
    return x.permute([layout.index(axis) for axis in wanted])


def _sides(pads: Sequence[tuple[int, int]]) -> list[int]:
    """As F.pad takes them, the last axis first; negative ones crop."""
    return [side for pair in reversed(pads) for side in pair]


_FORWARD = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_BACKWARD = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
_conv = partial(partial, _convolution)
_OPERATORS: dict[str, Callable[..., Tensor]] = {
    "batch_matmul": lambda x, y, **_: x @ y.mT,
    "upsampling": _upsampling,
    "conv1d": lambda data, weight, *, layout, **rest: _convolution(
        data, weight, layout=layout, weights="OIW" if layout == "NCW" else "WIO", **rest
    ),
    "conv1d_transpose_ncw": _transposed,
    "conv2d_hwcn": _conv(layout="HWCN", weights="HWIO"),
    "conv2d_int8": _conv(layout="NCHW", weights="OIHW"),
    "conv2d_nhwc": _conv(layout="NHWC", weights="HWIO"),
    "conv2d_nchw": _conv(layout="NCHW", weights="OIHW"),
    "conv2d_transpose_nchw": _transposed,
    "conv2d_nhwc_winograd": _conv(layout="NHWC", weights="HWIO"),
    "conv2d_winograd": _conv(layout="NCHW", weights="OIHW"),
    "conv3d_ncdhw": _conv(layout="NCDHW", weights="OIDHW"),
    "conv3d_ndhwc": _conv(layout="NDHWC", weights="DHWIO"),
    "conv3d_transpose_ncdhw": _transposed,
    "conv3d_winograd": _conv(layout="NCDHW", weights="OIDHW"),
    "group_conv2d": _conv(layout="NCHW", weights="OIHW"),
    "group_conv2d_int8": _conv(layout="NCHW", weights="OIHW"),
    "deformable_conv2d": _deformable,
    "depthwise_conv2d": _depthwise,
    "depthwise_conv2d_back_input": _depthwise_back_input,
    "depthwise_conv2d_back_weight": _depthwise_back_weight,
    "dense": lambda data, weight, *, bias=None, **_: F.linear(data, weight, bias),
    "resize": _resize,
    "affine_grid": _affine_grid,
    "grid_sample": _grid_sample,
}
