"""What the value of an integer expression leaves as remainder.

    4 * i + 2                           ->      (4, 2): 2 more than a multiple of 4
    i, for i in 3..n by 8               ->      (8, 3)
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from polysched.ir.arithmetic import UNBOUNDED
from polysched.ir.nodes import Binary, Const, Expr, Select, Unary

Congruence = tuple[int, int]  # (m, r): r more than a multiple of m; (1, 0) is any integer, (0, r) the number r

ANY: Congruence = (1, 0)


def congruence(expr: Expr, inner: Callable[[Expr], Congruence]) -> Congruence:
    """That of the integer that `expr` is before it is wrapped to its type, if `inner` are those of its operands."""
    match expr:
        case Const(value):
            return 0, int(value)
        case Unary("-", arg):
            modulus, rest = inner(arg)
            return _reduced(modulus, -rest)
        case Binary("+" | "-" as op, left, right):
            (modulus, rest), (other, by) = inner(left), inner(right)
            return _reduced(gcd(modulus, other), UNBOUNDED[op](rest, by))
        case Binary("*", left, right):
            (modulus, rest), (other, times) = inner(left), inner(right)
            return _reduced(gcd(modulus * other, modulus * times, other * rest), rest * times)
        case Binary("<<", left, Const(int(shift))) if 0 <= shift < expr.dtype.bits:
            modulus, rest = inner(left)
            return _reduced(modulus << shift, rest << shift)
        case Binary("floormod", left, Const(int(divisor))) if divisor > 0:
            modulus, rest = inner(left)
            return (0, rest % divisor) if modulus % divisor == 0 else _reduced(gcd(modulus, divisor), rest)
        case Binary("floordiv", left, Const(int(divisor))) if divisor > 0:
            modulus, rest = inner(left)
            return _reduced(modulus // divisor, rest // divisor) if modulus % divisor == 0 else ANY
        case Binary("min" | "max", left, right) | Select(_, left, right):
            (modulus, rest), (other, another) = inner(left), inner(right)
            return _reduced(gcd(modulus, other, rest - another), rest)
    return ANY


def stepped(first: Congruence, step: int) -> Congruence:
    """That of first, first + step, and so on."""
    return _reduced(gcd(first[0], step), first[1])


def wrapped(found: Congruence, bits: int) -> Congruence:
    """What remains of it when multiples of 2^bits may be added."""
    return _reduced(gcd(found[0], 1 << bits), found[1])


def _reduced(modulus: int, rest: int) -> Congruence:
    return modulus, rest % modulus if modulus else rest
