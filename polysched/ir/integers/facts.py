"""What is known at one place of a function: between what a value lies, and which conditions hold.

    for b in 0..(n + 31) / 32:                  n > 0, b >= 0
        for i in 32 * b..min(n, 32 * b + 32):   i >= 0, i < n
            if j < n - i:                       i + j is at most n - 1
                A[i] = B[j]

Every answer is true of two's complement arithmetic: a sum or product counts as what algebra says it is only where it
cannot leave its type. Sizes near 2^63 would make even n + 31 wrap, so whoever asks says how large sizes and arrays are
at most (`Facts.of`).

An answer holds wherever the expression is evaluated without a trap: that x / m >= 0 does not say that m is not zero.

Needs: a name is not bound again while it is in scope.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from polysched.ir.integers.bounds import Bounds, Unbounded
from polysched.ir.integers.congruence import Congruence
from polysched.ir.integers.examples import Examples
from polysched.ir.integers.intervals import Interval
from polysched.ir.integers.knowledge import LARGEST, Knowledge, opposite
from polysched.ir.integers.polynomial import Polynomial
from polysched.ir.node import walk
from polysched.ir.nodes import COMPARISONS, Binary, Const, Expr, For, Function, Let, Unary
from polysched.ir.text import show

New = For | Let | tuple[Expr, bool]  # a loop around, a name before, a condition and whether it holds


@dataclass(frozen=True)
class Facts:
    """What is known at one place of a function."""

    around: Knowledge | Facts
    news: tuple[New, ...] = ()  # what is known beside that

    @staticmethod
    def of(fn: Function, largest: int = LARGEST) -> Facts:
        """What is known before the first statement of `fn`, if no size is above `largest`, and no product of the
        extents of one of its arrays."""
        return Facts(
            Knowledge(
                ranges={},
                lets={},
                sizes=frozenset(fn.sizes),
                least=dict.fromkeys(fn.sizes, 0),
                largest=largest,
                extents=_products_of_extents(fn),
                numbers=dict.fromkeys(fn.sizes, (0, largest)),
                examples=Examples.of(fn.sizes),
            )
        )

    def inside(self, loop: For) -> Facts:
        """What is known in the body of the loop."""
        return self._with(loop)

    def under(self, cond: Expr) -> Facts:
        """What is known where `cond` holds."""
        return self._with((cond, True))

    def unless(self, cond: Expr) -> Facts:
        """What is known where `cond` does not hold."""
        return self._with((cond, False))

    def binding(self, let: Let) -> Facts:
        """What is known after the Let."""
        return self._with(let)

    def _with(self, new: New) -> Facts:
        if "_knowledge" in self.__dict__:  # what has been found serves further in
            return Facts(self, (new,))
        return Facts(self.around, (*self.news, new))

    @cached_property
    def _knowledge(self) -> Knowledge:
        """Made only where something is asked."""
        knowledge = (self.around if isinstance(self.around, Knowledge) else self.around._knowledge).copy()
        for new in self.news:
            match new:
                case For():
                    knowledge.enter(new)
                case Let():
                    knowledge.bind(new)
                case cond, holds:
                    knowledge.suppose(cond, holds)
        return knowledge

    # --- questions

    @property
    def hang_on_order(self) -> bool:
        """May what is answered hang on what was asked before? It may where facts contradict each other, from which all
        follows (no values are known that come here), and where a sum may wrap, which stays so where more is known."""
        return not self._knowledge.examples.count or bool(self._knowledge.opaque)

    def is_nonnegative(self, expr: Expr) -> bool:
        """Is this integer certain to be zero or more?"""
        return self._knowledge.is_at_least(expr, 0)

    def is_positive(self, expr: Expr) -> bool:
        """Is this integer certain to be above zero?"""
        return self._knowledge.is_at_least(expr, 1)

    def is_nonzero(self, expr: Expr) -> bool:
        """Is this integer certain not to be zero?"""
        return self._knowledge.decides("==", expr, Const(0, expr.dtype)) is False

    def is_at_most(self, left: Expr, right: Expr) -> bool:
        """Is it certain, of integers, that left <= right?"""
        return self._knowledge.exceeds(right, left, 0)

    def range(self, expr: Expr) -> Interval:
        """Numbers that the value of this integer lies between: those of its type at worst."""
        return self._knowledge.interval(expr)

    def congruence(self, expr: Expr) -> Congruence:
        """What the value of this integer leaves as remainder."""
        return self._knowledge.congruence(expr)

    def value(self, expr: Expr) -> Polynomial | None:
        """This i64 as a polynomial in names, some of which are texts of what is none; None if it may change."""
        return self._knowledge.known(expr)

    def is_exact(self, expr: Expr) -> bool:
        """Is it certain that no sum, difference or product in this i64 wraps?"""
        found = self.value(expr)
        return found is not None and not any(show(node) in self._knowledge.opaque for node in walk(expr))

    def decides(self, cond: Expr) -> bool | None:
        """What `cond` is wherever it is evaluated here; None if that is not known."""
        match cond:
            case Const(bool(value)):
                return value
            case Unary("!", arg):
                return opposite(self.decides(arg))
            case Binary("&&" | "||" as op, left, right):
                settles = op == "||"  # what one operand must be to settle it
                if (first := self.decides(left)) is settles:
                    return settles
                second = (self.unless(left) if settles else self.under(left)).decides(right)
                return second if first is not None or second is settles else None
            case Binary(op, left, right) if op in COMPARISONS and left.dtype.is_integer:
                return self._knowledge.decides(op, left, right)
        return self._knowledge.conditions.get(cond)


def _products_of_extents(fn: Function) -> tuple[Polynomial, ...]:
    """The numbers of elements that are of degree 2 or more."""
    found = []
    for array in fn.arrays:
        bounds = Bounds({}, {}, frozenset(fn.sizes))
        product = Polynomial.number(1)
        try:
            for extent in array.shape:
                product = product * bounds.polynomial(extent)
        except Unbounded:
            continue
        if product.degree > 1 and not bounds.ends:
            found.append(product)
    return tuple(dict.fromkeys(found))
