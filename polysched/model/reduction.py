"""Recognizes reductions: updates whose order only the rounding of floats can tell.

    s[i] = s[i] + a[i, k] * b[k]      "+"          m = max(x[i], m)       "max"
    s[i] = s[i] - x + y               "+"          s[i] = s[i - 1] + x    "": updates no element of s
"""

from __future__ import annotations

import math

from polysched.ir.dtypes import DType
from polysched.ir.effects import may_change
from polysched.ir.integers.intervals import whole
from polysched.ir.node import walk
from polysched.ir.nodes import Binary, Call, Const, Expr, Load, Stmt, Store

ASSOCIATIVE = frozenset({"+", "*", "min", "max", "&", "|", "^"})


def reduction_operator(body: tuple[Stmt, ...]) -> str:
    """The operator if `body` is one store a[f] = a[f] op e, where e reads a under other subscripts alone; else "".

    a[f] - e counts as "+". Subscripts f that are loaded from an array are refused: they may differ each time.
    """
    match body:
        case (Store(array=array, index=index, value=Binary(op=op) as value),):
            operator = "+" if op == "-" else op
            target = Load(array, index, value.dtype)
            fixed = not may_change(*index)
            if operator in ASSOCIATIVE and fixed and _accumulates(value, operator, target):
                return operator
    return ""


def exact_update(body: tuple[Stmt, ...]) -> str:
    """What an update of integers does, as "max i32": any order of such gives the same bits, as sums and products wrap.

    "" for other statements, and for floats: sums round, and min and max keep the NaN or the zero that comes first.
    """
    match reduction_operator(body), body:
        case (str(operator), (Store(value=value),)) if operator and not value.dtype.is_float:
            return f"{operator} {value.dtype}"
    return ""


def identity(op: str, dtype: DType) -> Const:
    """The value that changes no other one under `op`, bit for bit: -0.0 + 0.0 is 0.0, so it is -0.0 for sums."""
    least, most = (-math.inf, math.inf) if dtype.is_float else whole(dtype)
    values = {"+": -0.0 if dtype.is_float else 0, "*": 1, "min": most, "max": least, "|": 0, "^": 0}
    if not dtype.is_float:
        values["&"] = -1 if dtype.kind == "i" else most
    if op not in values:
        raise ValueError(f"{op} has no identity")
    return Const(values[op], dtype)


def _accumulates(value: Expr, operator: str, target: Load) -> bool:
    """Is `value` the target combined with operands that do not depend on it, by `operator` alone?"""
    match value:
        case Load():
            return value == target
        case Binary(op=op, left=left, right=right) if op == operator:
            return (_accumulates(left, operator, target) and _is_independent(right, target)) or (
                _accumulates(right, operator, target) and _is_independent(left, target)
            )
        case Binary(op="-", left=left, right=right) if operator == "+":
            return _accumulates(left, operator, target) and _is_independent(right, target)
    return False


def _is_independent(value: Expr, target: Load) -> bool:
    """Does it neither read the target nor have an effect?"""
    return not any(node == target or (isinstance(node, Call) and not node.pure) for node in walk(value))
