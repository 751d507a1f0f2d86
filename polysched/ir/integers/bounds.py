"""Bounds of integer expressions, as polynomials in the sizes.

    for i in 8 * b..min(n, 8 * b + 8):          i - 8 * b is at most 7
        for j in 1..m:                          i * m + j is at most n * m - 1

Values are polynomials in the sizes and in what has a range: loop variables, numbers of blocks and threads, quotients,
minima. To bound one, what has a range is replaced by an end of it, innermost first, since the ends of inner ranges are
made of outer variables; which end, the sign of its factor says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from polysched.ir.integers.polynomial import Monomial, Number, Polynomial, polynomial_of
from polysched.ir.nodes import Binary, Const, Expr, For, Select, Var
from polysched.ir.text import show

Range = tuple[Expr, Expr]  # the least and the largest value


def range_of(loop: For) -> Range:
    """The values of the loop's variable in its body."""
    if loop.step > 0:
        return loop.lo, Binary("-", loop.hi, Const(1))
    return Binary("+", loop.hi, Const(1)), loop.lo


class Unbounded(Exception):
    """Some value has no bound that is known."""


@dataclass(frozen=True)
class End:
    """What a value does not pass: any of the `limits`, or not all of them."""

    limits: tuple[Polynomial, ...]
    passes_some: bool = False

    @property
    def names(self) -> set[str]:
        return {name for limit in self.limits for name in limit.names}


@dataclass(frozen=True)
class Ends:
    low: End
    high: End
    depth: int  # more than that of any name in them


_UNUSED = End((Polynomial(),))


