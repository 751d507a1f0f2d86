"""The 27 operators in plain NumPy, told apart from the library: sums over taps of the kernel, in float64.

A convolution is one product of matrices for each tap, gathered; a transposed one and the gradient of the data scatter.
Winograd's algorithm is no part of it, nor are guards: data is padded, results are cropped. Integers below 2**53 are
exact in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]

NOT_LINEAR = {"offset", "grid", "boxes", "box_ind"}  # inputs that say where to read, not what


def reference(op: str, args: Mapping[str, Any], given: Arrays) -> np.ndarray:
    """What the operator gives for these inputs, in float64; integers and bools where the operator counts or decides."""
    wide = {k: a if a.dtype == bool or k in NOT_LINEAR else a.astype(np.float64) for k, a in given.items()}
    known = {k: v for k, v in args.items() if k not in ("use_cudnn", "devices")}
    return _REFERENCES[op](wide, **known)


def magnitude(op: str, args: Mapping[str, Any], given: Arrays) -> np.ndarray:
    """The sum of the magnitudes that each element of the result is the sum of."""
    if args.get("fn") == "affine_grid":
        args = {**args, "of": np.abs}
    return np.abs(reference(op, args, {k: a if k in NOT_LINEAR else np.abs(a) for k, a in given.items()}))


# Convolutions: data as (batch, channels, *space), weights as (filters, channels of a group, *kernel)


def _convolution(
    given: Arrays,
    *,
    data: str,
    weight: str,
    padding: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    groups: int = 1,
    add_bias: bool = False,
    add_relu: bool = False,
    **_: Any,
) -> np.ndarray:
    x, w = _to(given["data"], data, "NC"), _to(given["weight"], weight, "OI")
    rank = w.ndim - 2
    stride, dilation = each(stride, rank), each(dilation, rank)
    reach = [d * (k - 1) + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    x = np.pad(x, [(0, 0), (0, 0), *pads_of(padding, reach)])
    outs = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride, strict=True)]
    out = np.zeros((x.shape[0], groups, w.shape[0] // groups, int(np.prod(outs))))
    for tap in np.ndindex(*w.shape[2:]):
        steps = zip(tap, dilation, stride, outs, strict=True)
        window = x[(slice(None), slice(None), *(slice(t * d, t * d + s * (o - 1) + 1, s) for t, d, s, o in steps))]
        out += w[(..., *tap)].reshape(groups, -1, w.shape[1]) @ window.reshape(len(x), groups, w.shape[1], -1)
    out = out.reshape(len(x), -1, *outs)
    if add_bias:
        out = out + given["bias"].reshape(-1, *[1] * rank)
    return _from(np.maximum(out, 0) if add_relu else out, data, "NC")


def _transposed(
    given: Arrays, *, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, **_: Any
) -> np.ndarray:
    """Data as NC..., weights as (channels, filters, *kernel)."""
    x, w = given["data"], given["weight"]
    rank = x.ndim - 2
    stride, more, kernel = each(stride, rank), each(output_padding, rank), w.shape[2:]
    full = [(n - 1) * s + k + m for n, s, k, m in zip(x.shape[2:], stride, kernel, more, strict=True)]
    out = np.zeros((len(x), w.shape[1], *full))
    flat = x.reshape(len(x), x.shape[1], -1)
    for tap in np.ndindex(*kernel):
        steps = zip(tap, stride, x.shape[2:], strict=True)
        part = (w[(..., *tap)].T @ flat).reshape(len(x), -1, *x.shape[2:])
        out[(slice(None), slice(None), *(slice(t, t + s * (n - 1) + 1, s) for t, s, n in steps))] += part
    pads = pads_of(padding, kernel)
    return out[(slice(None), slice(None), *(slice(a, n - b) for (a, b), n in zip(pads, full, strict=True)))]


def _depthwise(given: Arrays, *, in_channel: int, layout: str = "NCHW", **rest: Any) -> np.ndarray:
    w = _to(given["weight"], "CMHW" if layout == "NCHW" else "HWCM", "CM")
    flat = {"data": given["data"], "weight": w.reshape(-1, 1, *w.shape[2:])}
    return _convolution(flat, data=layout, weight="OIHW", groups=in_channel, **rest)


def _depthwise_back_input(
    given: Arrays, *, in_h: int, stride_h: int, padding_h: int, in_channel: int, channel_multiplier: int, **_: Any
) -> np.ndarray:
    w, g = given["weight"], given["out_grad"]
    g = g.reshape(*g.shape[:3], in_channel, channel_multiplier)
    most = in_h + 2 * padding_h
    out = np.zeros((len(g), most, most, in_channel))
    for r, s in product(range(w.shape[0]), range(w.shape[1])):
        rows, columns = (slice(t, t + stride_h * (g.shape[1] - 1) + 1, stride_h) for t in (r, s))
        out[:, rows, columns] += (g * w[r, s]).sum(-1)
    return out[:, padding_h : padding_h + in_h, padding_h : padding_h + in_h]


def _depthwise_back_weight(
    given: Arrays,
    *,
    filter_h: int,
    stride_h: int,
    padding_h: int,
    in_channel: int,
    channel_multiplier: int,
    **_: Any,
) -> np.ndarray:
    x = np.pad(given["data"], [(0, 0), (padding_h, padding_h), (padding_h, padding_h), (0, 0)])
    g = given["out_grad"].reshape(*given["out_grad"].shape[:3], in_channel, channel_multiplier)
    out = np.zeros((filter_h, filter_h, in_channel, channel_multiplier))
    for r, s in product(range(filter_h), range(filter_h)):
        rows, columns = (slice(t, t + stride_h * (g.shape[1] - 1) + 1, stride_h) for t in (r, s))
        out[r, s] = np.einsum("nyxc,nyxcm->cm", x[:, rows, columns], g)
    return out


def _deformable(
    given: Arrays,
    *,
    stride: int = 1,
    padding: Any = 0,
    dilation: int = 1,
    deformable_groups: int = 1,
    groups: int = 1,
    kernel: int,
    **_: Any,
) -> np.ndarray:
    x, w, offset = given["data"], _ungrouped(given["weight"], groups), given["offset"]
    n, _, oh, ow = offset.shape
    (top, _), (left, _) = pads_of(padding, [dilation * (kernel - 1) + 1] * 2)
    offset = offset.reshape(n, deformable_groups, kernel, kernel, 2, oh, ow)
    out = np.zeros((n, w.shape[0], oh, ow))
    width = x.shape[1] // deformable_groups
    for b, g, r, s in np.ndindex(n, deformable_groups, kernel, kernel):
        y = (np.arange(oh)[:, None] * stride - top + r * dilation).astype(np.float32) + offset[b, g, r, s, 0]
        z = (np.arange(ow)[None, :] * stride - left + s * dilation).astype(np.float32) + offset[b, g, r, s, 1]
        part = slice(g * width, (g + 1) * width)
        out[b] += np.tensordot(w[:, part, r, s], _bilinear(x[b, part], y, z), 1)
    return out


def _ungrouped(weight: np.ndarray, groups: int) -> np.ndarray:
    """The weights of all channels, zero for those of other groups."""
    filters, channels = len(weight) // groups, weight.shape[1]
    out = np.zeros((len(weight), channels * groups, *weight.shape[2:]))
    for g in range(groups):
        of_group = slice(g * filters, (g + 1) * filters)
        out[of_group, g * channels : (g + 1) * channels] = weight[of_group]
    return out


# Products of matrices, and what is done element by element


def _dense(given: Arrays, *, use_bias: bool = False, **_: Any) -> np.ndarray:
    out = given["data"] @ given["weight"].T
    return out + given["bias"] if use_bias else out


def _batch_matmul(given: Arrays, **_: Any) -> np.ndarray:
    return given["x"] @ given["y"].swapaxes(1, 2)


def _clip(given: Arrays, *, a_min: float, a_max: float, **_: Any) -> np.ndarray:
    return np.clip(given["data"], a_min, a_max)


def _relu(given: Arrays, **_: Any) -> np.ndarray:
    return np.maximum(given["data"], 0)


def _reduce(given: Arrays, *, type: str, axis: Any = None, keepdims: bool = False, **_: Any) -> np.ndarray:
    axes = tuple(axis) if isinstance(axis, list) else axis
    return np.asarray(getattr(np, type)(given["data"], axis=axes, keepdims=keepdims))


def _batch_to_space(
    given: Arrays, *, block_shape: Sequence[int], crop_begin_list: Sequence[int], crop_end_list: Sequence[int], **_: Any
) -> np.ndarray:
    x, rank = given["data"], len(block_shape)
    blocks = int(np.prod(block_shape))
    out = x.reshape(*block_shape, len(x) // blocks, *x.shape[1:])
    order = [rank]
    for k in range(rank):
        order += [rank + 1 + k, k]
    out = out.transpose(*order, *range(2 * rank + 1, out.ndim))
    spread = [n * b for n, b in zip(x.shape[1:], block_shape, strict=False)]
    out = out.reshape(len(x) // blocks, *spread, *x.shape[1 + rank :])
    crops = zip(crop_begin_list, crop_end_list, spread, strict=True)
    return out[(slice(None), *(slice(a, n - b) for a, b, n in crops))]


# Images


def _upsampling(given: Arrays, *, method: str = "nearest_neighbor", layout: str = "", **rest: Any) -> np.ndarray:
    sides = [side for side in ("depth", "height", "width") if f"in_{side}" in rest]
    outs = [round(rest[f"in_{side}"] * rest[f"scale_{side[0]}"]) for side in sides]
    layout = layout or ("NCDHW" if len(sides) == 3 else "NCHW")
    mode = "asymmetric" if method == "nearest_neighbor" else "half_pixel"
    return _resized(given["data"], layout, outs, method, mode)


def _image(given: Arrays, *, fn: str = "resize", **rest: Any) -> np.ndarray:
    return _IMAGES[fn](given, **rest)


def _resize(given: Arrays, *, layout: str = "", method: str = "linear", **rest: Any) -> np.ndarray:
    outs = [rest[f"out_{side}"] for side in ("depth", "height", "width") if f"out_{side}" in rest]
    layout = layout or ("NCDHW" if len(outs) == 3 else "NCHW")
    default = "half_pixel" if len(outs) == 3 else "align_corners"
    mode = rest.get("coord_trans") or rest.get("coordinate_transformation_mode") or default
    return _resized(given["data"], layout, outs, method, mode)


def _resized(x: np.ndarray, layout: str, outs: Sequence[int], method: str, mode: str) -> np.ndarray:
    for axis, out in zip([k for k, name in enumerate(layout) if name in "DHW"], outs, strict=True):
        size, at = x.shape[axis], np.arange(out)
        match mode:
            case "asymmetric":
                position = at * size / out
            case "half_pixel":
                position = (at + 0.5) * size / out - 0.5
            case "align_corners":
                position = at * (size - 1) / max(out - 1, 1)
        if method == "nearest_neighbor":
            place = np.floor(position + (0 if mode == "asymmetric" else 0.5) + 1e-9).astype(int)
            x = x.take(place.clip(0, size - 1), axis)
        else:
            low = np.floor(position + 1e-9).astype(int)
            part = (position - low).reshape(-1, *[1] * (x.ndim - axis - 1))
            first, second = (x.take((low + k).clip(0, size - 1), axis) for k in (0, 1))
            x = first * (1 - part) + second * part
    return x


def _crop_and_resize(given: Arrays, *, size: Sequence[int], layout: str = "NHWC", **rest: Any) -> np.ndarray:
    x = _to(given["data"], layout, "NC")
    method, otherwise = rest.get("method", "bilinear"), rest.get("extrapolation_value", 0.0)
    out = np.zeros((len(given["boxes"]), x.shape[1], *size))
    one = np.float32(1)
    for b, (box, image) in enumerate(zip(given["boxes"].astype(np.float32), given["box_ind"], strict=True)):
        y, z = (
            low * (one * n - 1) + np.arange(m, dtype=np.float32) * ((high - low) * (one * n - 1) / (one * (m - 1)))
            if m > 1
            else (low + high) * (one * n - 1) * np.float32(0.5) + np.zeros(1, np.float32)
            for low, high, n, m in zip(box[:2], box[2:], x.shape[2:], size, strict=True)
        )
        inside = ((y >= 0) & (y <= x.shape[2] - 1))[:, None] & ((z >= 0) & (z <= x.shape[3] - 1))[None, :]
        grid = np.broadcast_to(y[:, None], inside.shape), np.broadcast_to(z[None, :], inside.shape)
        if method == "nearest_neighbor":
            grid = tuple(np.floor(at + np.float32(0.5)) for at in grid)
        out[b] = np.where(inside, _bilinear(x[image], *grid), otherwise)
    return _from(out, layout, "NC")


def _affine_grid(
    given: Arrays, *, target_shape: Sequence[int], of: Callable[[np.ndarray], np.ndarray] = np.asarray, **_: Any
) -> np.ndarray:
    height, width = target_shape
    y, x = np.meshgrid(*(np.linspace(-1, 1, n) if n > 1 else np.zeros(1) for n in (height, width)), indexing="ij")
    ones = np.stack([of(x), of(y), np.ones_like(x)]).reshape(3, -1)
    return (given["data"] @ ones).reshape(-1, 2, height, width)


def _grid_sample(given: Arrays, **_: Any) -> np.ndarray:
    x, grid = given["data"], given["grid"]
    half = np.float32(0.5)
    y, z = ((grid[:, k] + np.float32(1)) * (half * np.float32(n - 1)) for k, n in ((1, x.shape[2]), (0, x.shape[3])))
    return np.stack([_bilinear(*one) for one in zip(x, y, z, strict=True)])


def _bilinear(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The channels at the points (y, z); all around them are zeros."""
    low_y, low_z = np.floor(y).astype(int), np.floor(z).astype(int)
    part_y, part_z = y - low_y, z - low_z
    out = np.zeros((len(x), *y.shape))
    for dy, dz in product((0, 1), (0, 1)):
        at_y, at_z = low_y + dy, low_z + dz
        inside = (at_y >= 0) & (at_y < x.shape[1]) & (at_z >= 0) & (at_z < x.shape[2])
        weight = (part_y if dy else 1 - part_y) * (part_z if dz else 1 - part_z)
        read = x[:, at_y.clip(0, x.shape[1] - 1), at_z.clip(0, x.shape[2] - 1)]
        out += np.where(inside, weight, 0.0) * read
    return out


