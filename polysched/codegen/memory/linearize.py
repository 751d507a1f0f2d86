"""One subscript per array, its address arithmetic in the open, where `normalize` and `licm` see it.

    A: f64[n, m]                          A: f64[n * m]
    B: f64[n, 8]                          B: f64[n * 8]
    A[i + 1, j] = B[i + 1, j - 1]   ->    A[(i + 1) * m + j] = B[i * 8 + j + 7]

Arrays are in C order. Constants end up in one last addend, the immediate offset of an address.

Needs: subscripts in bounds, so that no part of an address wraps.
Keeps: which elements are loaded and stored, in which order. Arrays of one dimension and none stay as they are.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

from polysched.ir.node import arrays_of, rewrite
from polysched.ir.nodes import Alloc, Array, Binary, Const, Expr, Function, Load, Store


def linearize(fn: Function) -> Function:
    """`fn` with arrays of at most one dimension; an array's name and dtype stay."""
    extents = {name: array.shape for name, array in arrays_of(fn).items() if len(array.shape) > 1}

    def flat(node: Any) -> Any | None:
        match node:
            case Load(array, index) | Store(array, index) if array in extents:
                return replace(node, index=(_address(index, extents[array]),))
            case Alloc(array) if array.name in extents:
                return replace(node, array=_flattened(array))
        return None

    if not extents:
        return fn
    arrays = tuple(_flattened(array) if array.name in extents else array for array in fn.arrays)
    return replace(fn, arrays=arrays, body=rewrite(fn.body, flat))


def _flattened(array: Array) -> Array:
    return replace(array, shape=(reduce(_times, array.shape),))


def _address(index: tuple[Expr, ...], shape: tuple[Expr, ...]) -> Expr:
    """The sum of each subscript times the size of what it steps over."""
    stride: Expr = Const(1)
    terms: list[Expr] = []  # from the last subscript to the first
    offset = 0
    for subscript, extent in zip(reversed(index), reversed(shape), strict=True):
        if isinstance(stride, Const):
            subscript, constant = _without_constant(subscript)
            offset += constant * int(stride.value)
        if subscript != Const(0):
            terms.append(_times(subscript, stride))
        stride = _times(extent, stride)
    terms.reverse()
    if not terms:
        return Const(offset)
    address = reduce(_plus, terms)
    if offset == 0:
        return address
    return Binary("+", address, Const(offset)) if offset > 0 else Binary("-", address, Const(-offset))


def _without_constant(expr: Expr) -> tuple[Expr, int]:
    """A subscript, split into a rest and the constant added to it."""
    match expr:
        case Const(int(value)):
            return Const(0), value
        case Binary("+", rest, Const(int(value))) | Binary("+", Const(int(value)), rest):
            return rest, value
        case Binary("-", rest, Const(int(value))):
            return rest, -value
    return expr, 0


def _times(left: Expr, right: Expr) -> Expr:
    match left, right:
        case Const(int(a)), Const(int(b)):
            return Const(a * b)
        case (other, Const(1)) | (Const(1), other):
            return other
    return Binary("*", left, right)


def _plus(left: Expr, right: Expr) -> Expr:
    """Their sum, left to right: `a + (b - c)` is `a + b - c`."""
    match right:
        case Binary("+" | "-" as op, first, second):
            return Binary(op, _plus(left, first), second)
    return Binary("+", left, right)
