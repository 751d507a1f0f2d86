"""polysched/ir/integers/congruence.py: what values leave as remainders."""

from __future__ import annotations

import itertools
import random

import pytest

from polysched.ir.build import add, binary, floordiv, floormod, mul, sub, var
from polysched.ir.dtypes import i8
from polysched.ir.integers.congruence import ANY, Congruence, congruence, stepped, wrapped
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Const, Expr, Select, Unary, Var
from polysched.ir.text import show

i, n = var("i"), var("n")


def leaves(expr: Expr, **names: Congruence) -> Congruence:
    return congruence(expr, lambda e: names.get(e.name, ANY) if isinstance(e, Var) else leaves(e, **names))


def test_example():
    assert leaves(add(mul(i, 4), 2)) == (4, 2)
    assert stepped((0, 3), 8) == (8, 3)
    assert stepped((0, 13), -4) == (4, 1)
    assert leaves(sub(i, n), i=(8, 3), n=(12, 1)) == (4, 2)


def test_numbers():
    assert leaves(add(3, 4)) == (0, 7)
    assert leaves(floormod(i, 4), i=(8, 3)) == (0, 3)
    assert leaves(floordiv(i, 4), i=(8, 7)) == (2, 1)
    assert leaves(floordiv(i, 3), i=(8, 7)) == ANY


def test_wrapping_keeps_powers_of_two():
    assert wrapped((12, 7), 8) == (4, 3)
    assert wrapped((0, 300), 8) == (256, 44)


def test_choices():
    assert leaves(binary("min", i, n), i=(8, 3), n=(4, 3)) == (4, 3)
    assert leaves(Select(binary("<", i, n), i, n), i=(8, 3), n=(8, 7)) == (4, 3)


@pytest.mark.parametrize("seed", range(60))
def test_every_value_leaves_it(seed):
    rng = random.Random(seed)
    x, y = var("x", i8), var("y", i8)

    def one(depth: int) -> Expr:
        if depth == 0:
            return rng.choice((x, y, Const(rng.randint(-9, 9), i8)))
        left, right = one(depth - 1), one(depth - 1)
        op = rng.choice(("+", "-", "*", "*", "min", "div", "mod", "shift", "neg", "select"))
        match op:
            case "div" | "mod":
                return binary("floor" + op, left, Const(rng.choice((2, 3, 4, 6)), i8))
            case "shift":
                return binary("<<", left, Const(rng.randint(0, 3), i8))
            case "neg":
                return Unary("-", left)
            case "select":
                return Select(binary("<", left, right), left, right)
        return binary(op, left, right)

    given = {name: (rng.choice((2, 4, 6, 12)), 0) for name in "xy"}
    given = {name: (modulus, rng.randrange(modulus)) for name, (modulus, _) in given.items()}

    def inner(node: Expr) -> Congruence:
        return given[node.name] if isinstance(node, Var) else wrapped(congruence(node, inner), 8)

    expr = one(3)
    modulus, rest = inner(expr)
    for numbers in itertools.product(*(range(r - 10 * q, 127, 3 * q) for q, r in given.values())):
        value = evaluate(expr, dict(zip("xy", numbers, strict=True)))
        assert (value - rest) % modulus == 0, f"{show(expr)} at {numbers}"
