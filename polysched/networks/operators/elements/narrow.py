"""Narrow numbers from and to wide ones. Those of at most 8 bits have a table, of what each pattern of bits stands for:

    Widen     number[x]
    Narrow    how many numbers are at most |x|, rounded: the table of magnitudes is sorted, as patterns are

bfloat16 is the upper half of a float of 32 bits; the operands are its bits.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from polysched.frontend import tensor as te
from polysched.ir.dtypes import f32, i32, i64, u8, u16, u32
from polysched.networks.array import Array, constant, dtype_of
from polysched.networks.narrow import INTEGERS, numbers, width
from polysched.networks.node import Node
from polysched.networks.operators.table import operator

Value = Any
Index = tuple[Any, ...]

_UNSIGNED = "float8e8m0"


@operator("Widen", pointwise=True)
def widen(node: Node, x: Array) -> Array:
    """f32, or an integer of 8 bits; of bfloat16 the bits of a float."""
    kind = str(node.get("of"))
    if kind == "bfloat16":
        return node.make.compute(x.shape, u32, lambda i: x[i].astype(u32) << constant(16, u32))
    found = numbers(kind)
    table, mask = node.make.constant(found), constant((1 << width(kind)) - 1, u8)
    return node.make.compute(x.shape, dtype_of(found), lambda i: table[((x[i] & mask).astype(i64),)])


@operator("Narrow", pointwise=True)
def narrow(node: Node, x: Array) -> Array:
    """The bits: of an integer, of a float, or, for bfloat16, of a float's bits."""
    kind = str(node.get("to"))
    if kind == "bfloat16":
        return node.make.compute(x.shape, u16, lambda i: _upper_half(x[i]))
    if kind in INTEGERS:
        mask, least, most = (1 << width(kind)) - 1, numbers(kind).min(), numbers(kind).max()
        limit = bool(node.get("saturate", 0))

        def integer(i: Index) -> Value:
            number = x[i].astype(i32)
            number = te.maximum(constant(least, i32), te.minimum(constant(most, i32), number)) if limit else number
            return number.astype(u8) & constant(mask, u8)

        return node.make.compute(x.shape, u8, integer)
    return _nearest(node, x, kind, bool(node.get("saturate", 1)), node.choice("round_mode", "up", "down", "nearest"))


def _upper_half(word: Value) -> Value:
    """Rounded to the nearest, of two the even one; NaN stays one."""
    number = partial(constant, dtype=u32)
    half, last = number(0x7FFF), word >> number(16) & number(1)
    rounded = (word + half + last) >> number(16)
    is_nan = (word & number(0x7FFFFFFF)) > number(0x7F800000)
    return te.select(is_nan, (word >> number(16)) | number(0x40), rounded).astype(u16)


def _nearest(node: Node, x: Array, kind: str, saturate: bool, rounding: str) -> Array:
    codes = _Codes(kind, saturate, rounding)
    limits, axis = node.make.constant(codes.limits), node.make.axis(len(codes.limits))

    def element(i: Index) -> Value:
        v = x[i].astype(f32)
        passed = limits[(axis,)] <= te.abs(v)
        found = te.sum(te.select(passed, constant(1, i32), constant(0, i32)), axis=axis)
        byte, zero = partial(constant, dtype=i32), constant(0, f32)
        found = te.select(found > byte(codes.largest), byte(codes.beyond), found)
        is_negative = te.any_of(v < zero, te.all_of(v == zero, constant(1, f32) / v < zero))
        if codes.sign:
            signed = found | byte(codes.sign)
            signed = signed if codes.has_negative_zero else te.select(found == byte(0), byte(0), signed)
            found = te.select(te.all_of(is_negative, found != byte(codes.nan)), signed, found)
        else:
            found = te.select(v < zero, byte(codes.nan), found)
        return te.select(v != v, byte(codes.nan), found).astype(u8)

    return node.make.compute(x.shape, u8, element)


class _Codes:
    """How magnitudes become patterns: pattern k stands for numbers from `limits[k - 1]` on."""

    def __init__(self, kind: str, saturate: bool, rounding: str):
        found = numbers(kind)
        half = len(found) if kind == _UNSIGNED else len(found) // 2
        magnitudes = found[:half]
        self.largest = int(np.flatnonzero(np.isfinite(magnitudes))[-1])
        self.sign = 0 if kind == _UNSIGNED else half
        self.has_negative_zero = kind != _UNSIGNED and not np.isnan(found[half])
        self.nan = _first(np.isnan(magnitudes), half)  # where no magnitude is, what would be the negative zero
        self.beyond = self.largest if saturate else _first(np.isinf(magnitudes), self.nan)
        self.limits = _limits(magnitudes[: self.largest + 1].astype(np.float64), rounding if not self.sign else "even")


def _first(holds: np.ndarray, otherwise: int) -> int:
    return int(np.argmax(holds)) if holds.any() else otherwise


def _limits(magnitudes: np.ndarray, rounding: str) -> np.ndarray:
    """The least float of 32 bits that becomes each magnitude but the first, and the first one that is too large."""
    beyond = 2 * magnitudes[-1] - magnitudes[-2]
    limits = []
    for k, (low, high) in enumerate(pairwise([*magnitudes, beyond])):
        at = np.float32({"up": low, "down": high}.get(rounding, (low + high) / 2))
        stays = rounding == "up" or (rounding == "even" and k % 2 == 0)  # is the limit itself still the lower one?
        limits.append(np.nextafter(at, np.float32(np.inf)) if stays else at)
    return np.array(limits, np.float32)
