"""polysched/codegen/emit/launch/widths.py: kernels that differ in names alone have the same conditions."""

from __future__ import annotations

import random

import pytest

from polysched.codegen.emit.launch.widths import conditions, shape_of
from polysched.ir.build import add, const, floordiv, load, mul, sub, var
from polysched.ir.dtypes import i64
from polysched.ir.node import substitute
from polysched.ir.nodes import Array, Cast, Select, Var

i, j, k, m, n = (var(name) for name in "ijkmn")
A = Array("A", i64, (n,))
ROWS, COLUMNS = (const(0), sub(n, 1)), (const(1), sub(m, 1))
RANGES = {"i": ROWS, "j": COLUMNS, "k": ROWS, "l": COLUMNS}


def shape(*exprs, ranges=RANGES, lets=None):
    return shape_of(exprs, ranges, lets or {})


def test_names_that_have_the_same_ends_stand_for_each_other():
    assert shape(add(mul(i, m), j)) == shape(add(mul(k, m), var("l")))


@pytest.mark.parametrize(
    "one, other",
    [
        (add(mul(i, m), j), add(mul(j, m), i)),
        (add(i, k), add(i, i)),
        (add(i, 1), add(i, 2)),
        (add(i, n), add(i, m)),
        (sub(i, k), sub(k, add(i, 0))),
        (floordiv(i, 4), mul(i, 4)),
        (i, n),
        (add(i, load(A, i)), add(i, load(A, k))),
        (Cast(i, i64), i),
        (Select(const(True), i, k), Select(const(True), k, k)),
    ],
    ids=str,
)
def test_what_else_differs_shows(one, other):
    assert shape(one) != shape(other)


def test_a_name_with_a_value_is_not_one_with_ends():
    t = {"t": add(i, 1)}
    assert shape(var("t"), lets=t) != shape(var("t"), ranges=RANGES | {"t": (i, const(1))})
    assert shape(var("t"), lets=t) != shape(var("t"), lets={"t": add(i, 2)})
    assert shape(var("t"), lets=t) == shape(var("u"), lets={"u": add(k, 1)})


def _random_expr(rng, depth=0):
    if depth > 3 or rng.random() < 0.3:
        return rng.choice([i, j, m, n, const(rng.randrange(9))])
    left, right = _random_expr(rng, depth + 1), _random_expr(rng, depth + 1)
    return rng.choice([add, sub, mul])(left, right)


@pytest.mark.parametrize("seed", range(30))
def test_random_expressions_of_one_shape_have_the_same_conditions(seed):
    rng = random.Random(seed)
    exprs = [_random_expr(rng) for _ in range(3)]
    renamed = [substitute(expr, {"i": k, "j": Var("l")}) for expr in exprs]
    assert shape(*exprs) == shape(*renamed)
    assert conditions(exprs, RANGES, {}, "nm") == conditions(renamed, RANGES, {}, "nm")
