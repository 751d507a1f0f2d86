"""What the ranges of loops and the conditions around decide, decided: divisions, min and max, conditions, empty loops.

    for i in 0..n:                              for i in 0..n:
        for j in 0..m:                              for j in 0..m:
            A[(i * m + j) / m] = j % m      ->          A[i] = j
            if max(i, 0) + j >= 0:                      B[i + j] = 0.0
                B[max(i, 0) + j] = 0.0

A quotient of what is not negative becomes the one that C has an operator for: towards zero, or a shift.

Keeps: every trap and effect, which elements are loaded and stored, and their order. No operation is added, but for a
difference in the place of a remainder.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, reduce

from polysched.codegen.expr.sums import Term, terms_of
from polysched.codegen.loops.inequalities import is_total
from polysched.codegen.lowered import changed, with_own
from polysched.ir.build import add, binary, mul
from polysched.ir.dtypes import boolean, i64
from polysched.ir.integers.facts import Facts
from polysched.ir.integers.knowledge import LARGEST
from polysched.ir.integers.trips import most_trips
from polysched.ir.node import children, flattened, map_children, map_list
from polysched.ir.nodes import COMPARISONS, DIVISIONS, Binary, Const, Expr, For, Function, If, Let, Select, Stmt
from polysched.ir.simplify import simplify, taken_branch

_QUESTIONS = COMPARISONS | DIVISIONS | {"min", "max", "&"}
_MOST_QUESTIONS = 20_000  # about one outermost statement
_MOST_ROUNDS = 4  # where answers may hang on their order
_MOST_OPERANDS = 6  # of a min or max that are compared with each other


def simplify_ranges(fn: Function, *, largest: int = LARGEST) -> Function:
    """`fn` without what the facts decide, if no size, and no product of the extents of one of its arrays, is above
    `largest`."""
    lets: list[Let] = []

    def facts() -> Facts:
        """Without what was asked before: a sum that may wrap stays so where more is known."""
        return reduce(Facts.binding, lets, Facts.of(fn, largest))

    def settled(stmt: Stmt) -> tuple[Stmt, ...]:
        new = _settled(stmt, facts)
        lets.extend(each for each in new if isinstance(each, Let))
        return new

    return changed(fn, body=map_list(fn.body, settled))


def _settled(stmt: Stmt, facts: Callable[[], Facts]) -> tuple[Stmt, ...]:
    """The statement without what the facts decide, asked again where answers may hang on their order."""
    body: tuple[Stmt, ...] = (stmt,)
    for _ in range(_MOST_ROUNDS):
        simplifier, before = _Simplifier(), body
        body = simplifier.block(before, facts())
        if body is before or not simplifier.may_find_more:
            break
    return body


class _Simplifier:
    def __init__(self) -> None:
        self.questions = 0
        self.may_find_more = False

    # --- statements

    def block(self, statements: tuple[Stmt, ...], facts: Facts) -> tuple[Stmt, ...]:
        def simpler(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
            nonlocal facts
            new = self.statement(stmt, facts)
            if isinstance(new, Let):
                facts = facts.binding(new)
            return new

        return map_list(statements, simpler)

    def statement(self, stmt: Stmt, facts: Facts) -> Stmt | tuple[Stmt, ...]:
        new = with_own(stmt, lambda expr: self.simpler(expr, facts))
        if isinstance(stmt, For) and isinstance(new, For) and not _tells_as_much(new, stmt):
            new = stmt
        match new:
            case For() if self.never_runs(new, facts):
                return ()
            case For(body=body):
                return changed(new, body=self.block(body, facts.inside(new)))
            case If(Const(value=holds), then, other):
                return taken_branch(new, self.block(then if holds else other, facts))
            case If(cond, then, other):
                then, other = self.block(then, facts.under(cond)), self.block(other, facts.unless(cond))
                return changed(new, then=then, other=other)
        return new

    def never_runs(self, loop: For, facts: Facts) -> bool:
        low, high = (loop.lo, loop.hi) if loop.step > 0 else (loop.hi, loop.lo)
        if isinstance(low, Const) and isinstance(high, Const):
            return high.value <= low.value
        return facts.is_at_most(high, low) and is_total(low, facts) and is_total(high, facts)

    # --- expressions

    def simpler(self, expr: Expr, facts: Facts) -> Expr:
        """The same object if there is nothing to decide in it."""
        while (new := self.decided(expr, facts)) is not expr:
            expr = simplify(new)
        return expr

    def decided(self, expr: Expr, facts: Facts) -> Expr:
        if not _asks(expr):
            return expr
        match expr:
            case Binary("&&" | "||" as op):
                before, after = [*flattened(expr, op)], list[Expr]()
                for operand in before:
                    after.append(self.decided(operand, facts))
                    facts = facts.under(after[-1]) if op == "&&" else facts.unless(after[-1])
                return expr if all(map(operator.is_, before, after)) else binary(op, *after)
            case Select(cond, then, other):
                test = self.decided(cond, facts)
                then, other = self.decided(then, facts.under(test)), self.decided(other, facts.unless(test))
                return changed(expr, cond=test, then=then, other=other)
        new: Expr = map_children(expr, lambda child: self.decided(child, facts))
        if not isinstance(new, Binary) or not _is_question(new) or self.questions >= _MOST_QUESTIONS:
            return new
        self.questions += 1
        self.may_find_more = self.may_find_more or facts.hang_on_order
        if new.op in COMPARISONS:
            return _comparison(new, facts)
        if new.op in ("min", "max"):
            return _extreme(new, facts)
        if new.op in DIVISIONS:
            return _division(new, facts)
        return _without_mask(new, facts)


def _tells_as_much(new: For, old: For) -> bool:
    """Do the new bounds of a thread loop show that it has as few iterations? They tell how large a block must be."""
    if not old.kind.startswith("thread"):
        return True
    before, after = (most_trips(loop.lo, loop.hi, loop.step) for loop in (old, new))
    return before is None or (after is not None and after <= before)


@lru_cache(1 << 14)  # most expressions ask nothing, and stand at many places
def _asks(expr: Expr) -> bool:
    """Is there anything in it that facts may decide?"""
    return _is_question(expr) or any(map(_asks, children(expr)))


def _is_question(expr: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op in _QUESTIONS and expr.left.dtype.is_integer


def _comparison(expr: Binary, facts: Facts) -> Expr:
    holds = facts.decides(expr)
    return expr if holds is None or not is_total(expr, facts) else Const(holds, boolean)


def _extreme(expr: Binary, facts: Facts) -> Expr:
    """A min or max of no operand that another one never lets through."""
    operands = [*flattened(expr, expr.op)]
    if len(operands) > _MOST_OPERANDS:
        return expr
    kept = list(operands)
    for operand in reversed(operands):  # which is never the only one
        others = [other for other in kept if other is not operand]
        if any(_covers(expr.op, other, operand, facts) for other in others) and is_total(operand, facts):
            kept = others
    return expr if len(kept) == len(operands) else binary(expr.op, *kept)


def _covers(op: str, one: Expr, other: Expr, facts: Facts) -> bool:
    """Is op(one, other) always `one`?"""
    return facts.is_at_most(one, other) if op == "min" else facts.is_at_most(other, one)


def _without_mask(expr: Binary, facts: Facts) -> Expr:
    """x, of x & 7, if it is from 0 to 7."""
    match expr:
        case Binary("&", value, Const(int(mask))) if mask & (mask + 1) == 0 <= mask:
            low, high = facts.range(value)
            return value if low >= 0 and high <= mask else expr
    return expr


def _division(expr: Binary, facts: Facts) -> Expr:
    op, value, divisor = expr.op, expr.left, expr.right
    if not facts.is_positive(divisor):
        return expr
    floors = op.startswith("floor") or facts.is_nonnegative(value)
    wants_quotient = op.endswith("div")
    if is_total(expr, facts):
        if (number := _number(expr, floors, facts)) is not None:
            return Const(number, expr.dtype)
        if expr.dtype == i64 and (parts := _parts(value, divisor, facts)):
            quotient, rest = parts
            if floors or rest == Const(0):
                return quotient if wants_quotient else rest
    if not floors or expr.dtype.kind == "u":
        return expr
    is_shift = isinstance(divisor, Const) and int(divisor.value).bit_count() == 1
    cheaper = ("floor" if is_shift else "trunc") + op[5:]
    if cheaper == op or not (is_shift or facts.is_nonnegative(value)):
        return expr
    return replace(expr, op=cheaper)


def _number(expr: Binary, floors: bool, facts: Facts) -> int | None:
    """The value of a quotient or remainder that is always the same."""
    if not isinstance(expr.right, Const) or not floors:
        return None
    divisor, (low, high) = int(expr.right.value), facts.range(expr.left)
    if expr.op.endswith("div"):
        return low // divisor if low // divisor == high // divisor else None
    modulus, rest = facts.congruence(expr.left)
    return rest % divisor if modulus % divisor == 0 else None


def _parts(value: Expr, divisor: Expr, facts: Facts) -> tuple[Expr, Expr] | None:
    """q and r, such that value = q * divisor + r, 0 <= r < divisor, and neither takes more operations than `value`."""
    multiples: list[Term] = []
    others: list[Term] = []
    for minus, term in terms_of(value):
        over = _over(term, divisor)
        if over is None:
            others.append((minus, term))
        else:
            quotient, remainder = over
            multiples.append((minus, quotient))
            others += [(minus, remainder)] if remainder != Const(0) else []
    quotient, rest = (_sum(multiples), _sum(others)) if multiples else (Const(0), value)
    if not facts.is_nonnegative(rest) or not facts.decides(binary("<", rest, divisor)):
        return None
    if not multiples:
        return quotient, rest
    whole, by = facts.value(value), facts.value(divisor)
    times, more = facts.value(quotient), facts.value(rest)
    if whole is None or by is None or times is None or more is None or whole != times * by + more:
        return None  # something wraps
    return quotient, rest


def _over(term: Expr, divisor: Expr) -> tuple[Expr, Expr] | None:
    """Quotient and remainder of a term, where they show in the way it is written."""
    if isinstance(term, Const) and isinstance(divisor, Const):
        quotient, remainder = divmod(int(term.value), int(divisor.value))
        return Const(quotient), Const(remainder)
    factors = [*flattened(term, "*")]
    if isinstance(divisor, Const):
        for at, factor in enumerate(factors):
            if isinstance(factor, Const) and factor.value % divisor.value == 0:
                factors[at] = Const(factor.value // divisor.value)
                return mul(*factors), Const(0)
        return None
    for wanted in flattened(divisor, "*"):
        if wanted not in factors:
            return None
        factors.remove(wanted)
    return (mul(*factors) if factors else Const(1)), Const(0)


def _sum(terms: list[Term]) -> Expr:
    added, subtracted = ([term for minus, term in terms if minus is which] for which in (False, True))
    return simplify(binary("-", add(*added) if added else Const(0), *subtracted))
