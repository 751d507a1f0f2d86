"""Polynomials in names, with rational factors.

    Polynomial.name("n") * Polynomial.name("n") - 1          ->          n * n - 1
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb, prod
from types import MappingProxyType

from polysched.ir.arithmetic import UNBOUNDED
from polysched.ir.build import add, mul
from polysched.ir.nodes import Binary, Const, Expr, Unary, Var

Monomial = tuple[str, ...]  # names, sorted, each as often as it is multiplied; () is that of the constant
Number = int | Fraction


@dataclass(frozen=True)
class Polynomial:
    """A sum of multiples of products of names; equal ones have the same terms in the same order."""

    terms: tuple[tuple[Monomial, Number], ...] = ()  # no factor is zero

    @staticmethod
    def name(name: str) -> Polynomial:
        return Polynomial((((name,), 1),))

    @staticmethod
    def number(number: Number) -> Polynomial:
        return Polynomial((((), number),)) if number else Polynomial()

    @staticmethod
    def of(terms: Iterable[tuple[Monomial, Number]]) -> Polynomial:
        """The sum of these terms, the highest degree first."""
        factors: dict[Monomial, Number] = {}
        for monomial, factor in terms:
            factors[monomial] = factors.get(monomial, 0) + factor
        found = [(monomial, _whole(factor)) for monomial, factor in factors.items() if factor]
        if len(found) > 1:
            found.sort(key=_place)
        return Polynomial(tuple(found))

    def __iter__(self) -> Iterator[tuple[Monomial, Number]]:
        return iter(self.terms)

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __add__(self, other: Polynomial | Number) -> Polynomial:
        others = _lifted(other).terms
        return Polynomial.of((*self.terms, *others)) if self.terms and others else Polynomial(self.terms or others)

    def __neg__(self) -> Polynomial:
        return Polynomial(tuple((monomial, -factor) for monomial, factor in self.terms))

    def __sub__(self, other: Polynomial | Number) -> Polynomial:
        return self + -_lifted(other)

    def __mul__(self, other: Polynomial | Number) -> Polynomial:
        others = _lifted(other).terms
        if not (self.terms and others):
            return Polynomial()
        if len(others) == 1 and not others[0][0]:
            number = others[0][1]
            times = ((monomial, _whole(by * number)) for monomial, by in self.terms)
            return self if number == 1 else Polynomial(tuple(times))
        return Polynomial.of((_product(left, right), a * b) for left, a in self.terms for right, b in others)

    @property
    def names(self) -> set[str]:
        return {name for monomial, _ in self.terms for name in monomial}

    @property
    def degree(self) -> int:
        return len(self.terms[0][0]) if self.terms else 0

    @property
    def constant(self) -> Number:
        return self.terms[-1][1] if self.terms and not self.terms[-1][0] else 0

    @property
    def rising(self) -> Polynomial:
        """The terms of positive factors."""
        return Polynomial(tuple((monomial, factor) for monomial, factor in self.terms if factor > 0))

    def split(self, name: str) -> tuple[Polynomial, Polynomial]:
        """What times the name, and what plus that, it is; the name may still be in the first."""
        times, plus = [], []  # whose terms stay in order
        for monomial, factor in self.terms:
            if name in monomial:
                times.append((_quotient(monomial, name), factor))
            else:
                plus.append((monomial, factor))
        return Polynomial(tuple(times)), Polynomial(tuple(plus))

    def divided(self, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Quotient and rest, in which no term is a multiple of the divisor's first one, of the highest degree."""
        first, by = divisor.terms[0]
        quotient, rest = Polynomial(), self
        while found := next((term for term in rest if not Counter(first) - Counter(term[0])), None):
            times = Polynomial((((*(Counter(found[0]) - Counter(first)).elements(),), ratio(found[1], by)),))
            quotient, rest = quotient + times, rest - divisor * times
        return quotient, rest

    def replaced(self, name: str, value: Polynomial) -> Polynomial:
        """With the value in place of the name."""
        factor, rest = self.split(name)
        return factor.replaced(name, value) * value + rest if factor else self

    def with_numbers(self, values: Mapping[str, Number]) -> Polynomial:
        """With these numbers in place of the names."""
        left = (tuple(name for name in monomial if name not in values) for monomial, _ in self.terms)
        factors = (factor * prod(values.get(name, 1) for name in monomial) for monomial, factor in self.terms)
        return Polynomial.of(zip(left, factors, strict=True))

    def is_nonpositive(self, least: Mapping[str, int] = MappingProxyType({})) -> bool:
        """Is it certain to be zero or less where all names are 1 or more, or `least`, which is not negative?"""
        if all(factor <= 0 for _, factor in self.terms):
            return True
        if self.terms[0][1] > 0 and self.terms[0][0]:  # of the highest degree: no other adds to it
            return False
        above = Polynomial()  # in what each name has above its least value
        for monomial, factor in self.terms:
            term = Polynomial.number(factor)
            for name in monomial:
                term = term * (Polynomial.name(name) + least.get(name, 1))
            above += term
        return all(factor <= 0 for _, factor in above.terms)

    def expression(self) -> Expr:
        """The same in the loop IR; its factors must be integers."""
        terms = (
            mul(*map(Var, monomial)) if factor == 1 and monomial else mul(int(factor), *map(Var, monomial))
            for monomial, factor in self.terms
        )
        return add(*terms) if self.terms else add(0)