@dataclass
class Bounds:
    """Computes bounds, and keeps what it has computed."""

    ranges: Mapping[str, Range]
    lets: Mapping[str, Expr]
    sizes: frozenset[str]  # 1 or more
    least: Mapping[str, int] = field(default_factory=dict)  # ... or what this says
    ends: dict[str, Ends] = field(default_factory=dict)  # of all that has a range in `polynomials`
    polynomials: dict[Expr, Polynomial] = field(default_factory=dict)
    counts: set[str] = field(default_factory=set)  # quotients that their ends, which do not round, leave below zero
    uppers: dict[Polynomial, list[Polynomial]] = field(default_factory=dict)
    steps: int = 6_000  # of replacing a variable, until it gives up

    # --- expressions as polynomials

    def polynomial(self, expr: Expr) -> Polynomial:
        """The value of an expression; Unbounded if something in it has no range."""
        if expr not in self.polynomials:
            self.polynomials[expr] = self.translated(expr)
        return self.polynomials[expr]

    def translated(self, expr: Expr) -> Polynomial:
        match expr:
            case Var(name) if name in self.sizes:
                return Polynomial.name(name)
            case Var(name) if name in self.lets:
                return self.polynomial(self.lets[name])
            case Var(name) if name in self.ranges:
                low, high = self.ranges[name]
                return self.between(name, End((self.polynomial(low),)), End((self.polynomial(high),)))
            case Binary("<<", left, Const(int(shift))) if 0 <= shift < 64:
                return self.polynomial(left) * (1 << shift)
            case Binary(">>", left, Const(int(shift))) if 0 <= shift < 64:
                return self.polynomial(Binary("floordiv", left, Const(1 << shift)))
            case Binary("min" | "max" as op, left, right):
                both = self.polynomial(left), self.polynomial(right)
                return self.between(show(expr), End(both, op == "min"), End(both, op == "max"))
            case Select(_, then, other):
                both = self.polynomial(then), self.polynomial(other)
                return self.between(show(expr), End(both, True), End(both, True))
            case Binary("floordiv" | "truncdiv" | "floormod" | "truncmod" | "&" as op, left, right):
                name, dividend = show(expr), self.polynomial(left)
                ends = self.divided(op, dividend, self.polynomial(right))  # of what is not divided by less than zero
                if op.endswith("div") and self.is_nonnegative(dividend):
                    self.counts.add(name)
                return self.between(name, *ends)
            case Binary("^" | "|", left, right):
                if self.is_count(left) and self.is_count(right):  # no bit of the result is in neither
                    most = self.polynomial(left) + self.polynomial(right)
                    return self.between(show(expr), End((Polynomial(),)), End((most,)))
        if (found := polynomial_of(expr, self.polynomial)) is None:
            raise Unbounded
        return found

    def is_count(self, expr: Expr) -> bool:
        """Is the expression never negative, by its form?"""
        match expr:
            case Var(name) if name in self.lets:
                return self.is_count(self.lets[name])
            case Binary("&", left, right):
                return self.is_count(left) or self.is_count(right)
            case Binary(">>", left, _):
                return self.is_count(left)
            case Binary("floordiv" | "truncdiv", left, Const(int(divisor))):
                return divisor > 0 and self.is_count(left)
            case Binary("floormod", _, Const(int(divisor))):
                return divisor > 0
            case Binary("+" | "*" | "^" | "|", left, right):
                return self.is_count(left) and self.is_count(right)
        return self.is_nonnegative(self.polynomial(expr))

    def divided(self, op: str, value: Polynomial, divisor: Polynomial) -> tuple[End, End]:
        """The ends of a quotient or a remainder. A divisor that is not negative is positive: division by zero traps."""
        zero = Polynomial()
        if not divisor or not self.is_nonnegative(divisor):
            raise Unbounded
        if op == "&":  # of bits that no negative number limits
            return End((zero,)), End((divisor,))
        floors = op.startswith("floor") or self.is_nonnegative(value)
        if op.endswith("mod"):
            return End((zero if floors else -(divisor - 1),)), End((divisor - 1,))
        if divisor.degree > 0:
            most = self.quotients(value, divisor)
            high = End(most if floors else (*most, zero), True) if most else End((value, zero), True)
            return End((value, zero), True), high
        exact, slack = value * Fraction(1, divisor.constant), 1 - Fraction(1, divisor.constant)
        return End((exact - slack,)), End((exact if floors else exact + slack,))

    def quotients(self, value: Polynomial, divisor: Polynomial) -> tuple[Polynomial, ...]:
        """Polynomials the largest of which value / divisor does not exceed, rounded down; none if not known."""
        found = []
        for bound in self.upper(value):
            quotient, rest = bound.divided(divisor)
            if any(factor % 1 for _, factor in quotient):
                return ()
            if self.is_nonnegative(-rest - 1):
                found.append(quotient - 1)
            elif self.is_nonnegative(divisor - rest - 1):
                found.append(quotient)
            else:
                return ()
        return tuple(found)

    def between(self, name: str, low: End, high: End) -> Polynomial:
        """A name for what has these ends."""
        if name not in self.ends:
            self.ends[name] = Ends(low, high, self.depth({name for end in (low, high) for name in end.names}))
        return Polynomial.name(name)

    def depth(self, inside: Set[str]) -> int:
        """That of what has these names in its ends."""
        return 1 + max((self.ends[name].depth for name in inside if name in self.ends), default=0)

    # --- bounds of polynomials

    def largest_numbers(self) -> dict[str, Number]:
        """The largest values of names that are never above one number."""
        limits = {name: ends.high.limits for name, ends in self.ends.items()}
        return {name: each[0].constant for name, each in limits.items() if len(each) == 1 and each[0].degree == 0}

    def upper(self, value: Polynomial) -> list[Polynomial]:
        """Polynomials in the sizes, the largest of which `value` does not exceed."""
        found = self.uppers.get(value)
        if found is None:
            if self.steps == 0:
                raise Unbounded
            self.steps -= 1
            found = self.uppers[value] = self.without_ranges(value)
        return found

    def without_ranges(self, value: Polynomial) -> list[Polynomial]:
        ranged = [name for name in value.names if name in self.ends]
        if not ranged:
            return [value]
        name = max(ranged, key=lambda name: (self.ends[name].depth, name))
        factor, rest = value.split(name)  # value = factor * name + rest
        if name in factor.names:  # powers of the name: none falls as it rises, if it is never negative
            self.require_nonnegative({name, *factor.names})
            rising, falling = factor.rising, Polynomial()
        elif self.is_nonnegative(factor):
            rising, falling = factor, Polynomial()
        elif self.is_nonnegative(-factor):
            rising, falling = Polynomial(), factor
        else:
            self.require_nonnegative(factor.names)
            rising, falling = factor.rising, -(-factor).rising
        ends = self.ends[name]
        return self.chosen(
            ends.high if rising else _UNUSED,
            lambda most: self.chosen(
                ends.low if falling else _UNUSED,
                lambda least: self.upper(rest + rising.replaced(name, most) * most + falling * least),
            ),
        )

    def chosen(self, end: End, upper: Callable[[Polynomial], list[Polynomial]]) -> list[Polynomial]:
        """The upper bounds with a limit of this end: with all of them, or with the one that asks least of the sizes."""
        if end.passes_some:
            return [bound for limit in end.limits for bound in upper(limit)]
        results = []
        for limit in end.limits:
            try:
                results.append(upper(limit))
            except Unbounded:
                continue
            if len(end.limits) > 1 and self.is_best(results[-1]):
                return results[-1]
        if not results:
            raise Unbounded
        return min(results, key=self.demand) if len(results) > 1 else results[0]

    def is_best(self, result: list[Polynomial]) -> bool:
        """Are these upper bounds as good as any?"""
        return False

    def demand(self, result: list[Polynomial]) -> Any:
        """More for upper bounds that are worse."""
        return max(map(strength, result)), len(result)

    def is_nonnegative(self, value: Polynomial) -> bool:
        """Is the value certain not to be below zero?"""
        if value.degree == 0:
            return value.constant >= 0
        try:
            return all(bound.is_nonpositive(self.least) for bound in self.upper(-value))
        except Unbounded:
            return False

    def is_sum_of_counts(self, value: Polynomial) -> bool:
        """Is no term of it below zero?"""
        names = (Polynomial.name(name) for name in value.names - self.sizes - self.counts)
        return all(factor > 0 for _, factor in value) and all(map(self.is_nonnegative, names))

    def require_nonnegative(self, names: Iterable[str]) -> None:
        if not all(self.is_nonnegative(Polynomial.name(name)) for name in names):
            raise Unbounded


def strength(bound: Polynomial) -> tuple[int, int, Number, tuple[tuple[Monomial, Number], ...]]:
    """More for a condition that fewer sizes meet, as far as one can tell: that the polynomial is no more than some."""
    rising = bound.rising
    return rising.degree, len(rising.terms), sum(factor for _, factor in rising), rising.terms
