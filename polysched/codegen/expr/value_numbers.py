"""Numbers for values: expressions that have the same number have the same value.

s = a * b       1
s + c           2
a * b + c       2       the same operation on the same numbers
A[s]            3
A[0] = c
A[s]            4       another element may have been loaded
"""

from __future__ import annotations

from collections.abc import Hashable

from polysched.codegen.lowered import operation
from polysched.ir.available import Available
from polysched.ir.node import children
from polysched.ir.nodes import Call, Expr, Load, Var


class HasEffects(Exception):
    """An expression calls what is not pure, so it has no value that it has again."""


class ValueNumbers:
    """Numbers values, statement by statement; `memory` knows what has been written in between."""

    def __init__(self, memory: Available):
        self.memory = memory
        self.bound: dict[str, int] = {}  # numbers of what names are bound to; other names are values of their own
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[int, int] = {}  # by id of the expressions of the statement under way

    def begin(self, exprs: tuple[Expr, ...]) -> None:
        """Numbers all parts of the expressions of a statement; HasEffects if a call among them is not pure."""
        self._known.clear()
        for expr in exprs:
            self._number(expr)

    def __getitem__(self, expr: Expr) -> int:
        """The number of this very object, part of the statement that was begun last."""
        return self._known[id(expr)]

    def _number(self, expr: Expr) -> int:
        match expr:
            case Var(name) if name in self.bound:
                number = self.bound[name]
            case Call(pure=False):
                raise HasEffects
            case _:
                stamp = self.memory.stamp(expr.array) if isinstance(expr, Load) else None
                key = operation(expr), stamp, *map(self._number, children(expr))
                number = self._numbers.setdefault(key, len(self._numbers))
        self._known[id(expr)] = number
        return number