def polynomial_of(expr: Expr, inner: Callable[[Expr], Polynomial | None]) -> Polynomial | None:
    """The value of a number, a negation, a sum, a difference or a product, if `inner` are those of its operands; None
    where one of these is, and for other expressions."""
    match expr:
        case Const(int(value)):
            return Polynomial.number(value)
        case Unary("-", arg):
            return None if (found := inner(arg)) is None else -found
        case Binary("+" | "-" | "*" as op, left, right):
            one, other = inner(left), inner(right)
            return None if one is None or other is None else UNBOUNDED[op](one, other)
    return None


def _lifted(value: Polynomial | Number) -> Polynomial:
    return value if isinstance(value, Polynomial) else Polynomial.number(value)


def ratio(above: Number, below: Number) -> Number:
    """The quotient, as an int if it is one."""
    return _whole(Fraction(above, below))


def _place(term: tuple[Monomial, Number]) -> tuple[int, Monomial]:
    """Where it stands in a polynomial: the highest degree first."""
    return -len(term[0]), term[0]


def _whole(number: Number) -> Number:
    """As an int, if it is one: fractions are slow."""
    return number if type(number) is int or number.denominator != 1 else number.numerator


def _product(left: Monomial, right: Monomial) -> Monomial:
    return tuple(sorted((*left, *right))) if left and right else left or right


def _quotient(monomial: Monomial, name: str) -> Monomial:
    at = monomial.index(name)
    return monomial[:at] + monomial[at + 1 :]


# --- sums over the iterations of a loop


def summed(polynomial: Polynomial, name: str, lo: Polynomial, hi: Polynomial) -> Polynomial:
    """The sum of the polynomial over name = lo .. hi - 1, where hi is not less than lo; the ends do not hold the name.

    That of i from 0 to n - 1 is n * n / 2 - n / 2; loops that depend on each other are summed from the inside out.

    Faulhaber's formula: the sum of k ** p for k below x is a polynomial in x of degree p + 1.
    """
    total = Polynomial()
    for power, factor in _by_power(polynomial, name):
        total += factor * (_below(power, hi) - _below(power, lo))
    return total


def _by_power(polynomial: Polynomial, name: str) -> Iterator[tuple[int, Polynomial]]:
    """Factors of 1, name, name ** 2, ..."""
    power = 0
    while polynomial:
        polynomial, factor = polynomial.split(name)
        yield power, factor
        power += 1


def _below(power: int, end: Polynomial) -> Polynomial:
    """The sum of k ** power for k = 0 .. end - 1."""
    total = Polynomial()
    for j in range(power + 1):
        term = Polynomial.number(Fraction(comb(power + 1, j), power + 1) * _bernoulli(j))
        for _ in range(power + 1 - j):
            term = term * end
        total += term
    return total


@cache
def _bernoulli(j: int) -> Fraction:
    """Bernoulli's number j, the one of index 1 negative."""
    return Fraction(j == 0) - sum((comb(j, k) * _bernoulli(k) / (j - k + 1) for k in range(j)), Fraction())
