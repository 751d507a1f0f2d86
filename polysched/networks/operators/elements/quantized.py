"""Numbers as integers with a scale and a zero point, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polysched.frontend import tensor as te
from polysched.ir.dtypes import f32, i32, u8
from polysched.networks.array import Array, Index, constant
from polysched.networks.node import Node
from polysched.networks.operators.elements.pointwise import dtype_named
from polysched.networks.operators.products import quantized
from polysched.networks.operators.reductions import reduced
from polysched.networks.operators.table import operator

Value = Any


def _scaling(node: Node, x: Array, scale: Array) -> Callable[[Index], Index]:
    """The index of the scale of an element: one for all, one for each index of an axis, or for each block of it."""
    axis, block = (
        node.axis(x.rank, 1) if scale.size > 1 or scale.rank > 1 else node.get("axis") and 0,
        node.get("block_size", 0),
    )
    if block:
        return lambda i: (*i[:axis], i[axis] // block, *i[axis + 1 :])
    if scale.rank > 1:
        raise node.refusal(f"the scale is of shape {scale.shape}", "it is one number, or one for each index of an axis")
    return lambda i: (0,) * scale.rank if scale.size == 1 else (i[axis],)


def _point(zero: Array, index: Index) -> Value:
    """The zero point where the scale has this index."""
    return zero.one() if zero.size == 1 else zero[index]


@operator("QuantizeLinear")
def quantize(node: Node, x: Array, scale: Array, zero: Array | None = None) -> Array:
    node.get("saturate")  # of types that kernels do not have
    if node.get("precision", "undefined") not in ("undefined", "f32"):
        raise node.refusal(f"attribute precision is {node.get('precision')}", "leave it out")
    given = node.get("output_dtype", "undefined")
    dtype = zero.dtype if zero is not None else u8 if given == "undefined" else dtype_named(node, "output_dtype")
    if dtype.is_float and zero is not None:
        raise node.refusal(f"the result is {dtype}", "quantize to integers")
    at = _scaling(node, x, scale)

    def element(i: Index) -> Value:
        point = None if zero is None else _point(zero, at(i))
        quotient = x[i].astype(f32) / scale[at(i)].astype(f32)
        return quotient if dtype.is_float else quantized(quotient, point, dtype)

    return node.make.compute(x.shape, dtype, element)


@operator("DequantizeLinear")
def dequantize(node: Node, x: Array, scale: Array, zero: Array | None = None) -> Array:
    given = node.get("output_dtype", "undefined")
    dtype = scale.dtype if given == "undefined" else dtype_named(node, "output_dtype")
    at = _scaling(node, x, scale)

    def element(i: Index) -> Value:
        wide = f32 if x.is_float else i32
        number = x[i].astype(wide)
        number = number if zero is None else number - _point(zero, at(i)).astype(wide)
        return (number.astype(f32) * scale[at(i)].astype(f32)).astype(dtype)

    return node.make.compute(x.shape, dtype, element)


@operator("DynamicQuantizeLinear")
def dynamic_quantize(node: Node, x: Array) -> tuple[Array, ...]:
    """The scale and the zero point from the least and greatest element, so that zero is one of the numbers."""
    axes, zero, top = list(range(x.rank)), constant(0, f32), constant(255, f32)
    most = reduced(node, x, axes, te.max, keep=False, last=lambda r: te.maximum(r, zero))
    least = reduced(node, x, axes, te.min, keep=False, last=lambda r: te.minimum(r, zero))
    scale = node.make.compute((), f32, lambda i: (most[()] - least[()]) / top)
    point = node.make.compute((), u8, lambda i: quantized(-least[()] / scale[()], None, u8))
    result = node.make.compute(x.shape, u8, lambda i: quantized(x[i] / scale[()], point[()], u8))
    return result, scale, point
