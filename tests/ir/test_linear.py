"""polysched/ir/integers/linear.py: integer expressions as sums of multiples."""

from __future__ import annotations

import random

import pytest

from polysched.ir.build import add, binary, const, floordiv, mul, sub, var
from polysched.ir.integers.linear import added, expression, forms
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Expr, Unary

i, j, n = var("i"), var("j"), var("n")


def test_a_minimum_has_two_forms_that_it_does_not_exceed():
    assert forms(binary("min", n, add(mul(2, i), 3)), upper=True) == [{n: 1}, {i: 2, None: 3}]


def test_a_bound_on_the_other_side_takes_the_minimum_as_it_is():
    least = binary("min", n, i)
    assert forms(add(least, 1), upper=False) == [{least: 1, None: 1}]


def test_what_is_subtracted_is_bounded_on_the_other_side():
    assert forms(sub(n, binary("max", i, j)), upper=True) == [{n: 1, i: -1}, {n: 1, j: -1}]
    assert forms(Unary("-", binary("min", i, j)), upper=False) == [{i: -1}, {j: -1}]
    assert forms(mul(-2, binary("max", i, 3)), upper=True) == [{i: -2}, {None: -6}]


def test_what_is_not_linear_stays_whole():
    half, square = floordiv(i, 2), mul(i, i)
    assert forms(add(half, half, square, 1), upper=True) == [{half: 2, square: 1, None: 1}]


def test_a_sum_of_many_minima_stays_whole():
    """It would have 2^40 forms."""
    minima = [binary("min", n, add(i, k)) for k in range(40)]
    assert len(forms(add(*minima[:6]), upper=True)) == 64
    (form,) = forms(add(*minima[:7]), upper=True)
    assert form == {add(*minima[:7]): 1}
    assert len(forms(add(*minima), upper=True)) <= 64


def test_the_constant_comes_last_and_factors_of_zero_are_left_out():
    assert expression({None: 3, i: 2, j: 1, n: 0}) == add(mul(i, 2), j, 3)
    assert expression({i: 1, None: 0}) == i
    assert expression({i: 0}) == expression({}) == const(0)


def test_a_sum_keeps_the_terms_of_both():
    assert added({i: 1, None: 2}, {i: 1, j: 4, None: 1}, -1) == {i: 0, j: -4, None: 1}


@pytest.mark.parametrize("seed", range(100))
def test_random_expressions_are_the_tightest_of_their_forms(seed):
    """`min` alone among upper bounds, and `max` alone among lower ones, are taken apart exactly."""
    rng = random.Random(seed)
    for upper, op in ((True, "min"), (False, "max")):
        expr = _random(rng, op, 4)
        tightest = min if upper else max
        for _ in range(5):
            values = {name: rng.randint(-9, 9) for name in "ijn"}
            found = [evaluate(expression(form), values) for form in forms(expr, upper)]
            assert tightest(found) == evaluate(expr, values)


def _random(rng: random.Random, op: str, depth: int) -> Expr:
    """An expression in which `op` bounds it from one side, and its opposite from the other."""
    if depth == 0:
        return rng.choice((i, j, n, const(rng.randint(-3, 3)), floordiv(i, 2)))
    opposite = {"min": "max", "max": "min"}[op]
    match rng.randrange(5):
        case 0:
            return add(_random(rng, op, depth - 1), _random(rng, op, depth - 1))
        case 1:
            return sub(_random(rng, op, depth - 1), _random(rng, opposite, depth - 1))
        case 2:
            return binary(op, _random(rng, op, depth - 1), _random(rng, op, depth - 1))
        case 3:
            factor = rng.choice((-2, -1, 0, 2))
            return mul(factor, _random(rng, op if factor >= 0 else opposite, depth - 1))
        case _:
            return Unary("-", _random(rng, opposite, depth - 1))
