"""What simplify makes of expressions and statements; test_rules.py proves its rules one by one."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from polysched.ir.build import add, binary, const, floordiv, load, mul, store, sub, var
from polysched.ir.dtypes import DType, boolean, f32, f64, i8, i32, i64, u32
from polysched.ir.interp import Touch, evaluate, interpret
from polysched.ir.node import rewrite
from polysched.ir.nodes import Array, Binary, Call, Cast, Expr, For, Function, If, Let, Load, Select, Unary, Var
from polysched.ir.simplify import simplify
from polysched.ir.verify import verify
from tests.nests import arguments_for, assert_same_outcome, canonical, random_nest

i, n = var("i"), var("n")


def test_a_subscript_becomes_readable() -> None:
    assert str(simplify(sub(add(mul(i, 1), 2), 3))) == "i - 1"


_BYTES = (-128, -127, -64, -3, -2, -1, 0, 1, 2, 3, 5, 64, 126, 127)


def _value(expr: Expr, values: dict[str, Any]) -> str:
    """The value to the bit (any NaN is nan), or the trap."""
    try:
        return repr(evaluate(expr, values))
    except ZeroDivisionError:
        return "trap"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (add(const(127, i8), const(1, i8)), "-128i8"),
        (floordiv(-7, 2), "-4"),
        (binary("truncdiv", -7, 2), "-3"),
        (floordiv(1, 0), "floordiv(1, 0)"),  # traps: left alone
        (binary("floormod", 1, 0), "floormod(1, 0)"),
        (binary("<<", const(1, i8), const(8, i8)), "1i8 << 8i8"),  # undefined
        (binary("/", const(1.0, f64), const(0.0, f64)), "1.0 / 0.0"),  # not finite
        (add(const(0.1, f64), const(0.2, f64)), "0.30000000000000004"),
        (add(const(0.1, f32), const(0.2, f32)), "0.3f32"),
        (mul(0, Load("A", (i,), i64)), "A[i] * 0"),  # a load may be out of bounds: it stays
        (sub(floordiv(i, n), floordiv(i, n)), "floordiv(i, n) - floordiv(i, n)"),
        (sub(floordiv(i, 4), floordiv(i, 4)), "0"),
        (add(var("v", f64), 0.0), "v + 0.0"),
        (sub(var("v", f64), 0.0), "v"),
        (sub(sub(i, 3), -5), "i + 2"),
        (add(1, i, -4), "i - 3"),
    ],
)
def test_expression(before: Expr, after: str) -> None:
    assert str(simplify(before)) == after


def test_an_impure_call_is_called_as_often_as_before() -> None:
    rand = Call("rand", (), i64, pure=False)
    assert simplify(binary("min", rand, rand)) == binary("min", rand, rand)
    assert simplify(mul(rand, 0)) == mul(rand, 0)


@pytest.mark.parametrize(
    ("arg", "through", "to", "after"),
    [
        (Var("v", i32), i64, f64, "f64(v)"),
        (Var("v", i32), i64, i32, "v"),
        (Var("v", i64), i32, i64, "i64(i32(v))"),  # loses bits
        (Var("v", i32), f32, f64, "f64(f32(v))"),  # 24 bits do not hold an i32
        (Var("v", i32), f64, i64, "i64(v)"),
        (Var("v", u32), i32, i64, "i64(i32(v))"),
        (Var("v", u32), i64, f32, "f32(v)"),
        (Var("v", f32), f64, f32, "v"),
        (Var("v", boolean), i8, i64, "i64(v)"),
    ],
)
def test_cast_of_cast(arg: Expr, through: DType, to: DType, after: str) -> None:
    assert str(simplify(Cast(Cast(arg, through), to))) == after


def test_zeros_of_different_sign_stay_apart() -> None:
    zero, minus_zero = const(0.0, f64), const(-0.0, f64)
    kept = Select(var("p", boolean), zero, minus_zero)
    assert simplify(kept) is kept


A = Array("A", i64, (n,))
write = store(A, (i,), 1)
true, false = const(True, boolean), const(False, boolean)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (If(true, (write,), (write, write)), (write,)),
        (If(false, (write,)), ()),
        (If(binary("<", i, n), ()), ()),
        (If(binary("==", load(A, i), 0), ()), If(binary("==", load(A, i), 0), ())),  # the load stays
        (If(binary("<", i, n), (), (write,)), If(binary(">=", i, n), (write,))),
        (For("i", const(3), const(3), 1, (write,)), ()),
        (For("i", const(3), const(4), -1, (write,)), ()),
        (For("i", const(3), const(4), 1, (write,)), For("i", const(3), const(4), 1, (write,))),
        (For("i", const(0), n, 1, (If(false, (write,)),)), ()),
        (For("i", floordiv(1, n), n, 1, ()), For("i", floordiv(1, n), n, 1, ())),  # the trap stays
    ],
)
def test_statement(before: Any, after: Any) -> None:
    assert simplify(before) == after


def test_names_of_a_taken_branch_stay_in_it() -> None:
    branch = If(true, (Let("t", i),), (write,))
    assert simplify(branch) == If(true, (Let("t", i),))
    fn = Function("f", ("i", "n"), (A,), (branch, branch))
    verify(fn, "source")
    verify(simplify(fn), "source")


def test_what_is_simple_comes_back_itself() -> None:
    for fn in canonical():
        assert simplify(fn) is fn


def test_random_expressions_keep_value_and_traps() -> None:
    rng = random.Random(1)
    for _ in range(400):
        expr = _random_expression(rng, 4)
        simple = simplify(expr)
        assert simplify(simple) is simple, f"{expr} -> {simple} -> {simplify(simple)}"
        for _ in range(12):
            values = {"x": rng.choice(_BYTES), "y": rng.choice(_BYTES), "p": rng.random() < 0.5}
            assert _value(simple, values) == _value(expr, values), f"{expr} is not {simple} for {values}"


def _random_expression(rng: random.Random, depth: int, dtype: DType = i8) -> Expr:
    def sub_expression(of: DType = dtype) -> Expr:
        return _random_expression(rng, depth - 1, of)

    if depth == 0 or rng.random() < 0.15:
        if dtype == boolean:
            return rng.choice((Var("p", boolean), const(True, boolean), const(False, boolean)))
        return rng.choice((Var("x", i8), Var("y", i8), const(rng.choice(_BYTES), i8), const(rng.choice((0, 1, 2)), i8)))
    if rng.random() < 0.1:
        return Select(sub_expression(boolean), sub_expression(), sub_expression())
    if dtype == boolean:
        op = rng.choice(("&&", "||", "!", "==", "!=", "<", "<=", ">", ">="))
        if op == "!":
            return Unary(op, sub_expression())
        operand = boolean if op in ("&&", "||") else i8
        return Binary(op, sub_expression(operand), sub_expression(operand))
    if rng.random() < 0.15:
        return Unary(rng.choice("-~"), sub_expression())
    op = rng.choice(("+", "+", "-", "-", "*", "min", "max", "&", "|", "^", "floordiv", "floormod", "truncmod"))
    return Binary(op, sub_expression(), sub_expression())


def test_random_nests_load_and_store_the_same_elements() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        nest = random_nest(rng)
        noisy = rewrite(nest.body, lambda node, rng=rng: _noise(node, rng))
        noisy = Function(nest.name, nest.sizes, nest.arrays, noisy, nest.scalars, nest.params)
        verify(noisy, "source")
        simple = simplify(noisy)
        verify(simple, "source")
        assert simplify(simple) is simple
        arguments = arguments_for(nest, rng, n=4)
        assert_same_outcome(noisy, simple, arguments)
        (reads, writes), (simple_reads, simple_writes) = _touches(noisy, arguments), _touches(simple, arguments)
        assert simple_writes == writes
        assert set(simple_reads) == set(reads)  # min(A[i], A[i]) may load once


def _touches(fn: Function, arguments: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """What is read, and what is written, in order."""
    log: list[Touch] = []
    interpret(fn, copy.deepcopy(arguments), log)
    reads, writes = ([(t.array, t.index) for t in log if t.kind == kind] for kind in ("read", "write"))
    return reads, writes


def _noise(node: Any, rng: random.Random) -> Any:
    """The same, said in more words, now and then."""
    if not isinstance(node, Expr) or node.dtype != i64 or rng.random() < 0.6:
        return None
    more = add(sub(node, 2), 2), mul(1, node), add(0, node), sub(0, sub(0, node)), add(node, n, mul(n, -1))
    return rng.choice(more)
