"""Recognises reductions: updates whose order only the rounding of floats can tell.

    s[i] = s[i] + a[i, k] * b[k]      "+"          m = max(x[i], m)       "max"
    s[i] = s[i] - x + y               "+"          s[i] = s[i - 1] + x    "": updates no element of s
"""

from __future__ import annotations

import math

from polysched.ir.dtypes import DType
from polysched.ir.effects import may_change
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


def identity(op: str, dtype: DType) -> Const:
    """The value that changes no other one under `op`, bit for bit: -0.0 + 0.0 is 0.0, so it is -0.0 for sums."""
    is_float, is_signed = dtype.kind == "f", dtype.kind == "i"
    match op:
        case "+":
            return Const(-0.0 if is_float else 0, dtype)
        case "|" | "^":
            return Const(0, dtype)
        case "*":
            return Const(1.0 if is_float else 1, dtype)
        case "&":
            return Const(-1 if is_signed else (1 << dtype.bits) - 1, dtype)
        case "min":
            largest = (1 << dtype.bits - is_signed) - 1
            return Const(math.inf if is_float else largest, dtype)
        case "max":
            least = -(1 << dtype.bits - 1) if is_signed else 0
            return Const(-math.inf if is_float else least, dtype)
    raise ValueError(f"{op} has no identity")


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
