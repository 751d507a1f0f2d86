"""Functions of elements of several arrays, which broadcast: arithmetic, comparisons, logic, choices."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from polysched.frontend import tensor as te
from polysched.ir.dtypes import ALL, DType, boolean, f64, i64
from polysched.networks.array import Array, constant
from polysched.networks.node import Node
from polysched.networks.operators.table import operator

Value = Any


def together(node: Node, operands: tuple[Array, ...], f: Callable[..., Value], dtype: DType | None = None) -> Array:
    """The function of the elements at each index of the common shape."""
    try:
        shape = np.broadcast_shapes(*(each.shape for each in operands))
    except ValueError:
        shapes = " and ".join(str(each.shape) for each in operands)
        raise node.refusal(f"shapes {shapes} do not broadcast", "extents are equal, or 1") from None
    return node.make.compute(shape, dtype or operands[0].dtype, lambda i: f(*(each.at(i) for each in operands)))


def _of_two(kind: str, f: Callable[[Value, Value], Value], dtype: DType | None = None) -> None:
    @operator(kind, pointwise=True)
    def lower(node: Node, x: Array, y: Array) -> Array:
        return together(node, (x, y), f, dtype)


def _of_many(kind: str, f: Callable[[Value, Value], Value]) -> None:
    @operator(kind, pointwise=True)
    def lower(node: Node, *operands: Array) -> Array:
        return together(node, operands, lambda *values: reduce(f, values))


def quotient(p: Value, q: Value) -> Value:
    """As C divides: integers towards zero."""
    if p.dtype.is_float:
        return p / q
    if p.dtype.kind == "u":
        return p // q
    zero, unsigned = constant(0, p.dtype), ALL[f"u{p.dtype.bits}"]  # which holds the magnitude of the least integer
    whole = (te.abs(p).astype(unsigned) // te.abs(q).astype(unsigned)).astype(p.dtype)
    return te.select((p < zero) != (q < zero), -whole, whole)


_of_two("Add", lambda p, q: p + q)
_of_two("Sub", lambda p, q: p - q)
_of_two("Mul", lambda p, q: p * q)
_of_two("Div", quotient)
_of_two("And", lambda p, q: te.all_of(p, q))
_of_two("Or", lambda p, q: te.any_of(p, q))
_of_two("Xor", lambda p, q: p != q, boolean)
_of_two("BitwiseAnd", lambda p, q: p & q)
_of_two("BitwiseOr", lambda p, q: p | q)
_of_two("BitwiseXor", lambda p, q: p ^ q)
_of_two("Equal", lambda p, q: p == q, boolean)
_of_two("Greater", lambda p, q: p > q, boolean)
_of_two("Less", lambda p, q: p < q, boolean)
_of_two("GreaterOrEqual", lambda p, q: p >= q, boolean)
_of_two("LessOrEqual", lambda p, q: p <= q, boolean)
_of_two("PRelu", lambda p, q: te.select(p < constant(0, p.dtype), p * q, p))
_of_many("Sum", lambda p, q: p + q)
_of_many("Max", te.maximum)
_of_many("Min", te.minimum)


@operator("Mean", pointwise=True)
def mean(node: Node, *operands: Array) -> Array:
    count = constant(len(operands), operands[0].dtype)
    return together(node, operands, lambda *values: reduce(lambda p, q: p + q, values) / count)


@operator("Where", pointwise=True)
def where(node: Node, test: Array, x: Array, y: Array) -> Array:
    return together(node, (test, x, y), lambda c, p, q: te.select(c, p, q), x.dtype)


@operator("Pow", pointwise=True)
def power(node: Node, x: Array, y: Array) -> Array:
    if x.is_float and y.known is not None and y.size == 1 and float(y.known.reshape(())) == 2:
        return together(node, (x, y), lambda p, q: p * p)
    if x.is_float:
        return together(node, (x, y), lambda p, q: te.power(p, q.astype(p.dtype)))
    if x.dtype.bits == 64:
        return together(node, (x, y), _whole_power)
    return together(node, (x, y), lambda p, q: te.power(p.astype(f64), q.astype(f64)).astype(p.dtype))


def _whole_power(p: Value, q: Value) -> Value:
    """By squares, one for each bit of an exponent below 64: greater ones leave 0, 1 and -1 alone in 64 bits."""
    one, exponent = constant(1, p.dtype), q.astype(i64)
    most = constant(62, i64)
    exponent = te.select(exponent > most, most + (exponent & constant(1, i64)), exponent)
    result, square = one, p
    for bit in range(_EXPONENT_BITS):
        is_set = (exponent >> constant(bit, i64) & constant(1, i64)) == constant(1, i64)
        result = te.select(is_set, result * square, result)
        square = square * square
    is_unit = te.any_of(p == one, te.all_of(-p == one, (exponent & constant(1, i64)) == constant(0, i64)))
    below = te.select(is_unit, one, te.select(-p == one, -one, constant(0, p.dtype)))
    return te.select(exponent < constant(0, i64), below, result)


_EXPONENT_BITS = 6


@operator("Mod", pointwise=True)
def modulo(node: Node, x: Array, y: Array) -> Array:
    """The sign is the dividend's with `fmod`, else the divisor's."""
    as_c = bool(node.get("fmod", 0))

    def rest(p: Value, q: Value) -> Value:
        if p.dtype.is_float:
            r = te.call("fmod", p, q)
            zero = constant(0, p.dtype)
            return r if as_c else te.select(te.all_of(r != zero, (r < zero) != (q < zero)), r + q, r)
        return p - quotient(p, q) * q if as_c else p % q

    return together(node, (x, y), rest)


@operator("BitShift", pointwise=True)
def bit_shift(node: Node, x: Array, y: Array) -> Array:
    """By as many bits as there are or more, or by a negative count, all are shifted out."""
    is_left = node.choice("direction", "LEFT", "RIGHT") == "LEFT"

    def shifted(p: Value, q: Value) -> Value:
        last = constant(p.dtype.bits - 1, q.dtype)
        count = te.maximum(constant(0, q.dtype), te.minimum(q, last))
        inside = p << count if is_left else p >> count
        outside = constant(0, p.dtype) if is_left or p.dtype.kind == "u" else p >> last
        return te.select(te.any_of(q > last, q < constant(0, q.dtype)), outside, inside)

    return together(node, (x, y), shifted)
