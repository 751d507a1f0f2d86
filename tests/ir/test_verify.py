from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from polysched.errors import InputError, Loc
from polysched.ir.build import add, binary, const, load, mul, store, var
from polysched.ir.dtypes import boolean, f64, i32, i64, u8
from polysched.ir.nodes import (
    Alloc,
    Array,
    Binary,
    Cast,
    Const,
    For,
    Function,
    If,
    Let,
    Load,
    Select,
    Store,
    Unary,
    Var,
)
from polysched.ir.verify import verify
from tests.nests import canonical, gemm, random_nest

i, n = var("i"), var("n")
A, B = Array("A", f64, (n,)), Array("B", f64, (n, n))


def test_a_subscript_too_few() -> None:
    loc = Loc("kernel.py", 3, 9, "    B[i] = 0")
    with pytest.raises(InputError) as error:
        verify(_function(_loop(replace(Store("B", (i,), const(0.0, f64)), loc=loc))), "source")
    assert str(error.value) == (
        "kernel.py:3:9: B has 2 dimensions and is given 1 subscripts\n      B[i] = 0\n          ^"
    )


def test_our_own_functions_fail_an_assertion() -> None:
    with pytest.raises(AssertionError, match=r"f, lowered: loop i has step -1; after lowering steps are positive"):
        verify(_function(For("i", n, const(0), -1, ())), "lowered")


def test_every_nest_passes() -> None:
    for fn in canonical():
        verify(fn, "source")
    verify(gemm(), "lowered")
    for seed in range(100):
        verify(random_nest(random.Random(seed)), "source")


def _function(*body: Any, scalars: tuple[Var, ...] = ()) -> Function:
    return Function("f", ("n",), (A, B), body, scalars)


def _loop(*body: Any, **changes: Any) -> For:
    return replace(For("i", const(0), n, 1, body), **changes)


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (Function("f", ("A",), (A,), ()), "two parameters are named A"),
        (Function("f", ("n",), (A,), (), params=("A",)), "params lists A, but sizes, scalars and arrays are n, A"),
        (Function("f", (), (A,), ()), "n is not bound here"),
        (_function(store(A, (i,), 0.0)), "i is not bound here"),
        (_function(_loop(), store(A, (i,), 0.0)), "i is not bound here"),  # the loop's scope has ended
        (_function(If(binary("<", n, 1), (Let("t", n),)), store(A, (var("t"),), 0.0)), "t is not bound here"),
        (_function(_loop(_loop())), "i is bound again while it is in scope"),
        (_function(Let("n", n)), "n is bound again"),
        (_function(Alloc(A)), "A is bound again"),
        (_function(Let("t", var("A"))), "A is an array; subscript it"),
        (_function(Let("t", Load("n", (), i64))), "n is no array; drop its subscripts"),
        (_function(Let("t", Load("X", (), i64))), "X is no array that is known here"),
        (_function(Let("t", Var("n", i32))), "n is bound as i64 and used as i32"),
        (_function(Let("t", Load("A", (n,), i32))), "A holds f64 and is loaded as i32"),
        (_function(Let("t", load(A, Cast(n, i32)))), r"a subscript of A, i32\(n\), is i32; it must be i64"),
        (_function(_loop(hi=Var("h", f64)), scalars=(Var("h", f64),)), "the upper bound of i, h, is f64"),
        (_function(Store("A", (n,), n)), "the value stored to A, n, is i64; it must be f64"),
        (_function(Let("t", Binary("+", n, load(A, n)))), r"\+ is given i64 and f64 in n \+ A\[n\]; cast one of them"),
        (_function(Let("t", binary("/", n, 2))), "/ does not apply to i64 in n / 2; it takes floats"),
        (_function(Let("t", binary("floordiv", load(A, n), 2.0))), "floordiv does not apply to f64 .* takes integers"),
        (_function(Let("t", binary("&&", n, n))), "&& does not apply to i64"),
        (_function(Let("t", binary("**", n, n))), r"unknown operator '\*\*'"),
        (_function(Let("t", Unary("!", n))), "! does not apply to i64 .* it takes bool"),
        (_function(If(n, ())), "the condition of an if, n, is i64; it must be bool"),
        (_function(Let("t", Select(n, n, n))), "the condition of a select, n, is i64"),
        (_function(Let("t", Select(binary("<", n, 1), n, load(A, n)))), "the other branch of a select, .* is f64"),
        (_function(_loop(when=(n,))), "what loop i is parallel under, n, is i64; it must be bool"),
        (_function(_loop(when=(binary("<", i, 1),))), "i is not bound here"),
        (_function(_loop(step=0)), "loop i has step 0 and would never end"),
        (_function(_loop(kind="simd")), "unknown kind 'simd'; there are block.w, block.x"),
        (_function(Alloc(Array("t", f64, (), "local"))), "t is in the unknown space 'local'"),
        (_function(Let("t", Const(256, u8))), "the constant 256 is not a value of u8"),
        (_function(Let("t", Const(1, boolean))), "the constant 1 is not a value of bool"),
        (_function(Let("t", Const(0.5, i64))), "the constant 0.5 is not a value of i64"),
    ],
)
def test_what_must_not_be(fn: Function, message: str) -> None:
    with pytest.raises(InputError, match=message):
        verify(fn, "source")
    with pytest.raises(AssertionError, match=message):
        verify(fn, "lowered")


def test_sibling_loops_may_share_a_name_until_lowered() -> None:
    fn = _function(_loop(), _loop())
    verify(fn, "source")
    with pytest.raises(AssertionError, match="i is bound twice; after lowering every name is bound once"):
        verify(fn, "lowered")


def test_a_let_holds_for_the_rest_of_its_block() -> None:
    t = var("t")
    verify(_function(_loop(Let("t", add(i, mul(n, 2))), If(binary("<", t, n), (store(A, (t,), 0.0),)))), "printed")
