"""Values that all names may have together at a place, to tell quickly what cannot be proved there.

    for i in 0..n:          n = 400, i = 0          n = 7, i = 6
        if i < 4:           n = 400, i = 0
            i > 0 ?         is not so there: no need to try and prove it

Without any, all would have to be tried: nothing is taken to hold since it holds for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import compress, cycle, islice
from typing import Any

from polysched.ir.arithmetic import COMPARE, UNBOUNDED
from polysched.ir.nodes import COMPARISONS, DIVISIONS, Binary, Cast, Const, Expr, For, Let, Select, Unary, Var

Column = list[int | None]  # the values of one expression, by example; None if the example does not tell, or it traps

# Of the sizes, by example, and how far the next one is off: some are all multiples of a power of two.
_SCALES = ((400, 1), (0, 0), (6400, 0), (1000, 1), (211, 1), (7, 1), (20, 1), (40008, 0))
_MANY = 12  # examples: fewer are made more, at several places of a loop
_TENTHS = (0, 10, 5, 9, 2, 7)  # of the way from the first value of a loop to its last
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    op: COMPARE.get(op) or UNBOUNDED[op]
    for op in (*COMPARISONS, *DIVISIONS, "+", "-", "*", "min", "max", "&", "|", "^")
}


@dataclass(frozen=True)
class Examples:
    """Values of all names, of each as a column."""

    count: int
    names: Mapping[str, Column]
    found: dict[Expr, Column] = field(default_factory=dict)  # what has been asked: most of it is asked again

    @staticmethod
    def of(sizes: Iterable[str]) -> Examples:
        """Sizes of several orders of magnitude, in several orders."""
        return Examples(
            len(_SCALES),
            {
                name: [scale * (1 + (at + k) * (k + 1) % 4) + off * at for k, (scale, off) in enumerate(_SCALES)]
                for at, name in enumerate(sizes)
            },
        )

    def inside(self, loop: For) -> Examples:
        """Those in the loop's body, each with a value of its variable, or several."""
        parts, many = cycle(_TENTHS), -(-_MANY // max(1, self.count))
        rows: list[int] = []
        column: Column = []
        for row, (first, end) in enumerate(zip(self.values(loop.lo), self.values(loop.hi), strict=True)):
            if first is None or end is None:
                rows, column = [*rows, row], [*column, None]
            elif (last := (end - first - (1 if loop.step > 0 else -1)) // loop.step) >= 0:  # the number of the last one
                numbers = dict.fromkeys(tenths * last // 10 for tenths in islice(parts, many))
                rows += [row] * len(numbers)
                column += [first + loop.step * number for number in numbers]
        chosen = {name: [values[row] for row in rows] for name, values in self.names.items()}
        return Examples(len(rows), {**chosen, loop.var: column})

    def where(self, cond: Expr, holds: bool) -> Examples:
        """Those for which the condition holds, or does not."""
        kept = [value is not (not holds) for value in self.values(cond)]
        return self if all(kept) else Examples(sum(kept), {n: [*compress(v, kept)] for n, v in self.names.items()})

    def after(self, let: Let) -> Examples:
        """Those with the name that the Let binds."""
        return Examples(self.count, {**self.names, let.name: self.values(let.value)})

    def values(self, expr: Expr) -> Column:
        """The values of an integer or condition."""
        if expr not in self.found:
            self.found[expr] = self._values(expr)
        return self.found[expr]

    def _values(self, expr: Expr) -> Column:
        match expr:
            case Binary("&&" | "||" as op, left, right):
                pairs = zip(self.values(left), self.values(right), strict=True)
                return [_settled(one, other, by=op == "||") for one, other in pairs]
            case Binary(op, left, right) if op in _OPERATORS:
                of, by_zero = _OPERATORS[op], (None, 0) if op in DIVISIONS else (None,)
                pairs = zip(self.values(left), self.values(right), strict=True)
                return [None if one is None or other in by_zero else of(one, other) for one, other in pairs]
            case Var(name) if name in self.names:
                return self.names[name]
            case Const(int(number)):
                return [number] * self.count
            case Unary("-", arg):
                return [None if value is None else -value for value in self.values(arg)]
            case Unary("!", arg):
                return [None if value is None else not value for value in self.values(arg)]
            case Select(cond, then, other):
                columns = zip(self.values(cond), self.values(then), self.values(other), strict=True)
                return [None if test is None else yes if test else no for test, yes, no in columns]
            case Cast(arg, dtype) if dtype.is_integer:
                return self.values(arg)
        return [None] * self.count


def _settled(left: int | None, right: int | None, by: bool) -> bool | None:
    """What an operation is that one operand settles, by being `by`, and is else the opposite."""
    if left is by or right is by:
        return by
    return None if left is None or right is None else not by
