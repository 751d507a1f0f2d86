"""Bounds of index arithmetic that wraps, and what loops and conditions add to them.

    i of 0..n, supposing i < n - j      ->      j < n, n > 0, and i + j is at most n - 1

A sum or product is the polynomial that algebra says it is where its bounds, or the numbers that it lies between, show
that it does not leave its type. Where they do not, and for all that is no polynomial, it is a name with a range of its
own. Only what may have another value later, since it loads or calls, is nothing at all.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor, gcd, lcm
from typing import Any

from polysched.ir.dtypes import i64
from polysched.ir.effects import may_change
from polysched.ir.integers.bounds import Bounds, End, Ends, Unbounded
from polysched.ir.integers.congruence import ANY, Congruence, congruence, stepped, wrapped
from polysched.ir.integers.examples import Examples
from polysched.ir.integers.intervals import Interval, holds, interval, whole
from polysched.ir.integers.polynomial import Monomial, Number, Polynomial, ratio
from polysched.ir.node import flattened
from polysched.ir.nodes import COMPARISONS, MIRRORED, OPPOSITE, Binary, Expr, For, Let, Unary, Var
from polysched.ir.text import show

LARGEST = (1 << 63) - 1

_MOST_STEPS = 28  # for one answer
_MOST_LIMITS = 4  # of one end of one name
_MOST_CONSEQUENCES = 12  # of one condition


@dataclass
class Knowledge(Bounds):
    """All that is known at one place in a function."""

    largest: int = LARGEST  # that a size is, or a product of `extents`
    extents: tuple[Polynomial, ...] = ()
    numbers: dict[str, Interval] = field(default_factory=dict)  # that names lie between
    intervals: dict[Expr, Interval] = field(default_factory=dict)  # what follows from `numbers`
    congruences: dict[str, Congruence] = field(default_factory=dict)  # of names
    conditions: dict[Expr, bool] = field(default_factory=dict)  # that hold, and that do not
    opaque: set[str] = field(default_factory=set)  # texts of what may wrap
    examples: Examples = field(default_factory=lambda: Examples.of(()))

    def copy(self) -> Knowledge:
        """What is learned there is not known here: the tables that are changed in place are its own."""
        changed = ("ends", "polynomials", "counts", "uppers", "numbers", "congruences", "conditions", "opaque")
        return replace(self, steps=Bounds.steps, **{name: copy(getattr(self, name)) for name in changed})

    # --- learning

    def enter(self, loop: For) -> None:
        """In the body of the loop, which runs for one value at least."""
        least, most = (loop.lo, loop.hi) if loop.step > 0 else (loop.hi, loop.lo)
        self.examples = self.examples.inside(loop)
        above, below = (0, 1) if loop.step > 0 else (1, 0)  # by how much the variable stays away from its ends
        numbers = self.interval(least)[0] + above, self.interval(most)[1] - below
        low, high = self.known(least), self.known(most)
        self.limit(loop.var, numbers)
        self.congruences[loop.var] = stepped(self.congruence(loop.lo), loop.step)
        if low is not None and high is not None:
            self.suppose_nonnegative(high - low - 1)
        if self.interval(least)[0] >= 0:
            self.suppose_positive(most)
        first = Polynomial.number(numbers[0]) if low is None else low + above
        last = Polynomial.number(numbers[1]) if high is None else high - below
        lows = (first, Polynomial()) if first.degree > 0 and numbers[0] >= 0 else (first,)
        self.between(loop.var, End(lows), End((last,)))

    def bind(self, let: Let) -> None:
        """After the Let."""
        self.examples = self.examples.after(let)
        if let.value.dtype.is_integer:
            self.limit(let.name, self.interval(let.value))
            self.congruences[let.name] = self.congruence(let.value)
            if not may_change(let.value):
                self.lets = {**self.lets, let.name: let.value}

    def suppose(self, cond: Expr, holds: bool) -> None:
        """Where `cond` holds, or where it does not."""
        self.examples = self.examples.where(cond, holds)
        match cond:
            case Unary("!", arg):
                self.suppose(arg, not holds)
            case Binary("&&" | "||" as op, left, right) if holds is (op == "&&"):
                self.suppose(left, holds)
                self.suppose(right, holds)
            case Binary(op, left, right) if op in COMPARISONS and left.dtype.is_integer:
                if not may_change(cond):
                    self.conditions[cond] = holds
                    self.conditions[Binary(OPPOSITE[op], left, right)] = not holds
                self.suppose_related(op if holds else OPPOSITE[op], left, right)
            case _ if not may_change(cond):
                self.conditions[cond] = holds

    def suppose_related(self, op: str, left: Expr, right: Expr) -> None:
        """Where the comparison of integers holds."""
        first, second = self.interval(left), self.interval(right)
        if isinstance(left, Var):
            self.limit(left.name, _narrowed(op, first, second))
        if isinstance(right, Var):
            self.limit(right.name, _narrowed(MIRRORED[op], second, first))
        one, other = self.known(left), self.known(right)
        if one is None or other is None:
            return
        difference = other - one
        match op:
            case "<" | "<=":
                self.suppose_nonnegative(difference - (op == "<"))
            case ">" | ">=":
                self.suppose_nonnegative(-difference - (op == ">"))
            case "==":
                self.suppose_nonnegative(difference)
                self.suppose_nonnegative(-difference)
            case "!=" if self.proves(difference):
                self.suppose_nonnegative(difference - 1)
            case "!=" if self.proves(-difference):
                self.suppose_nonnegative(-difference - 1)

    def suppose_nonnegative(self, value: Polynomial) -> None:
        """Where this is so, its innermost name has one more limit; what follows for the others is found by elimination
        (Fourier and Motzkin)."""
        values = [value]
        for value in values:  # which grow
            ranged = [name for name in value.names if name in self.ends]
            if not ranged:
                self.raise_least(value)
                continue
            name = max(ranged, key=lambda name: self.ends[name].depth)
            factor, rest = value.split(name)
            if factor.degree > 0:
                continue
            by, ends = factor.constant, self.ends[name]
            limit = rest * ratio(-1, by)
            low, high = (_limited(ends.low, limit), ends.high) if by > 0 else (ends.low, _limited(ends.high, limit))
            if (low, high) == (ends.low, ends.high):
                continue
            self.ends[name], self.uppers = Ends(low, high, ends.depth), {}
            if limit.degree == 0 and name in self.numbers:
                least, most = self.numbers[name]
                nearest = ceil(limit.constant) if by > 0 else floor(limit.constant)
                self.limit(name, (max(least, nearest), most) if by > 0 else (least, min(most, nearest)))
            other = ends.high if by > 0 else ends.low
            if not other.passes_some and len(values) < _MOST_CONSEQUENCES:
                values += [rest + most * by for most in other.limits]

    def suppose_positive(self, expr: Expr) -> None:
        """Where this is so: a product has no factor of zero then, even one that wraps."""
        if (found := self.known(expr)) is not None:
            self.suppose_nonnegative(found - 1)
        factors = [*flattened(expr, "*")]
        for factor in factors if len(factors) > 1 else ():
            if self.is_at_least(factor, 0):
                self.suppose_positive(factor)

    def raise_least(self, value: Polynomial) -> None:
        """Where this polynomial in the sizes is not negative."""
        rising = [(monomial, factor) for monomial, factor in value.rising if monomial]
        if value.constant >= 0 or not rising:
            return
        for name in set.intersection(*(set(monomial) for monomial, _ in rising)):
            least: int = (
                ceil(ratio(-value.constant, rising[0][1])) if [name] == [*rising[0][0]] == [*value.names] else 1
            )
            self.least = {**self.least, name: max(self.least[name], least)}
            low, high = self.numbers[name]
            self.limit(name, (max(low, least), high))
            self.uppers = {}

    def limit(self, name: str, numbers: Interval) -> None:
        """From here on, the name lies between these."""
        self.numbers[name], self.intervals = numbers, {}

    # --- values

    def known(self, expr: Expr) -> Polynomial | None:
        """The value of an i64 expression; None if it may change."""
        if expr in self.polynomials:
            return self.polynomials[expr]
        return self.polynomial(expr) if expr.dtype == i64 and not may_change(expr) else None

    def translated(self, expr: Expr) -> Polynomial:
        if isinstance(expr, Var):
            if expr.name in self.sizes:
                return Polynomial.name(expr.name)
            return self.polynomial(self.lets[expr.name]) if expr.name in self.lets else self.ranged(expr.name, expr)
        try:
            found = super().translated(expr)
        except Unbounded:
            return self.ranged(show(expr), expr)
        match expr:
            case Unary("-") | Binary("+" | "-" | "*" | "<<"):
                if not holds(i64, interval(expr, self.interval)) and not self.fits(found):
                    self.opaque.add(show(expr))
                    return self.ranged(show(expr), expr)
        return found

    def is_count(self, expr: Expr) -> bool:
        """... A sum or product that may wrap is none by its form."""
        match expr:
            case Binary("+" | "*"):
                value = self.polynomial(expr)
                return self.is_nonnegative(value) if show(expr) in self.opaque else super().is_count(expr)
        return super().is_count(expr)

    def ranged(self, name: str, expr: Expr) -> Polynomial:
        """A name for the expression, which is known by numbers alone."""
        least, most = self.interval(expr)
        return self.between(name, End((Polynomial.number(least),)), End((Polynomial.number(most),)))

    def depth(self, inside: object) -> int:
        return len(self.ends)  # conditions give names more limits, made of all names before

    def is_best(self, result: list[Polynomial]) -> bool:
        return all(bound.is_nonpositive(self.least) for bound in result)

    def demand(self, result: list[Polynomial]) -> Any:
        """More for bounds that may be larger."""
        return max(map(self.most, result)), *super().demand(result)

    def fits(self, value: Polynomial) -> bool:
        """Is it certain to be one of i64?"""
        self.steps = _MOST_STEPS if self.examples.count else 8
        try:
            return all(self.most(bound) <= LARGEST for side in (value, -value) for bound in self.upper(side))
        except Unbounded:
            return False

    def most(self, bound: Polynomial) -> Number:
        """The most that a polynomial in the sizes may be."""
        return bound.constant + sum(factor * self.most_of(monomial) for monomial, factor in bound.rising if monomial)

    def most_of(self, monomial: Monomial) -> int:
        found = 1
        for name in monomial:
            found *= self.numbers[name][1]
        if found > self.largest:
            value = Polynomial(((monomial, 1),))
            if any((value - extent).is_nonpositive(self.least) for extent in self.extents):
                return self.largest
        return found

    def interval(self, expr: Expr) -> Interval:
        """Numbers that the value of an integer lies between."""
        if isinstance(expr, Var):
            return self.numbers.get(expr.name) or whole(expr.dtype)
        if expr not in self.intervals:
            found = interval(expr, self.interval)
            self.intervals[expr] = found if holds(expr.dtype, found) else whole(expr.dtype)
        return self.intervals[expr]

    def congruence(self, expr: Expr) -> Congruence:
        """What the value of an integer leaves as remainder."""
        if isinstance(expr, Var):
            return self.congruences.get(expr.name, ANY)
        found = congruence(expr, self.congruence)
        return found if holds(expr.dtype, interval(expr, self.interval)) else wrapped(found, expr.dtype.bits)

    # --- questions

    def proves(self, value: Polynomial) -> bool:
        """Is the value, which is an integer, certain not to be negative?"""
        self.steps = _MOST_STEPS if self.examples.count else 8
        try:
            return all(_below_one(bound).is_nonpositive(self.least) for bound in self.upper(-value))
        except Unbounded:
            return False

    def is_at_least(self, expr: Expr, number: int) -> bool:
        """Is this integer certain to be `number` or more?"""
        if self.interval(expr)[0] >= number:
            return True
        if any(found is not None and found < number for found in self.examples.values(expr)):
            return False
        known = self.known(expr)
        return known is not None and self.proves(known - number)

    def exceeds(self, more: Expr, less: Expr, by: int) -> bool:
        """Is it certain, of integers, that more >= less + by?"""
        (low, high), (least, most) = self.interval(more), self.interval(less)
        if low >= most + by or high < least + by:
            return low >= most + by
        examples = zip(self.examples.values(more), self.examples.values(less), strict=True)
        if any(above is not None and below is not None and above < below + by for above, below in examples):
            return False
        one, other = self.known(more), self.known(less)
        return one is not None and other is not None and self.proves(one - other - by)

    def decides(self, op: str, left: Expr, right: Expr) -> bool | None:
        """Whether the comparison of integers holds."""
        if (given := self.conditions.get(Binary(op, left, right))) is not None:
            return given
        match op:
            case ">":
                return self.decides("<", right, left)
            case "<" if self.exceeds(right, left, 1):
                return True
            case "<" if self.exceeds(left, right, 0):
                return False
            case "==" if self.exceeds(right, left, 1) or self.exceeds(left, right, 1) or self.are_apart(left, right):
                return False
            case "==" if self.congruence(left) == self.congruence(right) and self.congruence(left)[0] == 0:
                return True
            case "==" if self.exceeds(right, left, 0) and self.exceeds(left, right, 0):
                return True
            case "!=" | ">=":
                return opposite(self.decides(OPPOSITE[op], left, right))
            case "<=":
                return opposite(self.decides("<", right, left))
        return None

    def are_apart(self, left: Expr, right: Expr) -> bool:
        """Do they differ by what they leave as remainder?"""
        (modulus, rest), (other, another) = self.congruence(left), self.congruence(right)
        common = gcd(modulus, other)
        return common > 0 and (rest - another) % common != 0


def opposite(decided: bool | None) -> bool | None:
    return None if decided is None else not decided


def _narrowed(op: str, one: Interval, other: Interval) -> Interval:
    """What remains of the first where it compares so to something of the second."""
    (low, high), (least, most) = one, other
    match op:
        case "<" | "<=":
            return low, min(high, most - (op == "<"))
        case ">" | ">=":
            return max(low, least + (op == ">")), high
        case "==":
            return max(low, least), min(high, most)
        case "!=" if least == most:
            return low + (low == least), high - (high == least)
    return one


def _limited(end: End, limit: Polynomial) -> End:
    if end.passes_some or limit in end.limits or len(end.limits) >= _MOST_LIMITS:
        return end
    return End((limit, *end.limits))


def _below_one(bound: Polynomial) -> Polynomial:
    """What is zero or less where the bound is below one, whatever integers the sizes are."""
    unit = lcm(*(Fraction(factor).denominator for _, factor in bound))
    return bound - (1 - Fraction(1, unit)) if unit > 1 else bound
