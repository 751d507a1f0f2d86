"""Numbers that the value of an integer expression lies between.

    t % 32 * 8 + 7, t of 0..1024        ->      (7, 255)

Every operation is taken alone, so this is quick, and coarse: j - j, for j in 0..4, is from -3 to 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

from polysched.ir.arithmetic import UNBOUNDED
from polysched.ir.dtypes import DType
from polysched.ir.nodes import Binary, Cast, Const, Expr, Select, Unary

Interval = tuple[int, int]  # the least and the largest number


def whole(dtype: DType) -> Interval:
    """All values of an integer type, or of bool."""
    match dtype.kind:
        case "b":
            return 0, 1
        case "u":
            return 0, (1 << dtype.bits) - 1
    return -(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1


def holds(dtype: DType, interval: Interval) -> bool:
    """Are all of these values of that type?"""
    least, most = whole(dtype)
    return least <= interval[0] and interval[1] <= most


def interval(expr: Expr, inner: Callable[[Expr], Interval]) -> Interval:
    """Numbers between which `expr` lies before it is wrapped to its type, if its operands lie between theirs, `inner`.

    A division is taken to have a divisor that is not zero: it traps otherwise.
    """
    match expr:
        case Const(value):
            return int(value), int(value)
        case Unary("-", arg):
            low, high = inner(arg)
            return -high, -low
        case Unary("~", arg) if arg.dtype.kind == "i":
            low, high = inner(arg)
            return ~high, ~low
        case Binary("-", left, right):
            (low, high), (other_low, other_high) = inner(left), inner(right)
            return low - other_high, high - other_low
        case Binary("*", left, right):
            return _hull(a * b for a, b in product(inner(left), inner(right)))
        case Binary("<<" | ">>" as op, left, Const(int(shift))) if 0 <= shift < expr.dtype.bits:
            low, high = inner(left)
            return UNBOUNDED[op](low, shift), UNBOUNDED[op](high, shift)
        case Binary("+" | "min" | "max" as op, left, right):
            (low, high), (other_low, other_high) = inner(left), inner(right)
            return UNBOUNDED[op](low, other_low), UNBOUNDED[op](high, other_high)
        case Binary("&", left, right):
            return _common_bits(inner(left), inner(right), whole(expr.dtype))
        case Binary("floordiv" | "truncdiv" | "floormod" | "truncmod" as op, left, right):
            least, most = inner(right)
            if least >= 0 and most > 0:
                return _divided(op, inner(left), max(least, 1), most)
        case Select(_, then, other):
            return _hull((*inner(then), *inner(other)))
        case Cast(arg, _) if not arg.dtype.is_float:
            return inner(arg)
    return whole(expr.dtype)


def _hull(numbers: Iterable[int]) -> Interval:
    found = list(numbers)
    return min(found), max(found)


def _common_bits(left: Interval, right: Interval, every: Interval) -> Interval:
    """What is not negative limits the result."""
    most = [high for low, high in (left, right) if low >= 0]
    return (0, min(most)) if most else every


def _divided(op: str, value: Interval, least: int, most: int) -> Interval:
    """By a divisor of `least` to `most`, which are positive."""
    low, high = value
    if op in ("floordiv", "truncdiv"):
        return _hull(UNBOUNDED[op](a, b) for a, b in product(value, (least, most)))
    if low >= 0 and high < least:
        return value
    if least == most and low // least == high // least and (low >= 0 or op == "floormod"):
        return low % least, high % least
    if low >= 0 or op == "floormod":
        return 0, min(high, most - 1) if low >= 0 else most - 1
    return max(low, 1 - most), max(min(high, most - 1), 0)
