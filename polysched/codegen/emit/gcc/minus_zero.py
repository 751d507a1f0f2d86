"""Differences that gcc 12 makes -0.0 of, at any level of optimization: it takes 0.0 - x for -x if x is never -0.0.

    0.0 - (double)i                         ->      i == 0 ? 0.0 : -(double)i
    (double)i - (double)i - (double)i       ->      i == 0 ? 0.0 : -(double)i
    0.0 - fabs(x)                           ->      fabs(x) == 0.0 ? 0.0 : -fabs(x)
"""

from __future__ import annotations

import math

from polysched.ir.nodes import Binary, Call, Cast, Const, Expr, Select, Unary


def chosen(expr: Binary) -> Select | None:
    """The difference as a choice between zero and -x, if gcc might get it wrong."""
    if expr.op != "-" or expr.dtype.kind != "f" or not _is_zero(expr.left):
        return None
    match expr.right:
        case Cast(arg, _) if arg.dtype.is_integer:
            tested: Expr = arg
        case Call("fabs"):
            tested = expr.right
        case _:
            return None
    is_zero = Binary("==", tested, Const(0 if tested.dtype.is_integer else 0.0, tested.dtype))
    return Select(is_zero, Const(0.0, expr.dtype), Unary("-", expr.right))


def _is_zero(expr: Expr) -> bool:
    """Will gcc see that it is 0.0?"""
    match expr:
        case Const(float(value)):
            return value == 0 and math.copysign(1, value) > 0
        case Binary("-", Cast(arg, _) as left, right):
            return arg.dtype.is_integer and left == right
    return False
