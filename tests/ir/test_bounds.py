"""polysched/ir/integers/bounds.py: bounds as polynomials in the sizes."""

from __future__ import annotations

import itertools
import random

import pytest

from polysched.ir.build import add, binary, floordiv, floormod, load, mul, sub, var
from polysched.ir.dtypes import i64
from polysched.ir.integers.bounds import Bounds, Unbounded, range_of
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Array, Expr, For
from polysched.ir.text import show
from tests.nests import loop

b, i, j, m, n, t = (var(name) for name in "bijmnt")


def bounds(*loops: For, **least: int) -> Bounds:
    return Bounds({each.var: range_of(each) for each in loops}, {}, frozenset("nm"), least)


def most(expr: Expr, *loops: For) -> list[str]:
    found = bounds(*loops)
    return [show(bound.expression()) for bound in found.upper(found.polynomial(expr))]


def test_what_inner_ranges_have_of_outer_variables_cancels():
    blocks = loop("b", 0, floordiv(add(n, 7), 8))
    points = loop("i", mul(8, b), binary("min", n, add(mul(8, b), 8)))
    assert most(sub(i, mul(8, b)), blocks, points) == ["7"]
    assert most(sub(mul(8, b), i), blocks, points) == ["0"]
    assert most(add(mul(i, m), j), loop("i", 0, n), loop("j", 1, m)) == ["m * n + -1"]


def test_ranges_of_loops():
    assert [show(end) for end in range_of(loop("i", 2, n))] == ["2", "n - 1"]
    assert [show(end) for end in range_of(loop("i", n, 2, step=-1))] == ["2 + 1", "n"]


def test_a_quotient_by_sizes():
    flat = loop("t", 0, mul(n, m))
    assert most(floordiv(t, m), flat) == ["n + -1"]
    assert most(floordiv(add(t, m), m), flat) == ["n"]
    assert most(floormod(t, m), flat) == ["m + -1"]
    assert most(floordiv(n, m)) == ["n", "0"]  # not more than the larger one


def test_sizes_are_one_or_more_unless_said_otherwise():
    here, size = bounds(), bounds().polynomial(n)
    assert here.is_nonnegative(size - 1)
    assert not bounds(n=0).is_nonnegative(size - 1)
    assert bounds(n=3).is_nonnegative(size - 3)
    assert not bounds(n=3).is_nonnegative(size - 4)


def test_bits_of_counts():
    """No bit is in the result that is in neither, so that it is at most their sum."""
    rows, lines = loop("i", 0, n), loop("j", 0, 8)
    assert most(binary("^", i, j), rows, lines) == most(binary("|", i, j), rows, lines) == ["n + 6"]
    assert most(sub(0, binary("^", i, j)), rows, lines) == ["0"]
    turned = mul(binary("^", floordiv(j, 2), binary("&", binary(">>", i, 1), 3)), 8)
    assert most(turned, rows, lines) == ["52"]  # 8 * (7 / 2 + 3)
    assert most(binary("^", binary("&", sub(n, m), 7), floormod(sub(n, m), 4)), rows) == ["10"]
    assert most(binary("^", binary("&", i, 7), j), loop("i", -9, 9), loop("j", 0, m)) == ["m + 6"]


@pytest.mark.parametrize(
    "expr",
    [
        binary("^", sub(n, m), m),
        binary("|", i, sub(j, 1)),
        binary("^", binary("truncmod", sub(j, 1), 4), j),
        binary("^", binary("truncdiv", j, -2), j),
        binary("|", binary(">>", sub(j, 1), 2), j),
        binary("^", mul(sub(j, 1), sub(j, 1)), j),
    ],
    ids=show,
)
def test_bits_of_what_may_be_negative(expr):
    found = bounds(loop("i", 0, n), loop("j", 0, 8))
    with pytest.raises(Unbounded):
        found.polynomial(expr)


def test_what_has_no_bound():
    for expr in (load(Array("V", i64, (n,)), n), binary("^", n, sub(n, m)), floordiv(n, sub(n, m)), i):
        with pytest.raises(Unbounded):
            bounds().polynomial(expr)


@pytest.mark.parametrize("seed", range(90))
def test_no_value_passes_its_bound(seed):
    rng = random.Random(seed)

    def one(names: str, depth: int) -> Expr:
        if depth == 0:
            return rng.choice((*map(var, names), add(0, rng.randint(0, 4))))
        left, right = one(names, depth - 1), one(names, depth - 1)
        kinds = ("+", "-", "*", "min", "max", "^", "|", "&", "floordiv", "floormod", "truncdiv", "truncmod")
        op = rng.choice(kinds)
        return binary(op, left, rng.choice((2, 3, n, m, mul(n, m), add(n, m))) if op in kinds[8:] else right)

    loops = [loop("i", 0, one("nm", 1)), loop("j", one("nmi", 1), add(one("nmi", 1), 2))]
    found, expr = bounds(*loops), one("nmij", 3)
    try:
        both = [found.upper(found.polynomial(e)) for e in (expr, sub(0, expr))]
    except Unbounded:
        return
    for sizes in itertools.product((1, 2, 3, 6), repeat=2):
        values = dict(zip("nm", sizes, strict=True))
        high, low = (
            max(sum(f * evaluate(mul(1, *map(var, names)), values) for names, f in each) for each in limits)
            for limits in both
        )
        for at_i in range(evaluate(loops[0].lo, values), evaluate(loops[0].hi, values)):
            here = values | {"i": at_i}
            for at_j in range(evaluate(loops[1].lo, here), evaluate(loops[1].hi, here)):
                assert -low <= evaluate(expr, here | {"j": at_j}) <= high, f"{show(expr)} at {here}, j = {at_j}"
