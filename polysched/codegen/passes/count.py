"""How much integer work a function does beside what its loops cost themselves.

    for i in 0..4:
        for j in 0..32:                     2 integer operations, 256 executed, 0 temporaries
            A[i * 32 + j] = 0.0
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polysched.ir.node import children, walk
from polysched.ir.nodes import Binary, Const, Expr, For, Function, Let, Select, Stmt, Unary


@dataclass(frozen=True)
class IntegerOperations:
    """Operations on integers and booleans: arithmetic, divisions, comparisons, logic, min, max, selects."""

    written: int  # in the text
    executed: int | None  # each as often as the loops around it run; None if a loop's bounds are not constant
    temporaries: int

    def __str__(self) -> str:
        executed = "unknown" if self.executed is None else self.executed
        return f"{self.written} integer operations, {executed} executed, {self.temporaries} temporaries"


def integer_operations(fn: Function) -> IntegerOperations:
    """The integer operations in the body of `fn`, guards and short circuits taken as if everything under them ran."""
    lets = sum(isinstance(node, Let) for node in walk(fn.body))
    return IntegerOperations(sum(map(_is_integer_operation, walk(fn.body))), _total(fn.body), lets)


def trip_count(loop: For) -> int | None:
    """How often the body runs; None if a bound is not constant."""
    match loop:
        case For(_, Const(value=lo), Const(value=hi), step):
            return len(range(int(lo), int(hi), step))
    return None


def _executed(node: Expr | Stmt) -> int | None:
    if isinstance(node, For):
        trips, body, bounds = trip_count(node), _total(node.body), _total((node.lo, node.hi))
        return None if trips is None or body is None or bounds is None else bounds + trips * body
    below = _total(children(node))
    return None if below is None else _is_integer_operation(node) + below


def _total(nodes: Iterable[Expr | Stmt]) -> int | None:
    counts = [_executed(node) for node in nodes]
    return None if None in counts else sum(filter(None, counts))


def _is_integer_operation(node: Expr | Stmt) -> bool:
    match node:
        case Binary(_, operand) | Unary(_, operand) | Select(_, operand):
            return not operand.dtype.is_float
    return False
