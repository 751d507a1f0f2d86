"""Products of matrices, and of arrays by letters."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from polysched.frontend import tensor as te
from polysched.ir.dtypes import DType, f32, i32
from polysched.networks.array import Array, Index, constant
from polysched.networks.node import Node
from polysched.networks.operators.table import operator

Value = Any


def product(node: Node, x: Array, y: Array, dtype: DType | None = None) -> Array:
    """As NumPy's matmul: the last axis of x by the last but one of y; axes before those broadcast."""
    is_row, is_column = x.rank == 1, y.rank == 1
    inner = y.shape[0] if is_column else y.shape[-2]
    if x.shape[-1] != inner:
        raise node.refusal(
            f"rows of {x.shape[-1]} times columns of {inner}", "the extents that are summed over are equal"
        )
    around = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    shape = (*around, *(() if is_row else (x.shape[-2],)), *(() if is_column else (y.shape[-1],)))
    k = node.make.axis(inner)

    def element(i: Index) -> Value:
        outer = i[: len(around)]
        left = (k,) if is_row else (*outer, i[len(around)], k)
        right = (k,) if is_column else (*outer, k, i[-1])
        return te.sum(_at(x, left) * _at(y, right), axis=k)

    return node.make.compute(shape, dtype or x.dtype, element)


def _at(x: Array, index: Index) -> Value:
    """The axes of the matrix are read as they are, those before broadcast."""
    kept = min(2, x.rank)
    own = index[len(index) - x.rank :]
    outer = tuple(0 if n == 1 else i for n, i in zip(x.shape[:-kept], own[:-kept], strict=True))
    return x[(*outer, *own[len(own) - kept :])]


@operator("MatMul")
def matmul(node: Node, x: Array, y: Array) -> Array:
    return product(node, x, y)


@operator("Gemm")
def gemm(node: Node, x: Array, y: Array, z: Array | None = None) -> Array:
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    over_x, over_y = bool(node.get("transA", 0)), bool(node.get("transB", 0))
    rows, inner = (x.shape[1], x.shape[0]) if over_x else x.shape
    columns, other = y.shape if over_y else (y.shape[1], y.shape[0])
    if inner != other:
        raise node.refusal(f"rows of {inner} times columns of {other}", "the extents that are summed over are equal")
    k = node.make.axis(inner)

    def element(i: Index) -> Value:
        left, right = x[(k, i[0]) if over_x else (i[0], k)], y[(i[1], k) if over_y else (k, i[1])]
        total = te.sum(left * right, axis=k)
        total = total if alpha == 1 else total * constant(alpha, x.dtype)
        if z is None:
            return total
        return total + (z.at(i) if beta == 1 else z.at(i) * constant(beta, x.dtype))

    return node.make.compute((rows, columns), x.dtype, element)


@operator("Einsum")
def einsum(node: Node, *operands: Array) -> Array:
    equation = str(node.get("equation")).replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    dots = max(
        (x.rank - len(t.replace("...", "")) for x, t in zip(operands, terms, strict=True) if "..." in t), default=0
    )
    extra = "".join(chr(0x3B1 + k) for k in range(dots))  # letters of no equation
    terms = [
        t.replace("...", extra[dots - (x.rank - len(t.replace("...", ""))) :])
        for x, t in zip(operands, terms, strict=True)
    ]
    letters = "".join(terms)
    once = "".join(sorted({z for z in letters if letters.count(z) == 1 and z not in extra}))
    result = right.replace("...", extra) if arrow else extra + once
    extents: dict[str, int] = {}
    for x, term in zip(operands, terms, strict=True):
        for letter, n in zip(term, x.shape, strict=True):
            extents[letter] = max(n, extents.get(letter, 1))
    inner = {letter: node.make.axis(n) for letter, n in extents.items() if letter not in result}

    def element(i: Index) -> Value:
        at = {**inner, **dict(zip(result, i, strict=True))}
        factors = [x.at(tuple(at[letter] for letter in term)) for x, term in zip(operands, terms, strict=True)]
        value = reduce(lambda p, q: p * q, factors)
        return te.sum(value, axis=tuple(inner.values())) if inner else value

    return node.make.compute([extents[letter] for letter in result], operands[0].dtype, element)


def above_zero_point(x: Array, zero: Array | None, axis: int) -> Callable[[Index], Value]:
    """The elements as i32, less their zero point: one, or one for each index of an axis."""

    def element(i: Index) -> Value:
        value = x[i].astype(i32)
        if zero is None:
            return value
        point = zero.one() if zero.size == 1 else zero.at(tuple(i)) if zero.rank > 1 else zero[(i[axis],)]
        return value - point.astype(i32)

    return element


@operator("MatMulInteger")
def matmul_integer(node: Node, x: Array, y: Array, x_zero: Array | None = None, y_zero: Array | None = None) -> Array:
    own = Array(x.shape, i32, above_zero_point(x, x_zero, x.rank - 2))
    other = Array(y.shape, i32, above_zero_point(y, y_zero, y.rank - 1))
    return product(node, own, other, i32)


@operator("QLinearMatMul")
def quantized_matmul(
    node: Node,
    x: Array,
    x_scale: Array,
    x_zero: Array,
    y: Array,
    y_scale: Array,
    y_zero: Array,
    scale: Array,
    zero: Array,
) -> Array:
    scales = (x_scale, y_scale, scale)
    if any(each.size != 1 for each in scales):
        raise node.refusal("scales are not single numbers", "quantize whole arrays")
    own = Array(x.shape, i32, above_zero_point(x, x_zero, x.rank - 2))
    other = Array(y.shape, i32, above_zero_point(y, y_zero, y.rank - 1))
    total = product(node, own, other, i32)
    return node.make.compute(
        total.shape,
        zero.dtype,
        lambda i: quantized(
            total[i].astype(f32) * (x_scale.one() * y_scale.one() / scale.one()), zero.one(), zero.dtype
        ),
    )


def quantized(value: Value, zero: Value | None, dtype: DType) -> Value:
    """The nearest integer, of two the even one, from the zero point on, within the type."""
    bounds = np.iinfo(dtype.numpy)
    number = te.rint(value)
    number = number if zero is None else number + zero.astype(value.dtype)
    least, most = constant(bounds.min, value.dtype), constant(bounds.max, value.dtype)
    return te.maximum(least, te.minimum(most, number)).astype(i32).astype(dtype)
