"""polysched/ir/integers/polynomial.py"""

from __future__ import annotations

import random
from fractions import Fraction

from polysched.ir.integers.polynomial import Polynomial
from polysched.ir.interp import evaluate
from polysched.ir.text import show

i, m, n = (Polynomial.name(name) for name in "imn")


def test_equal_sums_are_equal_polynomials():
    assert (n + m) * (n - m) == n * n - m * m
    assert n - n == Polynomial()
    assert not n - n
    assert hash(n * m + 1) == hash(m * n + 1)
    assert n * Fraction(1, 4) * 4 == n


def test_its_expression():
    assert show((n * m * 2 - n + 3).expression()) == "2 * m * n + -1 * n + 3"
    assert show(Polynomial().expression()) == "0"


def test_a_name_is_split_off_and_replaced():
    value = n * i * i + i * 3 - m
    assert value.split("i") == (n * i + 3, -m)
    assert value.replaced("i", m + 1) == n * (m + 1) * (m + 1) + m * 3 + 3 - m


def test_what_is_never_positive_for_names_from_1():
    assert (m - n * m).is_nonpositive()
    assert (n - n * n).is_nonpositive()
    assert (Polynomial.number(2) - n - m).is_nonpositive()
    assert not (n - m).is_nonpositive()
    assert not (Polynomial.number(2) - n).is_nonpositive()


def test_arithmetic_is_that_of_numbers():
    rng = random.Random(0)
    for _ in range(100):
        values = {name: rng.randint(-5, 5) for name in "imn"}
        one, other = (_random(rng) for _ in range(2))
        a, b = (evaluate(value.expression(), values) for value in (one, other))
        assert evaluate((one * other - one).expression(), values) == a * b - a
        assert evaluate(one.replaced("i", other).expression(), values) == evaluate(one.expression(), {**values, "i": b})
        if one.is_nonpositive():
            assert evaluate(one.expression(), {name: abs(value) + 1 for name, value in values.items()}) <= 0


def _random(rng: random.Random) -> Polynomial:
    terms = (
        (tuple(sorted(rng.choices("imn", k=rng.randint(0, 2)))), rng.randint(-3, 2)) for _ in range(rng.randint(0, 4))
    )
    return Polynomial.of(terms)