# Layouts and padding


def _to(array: np.ndarray, layout: str, first: str) -> np.ndarray:
    """The axes `first` of a layout in front, the others in order: HWCN -> NCHW."""
    return array.transpose([layout.index(axis) for axis in (*first, *(a for a in layout if a not in first))])


def _from(array: np.ndarray, layout: str, first: str) -> np.ndarray:
    now = [*first, *(a for a in layout if a not in first)]
    return array.transpose([now.index(axis) for axis in layout])


def each(value: Any, rank: int) -> list[int]:
    """A number for each axis."""
    return list(value) if isinstance(value, list | tuple) else [value] * rank


def pads_of(padding: Any, reach: Sequence[int]) -> list[tuple[int, int]]:
    """Before and after, for each axis; "SAME" as TVM has it: of an odd number the greater part comes first."""
    rank = len(reach)
    if padding == "VALID":
        return [(0, 0)] * rank
    if padding == "SAME":
        return [(r // 2, (r - 1) // 2) for r in reach]
    given = each(padding, rank)
    if len(given) == rank:
        return [(p, p) for p in given]
    return list(zip(given[:rank], given[rank:], strict=True))


_IMAGES: dict[str, Callable[..., np.ndarray]] = {
    "resize": _resize,
    "affine_grid": _affine_grid,
    "crop_and_resize": _crop_and_resize,
    "grid_sample": _grid_sample,
}
_conv = partial(partial, _convolution)
_REFERENCES: dict[str, Callable[..., np.ndarray]] = {
    "batch_matmul": _batch_matmul,
    "batch_to_space_nd": _batch_to_space,
    "clip": _clip,
    "reduce": _reduce,
    "relu": _relu,
    "upsampling": _upsampling,
    "conv1d": lambda given, *, layout, **rest: _convolution(
        given, data=layout, weight="OIW" if layout == "NCW" else "WIO", **rest
    ),
    "conv1d_transpose_ncw": _transposed,
    "conv2d_hwcn": _conv(data="HWCN", weight="HWIO"),
    "conv2d_int8": _conv(data="NCHW", weight="OIHW"),
    "conv2d_nhwc": _conv(data="NHWC", weight="HWIO"),
    "conv2d_nchw": _conv(data="NCHW", weight="OIHW"),
    "conv2d_transpose_nchw": _transposed,
    "conv2d_nhwc_winograd": _conv(data="NHWC", weight="HWIO"),
    "conv2d_winograd": _conv(data="NCHW", weight="OIHW"),
    "conv3d_ncdhw": _conv(data="NCDHW", weight="OIDHW"),
    "conv3d_ndhwc": _conv(data="NDHWC", weight="DHWIO"),
    "conv3d_transpose_ncdhw": _transposed,
    "conv3d_winograd": _conv(data="NCDHW", weight="OIDHW"),
    "group_conv2d": _conv(data="NCHW", weight="OIHW"),
    "group_conv2d_int8": _conv(data="NCHW", weight="OIHW"),
    "deformable_conv2d": _deformable,
    "depthwise_conv2d": _depthwise,
    "depthwise_conv2d_back_input": _depthwise_back_input,
    "depthwise_conv2d_back_weight": _depthwise_back_weight,
    "dense": _dense,
    "image": _image,
}
