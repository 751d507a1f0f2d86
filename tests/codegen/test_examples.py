"""polysched/ir/integers/examples.py: values that names may have together."""

from __future__ import annotations

from itertools import product

from polysched.ir.build import add, binary, const, floordiv, load, mul, sub, var
from polysched.ir.dtypes import boolean, i64
from polysched.ir.integers.examples import Examples
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Array, Expr, Let, Select, Unary
from tests.nests import loop

i, n, m, t = (var(name) for name in "inmt")
V = Array("V", i64, (n,))


def value(expr: Expr, **names: int) -> int | None:
    (found,) = Examples(1, {name: [number] for name, number in names.items()}).values(expr)
    return found


def test_sizes_of_several_orders():
    examples = Examples.of("nm")
    sizes = [*zip(examples.values(n), examples.values(m), strict=True)]
    assert len(sizes) == examples.count
    assert any(rows < columns for rows, columns in sizes)
    assert any(rows > columns for rows, columns in sizes)
    assert (0, 0) in sizes


def test_loops_conditions_and_names():
    examples = Examples.of("n").inside(loop("i", 3, n, step=4))
    assert examples.count
    assert all(at in range(3, size, 4) for at, size in zip(examples.values(i), examples.values(n), strict=True))
    assert all(at < 9 for at in examples.where(binary("<", i, 9), True).values(i))
    assert all(at >= 9 for at in examples.where(binary("<", i, 9), False).values(i))
    after = examples.after(Let("t", add(i, 1)))
    assert after.values(t) == [at + 1 for at in after.values(i)]
    down = Examples.of("n").inside(loop("i", n, 2, step=-3))
    assert down.count
    assert all(at in range(size, 2, -3) for at, size in zip(down.values(i), down.values(n), strict=True))


def test_few_examples_become_several_iterations():
    examples = Examples(1, {"n": [100]}).inside(loop("i", 0, n))
    assert len({*examples.values(i)}) > 4
    assert Examples(1, {"n": [1]}).inside(loop("i", 0, n)).values(i) == [0]
    assert Examples(1, {"n": [0]}).inside(loop("i", 0, n)).count == 0


def test_what_is_not_known_stays_out():
    example = Examples(1, {"n": [4]}).after(Let("t", load(V, 0)))
    assert example.values(t) == [None]
    assert example.inside(loop("i", 0, t)).values(i) == [None]
    assert example.where(binary("<", t, 3), True).count == 1
    assert example.where(binary("&&", binary("<", t, 3), binary(">", n, 4)), True).count == 0
    assert value(floordiv(n, sub(n, 4)), n=4) is None  # traps
    assert value(mul(n, var("flag", boolean)), n=4) is None


def test_operators_mean_what_they_do():
    """Where nothing wraps."""
    ops = ("+", "-", "*", "min", "max", "floordiv", "floormod", "truncdiv", "truncmod", "&", "|", "^")
    for op, a, b in product((*ops, "<", "<=", ">", ">=", "==", "!="), range(-7, 8), (-3, -1, 1, 2, 5)):
        expr = binary(op, const(a), const(b))
        assert value(expr) == evaluate(expr, {})
    assert value(Select(Unary("!", binary("<", n, 3)), Unary("-", n), n), n=5) == -5


def test_loops_longer_than_any_list():
    examples = Examples(1, {"n": [1 << 40]}).inside(loop("i", 0, mul(n, n)))
    assert min(examples.values(i)) == 0
    assert max(examples.values(i)) < 1 << 80
