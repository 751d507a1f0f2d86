"""ir/integers/polynomial.py: sums of polynomials over loops, against sums of numbers."""

from __future__ import annotations

import random

import pytest

from polysched.ir.integers.polynomial import Polynomial, summed

i, n = Polynomial.name("i"), Polynomial.name("n")
ZERO = Polynomial()


def value(polynomial: Polynomial, **values: int) -> int:
    for name, number in values.items():
        polynomial = polynomial.replaced(name, Polynomial.number(number))
    assert not polynomial.names
    return polynomial.constant


def test_the_numbers_below_n():
    assert [value(summed(i, "i", ZERO, n), n=number) for number in range(6)] == [0, 0, 1, 3, 6, 10]


def test_what_does_not_change_is_multiplied():
    assert summed(n, "i", ZERO, n * n) == n * n * n


@pytest.mark.parametrize("seed", range(30))
def test_random_polynomials(seed):
    rng = random.Random(seed)
    polynomial = ZERO
    for power in range(rng.randrange(6)):
        term = Polynomial.number(rng.randrange(-5, 6))
        for _ in range(power):
            term = term * i
        polynomial += term * n if rng.random() < 0.5 else term
    lo, hi = rng.choice((ZERO, n - 3, Polynomial.number(-4))), n + rng.randrange(3)
    for size in range(4):
        numbers = range(value(lo, n=size), value(hi, n=size))
        expected = sum(value(polynomial, i=number, n=size) for number in numbers)
        assert value(summed(polynomial, "i", lo, hi), n=size) == expected
