"""Convolutions, forward and transposed, of floats and of quantized integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polysched.frontend import tensor as te
from polysched.ir.dtypes import DType, f32, i32
from polysched.networks.array import Array, Index, constant
from polysched.networks.node import Node
from polysched.networks.operators.images.windows import windows
from polysched.networks.operators.products import above_zero_point, quantized
from polysched.networks.operators.table import operator

Value = Any


def convolved(node: Node, x: Array, w: Array, last: Callable[[Value, Index], Value], dtype: DType) -> Array:
    """`last` of the sums of products of windows and weights, group by group."""
    kernel = w.shape[2:]
    if tuple(node.get("kernel_shape") or kernel) != kernel:
        raise node.refusal(f"attribute kernel_shape is {node.get('kernel_shape')}, and weights are {w.shape}")
    groups, each = int(node.get("group", 1)), w.shape[1]
    if x.shape[1] != each * groups or w.shape[0] % groups:
        raise node.refusal(
            f"{x.shape[1]} channels, and weights of {w.shape[0]} x {each} in {groups} groups",
            "weights have the channels of a group",
        )
    per_group, make = w.shape[0] // groups, node.make
    at = windows(node, x.shape[2:], kernel)
    channel = make.axis(each) if each > 1 else None
    inner = [make.axis(n) if n > 1 else 0 for n in kernel]
    axes = [axis for axis in (channel, *inner) if isinstance(axis, te.Value)]

    def element(i: Index) -> Value:
        place = at.at(i[2:], inner)
        c = 0 if channel is None else channel
        source = c if groups == 1 else (i[1] if per_group == 1 else i[1] // per_group) * each + c
        value, tests = x[(i[0], source, *place)], at.inside(place)
        value = te.select(te.all_of(*tests), value, constant(0, value.dtype)) if tests else value
        term = value * w[(i[1], c, *inner)]
        return last(te.sum(term, axis=tuple(axes)) if axes else term, i)

    return make.compute((x.shape[0], w.shape[0], *at.count), dtype, element)


@operator("Conv")
def convolution(node: Node, x: Array, w: Array, b: Array | None = None) -> Array:
    return convolved(node, x, w, lambda v, i: v if b is None else v + b[(i[1],)], x.dtype)


@operator("ConvInteger")
def integer_convolution(
    node: Node, x: Array, w: Array, x_zero: Array | None = None, w_zero: Array | None = None
) -> Array:
    own = Array(x.shape, i32, above_zero_point(x, x_zero, 1))
    weights = Array(w.shape, i32, above_zero_point(w, w_zero, 0))
    return convolved(node, own, weights, lambda v, i: v, i32)


@operator("QLinearConv")
def quantized_convolution(
    node: Node,
    x: Array,
    x_scale: Array,
    x_zero: Array,
    w: Array,
    w_scale: Array,
    w_zero: Array,
    scale: Array,
    zero: Array,
    b: Array | None = None,
) -> Array:
    own = Array(x.shape, i32, above_zero_point(x, x_zero, 1))
    weights = Array(w.shape, i32, above_zero_point(w, w_zero, 0))

    def last(total: Value, i: Index) -> Value:
        total = total if b is None else total + b[(i[1],)]
        of_weights = w_scale.one() if w_scale.size == 1 else w_scale[(i[1],)]
        return quantized(total.astype(f32) * (x_scale.one() * of_weights / scale.one()), zero.one(), zero.dtype)

    return convolved(node, own, weights, last, zero.dtype)


@operator("ConvTranspose")
def transposed_convolution(node: Node, x: Array, w: Array, b: Array | None = None) -> Array:
    """Each result sums what was spread to it: x at (i + pad - r * dilation) / stride, where that is whole."""
    rank, extents, kernel = x.rank - 2, x.shape[2:], w.shape[2:]
    if tuple(node.get("kernel_shape") or kernel) != kernel:
        raise node.refusal(f"attribute kernel_shape is {node.get('kernel_shape')}, and weights are {w.shape}")
    groups, of_group = int(node.get("group", 1)), w.shape[1]
    strides, dilations = node.get("strides") or [1] * rank, node.get("dilations") or [1] * rank
    more = node.get("output_padding") or [0] * rank
    full = [
        (n - 1) * s + o + (k - 1) * d + 1
        for n, s, o, k, d in zip(extents, strides, more, kernel, dilations, strict=True)
    ]
    before, shape = _placed(node, full, extents, strides)
    each, make = w.shape[0] // groups, node.make
    channel, inner = make.axis(each), [make.axis(n) for n in kernel]

    def element(i: Index) -> Value:
        spread = [j + p - r * d for j, p, r, d in zip(i[2:], before, inner, dilations, strict=True)]
        tests = [z for t, n, s in zip(spread, extents, strides, strict=True) for z in (t >= 0, t < n * s)]
        tests += [t % s == 0 for t, s in zip(spread, strides, strict=True) if s > 1]
        source = channel if groups == 1 else i[1] // of_group * each + channel
        value = x[(i[0], source, *(t // s for t, s in zip(spread, strides, strict=True)))]
        value = te.select(te.all_of(*tests), value, constant(0, x.dtype))
        column = i[1] if groups == 1 else i[1] % of_group
        total = te.sum(value * w[(source, column, *inner)], axis=(channel, *inner))
        return total if b is None else total + b[(i[1],)]

    return make.compute((x.shape[0], of_group * groups, *shape), x.dtype, element)


def _placed(node: Node, full: list[int], extents: tuple[int, ...], strides: Any) -> tuple[list[int], list[int]]:
    """What is cut off before, and the shape that is left."""
    rank = len(full)
    auto = node.choice("auto_pad", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    pads, asked = list(node.get("pads") or [0] * (2 * rank)), node.get("output_shape")
    shape = list(asked)[-rank:] if asked else None
    if shape is None and auto.startswith("SAME"):
        shape = [n * s for n, s in zip(extents, strides, strict=True)]
    if shape is None:
        pads = pads if auto == "NOTSET" else [0] * (2 * rank)
        return pads[:rank], [n - b - a for n, b, a in zip(full, pads[:rank], pads[rank:], strict=True)]
    total = [max(n - m, 0) for n, m in zip(full, shape, strict=True)]
    return [t // 2 if auto == "SAME_UPPER" else t - t // 2 for t in total], shape
