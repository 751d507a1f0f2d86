"""Sums of zeros that gcc 12 makes -0.0 of, at any level of optimization: they go through a function.

    0.0 - (double)i                         ->      sub_f64(0.0, (double)i)
    (double)i - (double)i - (double)i       ->      sub_f64((double)i - (double)i, (double)i)
    -fabs(x) + 0.0                          ->      add_f64(-fabs(x), 0.0)

It takes 0.0 - x for -x where it sees that x is never -0.0, as what comes from an integer, though 0.0 - 0.0 is 0.0. What
it sees ends at the operands of a function.
"""

from __future__ import annotations

from polysched.ir.nodes import Binary, Call, Cast, Const, Expr, Select, Unary

FUNCTIONS = {"+": "add", "-": "sub"}


def is_at_risk(expr: Binary) -> bool:
    """May gcc see a zero in it, and something that is never -0.0?"""
    if expr.dtype.kind != "f" or expr.op not in FUNCTIONS:
        return False
    pairs = [(expr.left, expr.right)] + ([(expr.right, expr.left)] if expr.op == "+" else [])
    return any(may_be_zero(one) and _is_never_minus_zero(other) for one, other in pairs)


def may_be_zero(expr: Expr) -> bool:
    """May it be a zero that is known when gcc reads it?"""
    match expr:
        case Const(value):
            return value == 0
        case Binary("-", left, right) if left == right:
            return True
        case Binary("+", left, Unary("-", right)) | Binary("+", Unary("-", right), left) if left == right:
            return True
        case Binary("+" | "-", left, right):
            return may_be_zero(left) and may_be_zero(right)
        case Binary("*", left, right):
            return may_be_zero(left) or may_be_zero(right)
        case Select(_, then, other):
            return may_be_zero(then) or may_be_zero(other)
        case Unary(_, arg) | Cast(arg, _):
            return may_be_zero(arg)
        case Call(_, args):
            return bool(args) and all(isinstance(arg, Const) for arg in args)
    return False


def _is_never_minus_zero(expr: Expr) -> bool:
    """May gcc see that of it, or of what it negates?"""
    match expr:
        case Cast(arg, _):
            return arg.dtype.kind != "f" or _is_never_minus_zero(arg)
        case Call("fabs"):
            return True
        case Select(_, then, other):
            return all(isinstance(arm, Const) or _is_never_minus_zero(arm) for arm in (then, other))
        case Binary("+" | "-", left, right):  # one of them goes
            return (_is_never_minus_zero(left) and may_be_zero(right)) or (
                may_be_zero(left) and _is_never_minus_zero(right)
            )
        case Binary("*", Const(), factor) | Binary("*", factor, Const()):
            return _is_never_minus_zero(factor)
        case Unary(_, arg):
            return _is_never_minus_zero(arg)
    return False
