"""C's conversions and operators; the operands already have the types that C computes in."""

from __future__ import annotations

from polysched.frontend.arithmetic import Typed, cast
from polysched.ir.dtypes import DType
from polysched.ir.nodes import Binary, Const, Expr, Select


def converted(expr: Expr, dtype: DType) -> Expr:
    """The value in another C type."""
    is_small = isinstance(expr, Const) and abs(expr.value) <= 1 << 53
    return cast(Typed(expr, weak=is_small), dtype)


def arithmetic(op: str, left: Expr, right: Expr) -> Expr:
    """C's operator on operands of one dtype; the count of a shift may have another."""
    if op in ("<<", ">>"):
        return Binary(op, left, converted(right, left.dtype))
    if left.dtype.is_integer:
        op = {"/": "truncdiv", "%": "truncmod"}.get(op, op)
    return Binary(op, left, right)


def chosen(cond: Expr, then: Expr, other: Expr) -> Expr:
    """cond ? then : other, as min or max where it is one to the bit: x <= y differs for a NaN."""
    match cond:
        case Binary("<", x, y) | Binary(">", y, x):
            pass
        case (Binary("<=", x, y) | Binary(">=", y, x)) if x.dtype.is_integer:
            pass
        case _:
            return Select(cond, then, other)
    if (then, other) == (x, y):
        return Binary("min", y, x)
    return Binary("max", x, y) if (then, other) == (y, x) else Select(cond, then, other)
