"""What an expression costs to compute, in additions: `x / 1024 + y` costs 4."""

from __future__ import annotations

from collections.abc import Mapping

from polysched.config.target import TargetData
from polysched.ir.node import children
from polysched.ir.nodes import ARITHMETIC, COMPARISONS, DIVISIONS, LOGICAL, Binary, Const, Expr, Unary, Var

CONSTANT = " by a constant"  # in tables, what follows an operator; without such an entry, it costs as any other

COSTS: Mapping[str, int] = {
    **dict.fromkeys(ARITHMETIC | COMPARISONS | LOGICAL | {"~", "!", "select", "cast", "load"}, 1),
    **dict.fromkeys(DIVISIONS | {"/"}, 3),
    "call": 10,
}

_BY_CONSTANTS = dict.fromkeys((op + CONSTANT for op in DIVISIONS), 3)  # a multiplication, a shift and a correction


def costs_on(target: TargetData) -> Mapping[str, int]:
    """What operations cost there."""
    return {**COSTS, **dict.fromkeys(DIVISIONS, target.division), **_BY_CONSTANTS}


def cost(expr: Expr, costs: Mapping[str, int] = COSTS) -> int:
    """The costs of all operations of `expr`, added up; constants and variables are free."""
    match expr:
        case Const() | Var():
            return 0
        case Binary(op, _, Const()) if op + CONSTANT in costs:
            own = costs[op + CONSTANT]
        case Binary(op) | Unary(op):
            own = costs[op]
        case _:
            own = costs[type(expr).__name__.lower()]
    return own + sum(cost(child, costs) for child in children(expr))
