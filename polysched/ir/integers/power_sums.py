"""Sums of polynomials over the iterations of a loop.

    summed(i, "i", 0, n)    ->    n * n / 2 - n / 2

Loops whose bounds depend on each other are summed from the inside out.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from math import comb

from polysched.ir.integers.polynomial import Polynomial


def summed(polynomial: Polynomial, name: str, lo: Polynomial, hi: Polynomial) -> Polynomial:
    """The sum of the polynomial over name = lo .. hi - 1, where hi is not less than lo; the ends do not hold the name.

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
