"""polysched/ir/integers/intervals.py: numbers that values lie between."""

from __future__ import annotations

import itertools
import random

import pytest

from polysched.ir.build import add, binary, floordiv, floormod, mul, sub, var
from polysched.ir.dtypes import f64, i8, i32, i64, u8
from polysched.ir.integers.intervals import Interval, holds, interval, whole
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Cast, Const, Expr, Select, Unary, Var
from polysched.ir.text import show

t, x, y = var("t"), var("x", i8), var("y", i8)


def between(expr: Expr, **names: Interval) -> Interval:
    return interval(expr, lambda e: names[e.name] if isinstance(e, Var) else between(e, **names))


def test_example():
    assert between(add(mul(floormod(t, 32), 8), 7), t=(0, 1023)) == (7, 255)
    assert between(sub(t, t), t=(0, 3)) == (-3, 3)


def test_whole_types():
    assert whole(i8) == (-128, 127)
    assert whole(u8) == (0, 255)
    assert holds(i32, (-(2**31), 5))
    assert not holds(i32, (0, 2**31))


def test_results_are_not_wrapped():
    assert between(add(x, y), x=(100, 127), y=(1, 127)) == (101, 254)


def test_quotients_and_remainders():
    assert between(floordiv(t, 4), t=(-5, 9)) == (-2, 2)
    assert between(binary("truncdiv", t, 4), t=(-5, 9)) == (-1, 2)
    assert between(floormod(t, 4), t=(5, 7)) == (1, 3)
    assert between(binary("truncmod", t, 4), t=(-2, 9)) == (-2, 3)
    assert between(floordiv(t, 0), t=(0, 9)) == whole(i64)  # traps
    assert between(floordiv(t, var("s")), t=(8, 9), s=(0, 4)) == (2, 9)


def test_what_is_not_known():
    assert between(Cast(Const(1.5, f64), i32)) == whole(i32)
    assert between(binary("^", t, t), t=(0, 1)) == whole(i64)


@pytest.mark.parametrize("seed", range(60))
def test_no_value_is_outside(seed):
    rng = random.Random(seed)

    def one(depth: int) -> Expr:
        if depth == 0:
            return rng.choice((x, y, Const(rng.randint(-9, 9), i8)))
        left, right = one(depth - 1), one(depth - 1)
        op = rng.choice(("+", "-", "*", "min", "max", "&", "div", "div", "shift", "~", "neg", "select", "cast"))
        match op:
            case "div":
                by = rng.choice((right, Const(rng.randint(1, 9), i8)))
                return binary(rng.choice(("floordiv", "floormod", "truncdiv", "truncmod")), left, by)
            case "shift":
                return binary(rng.choice(("<<", ">>")), left, Const(rng.randint(0, 3), i8))
            case "~" | "neg":
                return Unary("~" if op == "~" else "-", left)
            case "select":
                return Select(binary("<", left, right), left, right)
            case "cast":
                return Cast(Cast(left, u8), i8)
        return binary(op, left, right)

    ranges = {name: tuple(sorted((rng.randint(-128, 127), rng.randint(-12, 12)))) for name in "xy"}
    expr = one(3)

    def inner(node: Expr) -> Interval:
        found = ranges[node.name] if isinstance(node, Var) else interval(node, inner)
        return found if holds(node.dtype, found) else whole(node.dtype)

    low, high = inner(expr)
    for numbers in itertools.product(
        *(
            sorted({low, low + 1, (low + high) // 2, high - 1, high, 0} & {*range(low, high + 1)})
            for low, high in ranges.values()
        )
    ):
        try:
            value = evaluate(expr, dict(zip("xy", numbers, strict=True)))
        except ZeroDivisionError:
            continue
        assert low <= value <= high, f"{show(expr)} at {numbers}"
