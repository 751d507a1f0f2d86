"""polysched/codegen/passes/examples.py: values that names may have together."""

from __future__ import annotations

from itertools import product

from polysched.codegen.passes.examples import after, first_examples, inside, value, where
from polysched.ir.build import add, binary, const, floordiv, load, mul, sub, var
from polysched.ir.dtypes import boolean, i64
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Array, Let, Select, Unary
from tests.nests import loop

i, n, m, t = (var(name) for name in "inmt")
V = Array("V", i64, (n,))


def test_sizes_of_several_orders():
    examples = first_examples("nm")
    assert any(example["n"] < example["m"] for example in examples)
    assert any(example["n"] > example["m"] for example in examples)
    assert any(example == {"n": 0, "m": 0} for example in examples)


def test_loops_conditions_and_names():
    examples = inside(first_examples("n"), loop("i", 3, n, step=4))
    assert examples
    assert all(example["i"] in range(3, example["n"], 4) for example in examples)
    assert all(example["i"] < 9 for example in where(examples, binary("<", i, 9), True))
    assert all(example["i"] >= 9 for example in where(examples, binary("<", i, 9), False))
    assert all(example["t"] == example["i"] + 1 for example in after(examples, Let("t", add(i, 1))))
    down = inside(first_examples("n"), loop("i", n, 2, step=-3))
    assert all(example["i"] in range(example["n"], 2, -3) for example in down)


def test_what_is_not_known_stays_out():
    (example,) = after([{"n": 4}], Let("t", load(V, 0)))
    assert example == {"n": 4}
    assert inside([example], loop("i", 0, t)) == [example]
    assert where([example], binary("<", t, 3), True) == [example]
    assert where([example], binary("&&", binary("<", t, 3), binary(">", n, 4)), True) == []
    assert value(floordiv(n, sub(n, 4)), example) is None  # traps
    assert value(mul(n, var("flag", boolean)), example) is None


def test_operators_mean_what_they_do():
    """Where nothing wraps."""
    ops = ("+", "-", "*", "min", "max", "floordiv", "floormod", "truncdiv", "truncmod", "&", "|", "^")
    for op, a, b in product((*ops, "<", "<=", ">", ">=", "==", "!="), range(-7, 8), (-3, -1, 1, 2, 5)):
        expr = binary(op, const(a), const(b))
        assert value(expr, {}) == evaluate(expr, {})
    assert value(Select(Unary("!", binary("<", n, 3)), Unary("-", n), n), {"n": 5}) == -5


def test_loops_longer_than_any_list():
    (example,) = inside([{"n": 1 << 40}], loop("i", 0, mul(n, n)))
    assert example["i"] == 0
