from __future__ import annotations

import pytest

from polysched.ir.build import add, binary, const, floormod, load, mul, store, sub, var
from polysched.ir.dtypes import boolean, f32, f64, i32
from polysched.ir.nodes import (
    Alloc,
    Array,
    Barrier,
    Call,
    Cast,
    Const,
    Expr,
    For,
    Function,
    If,
    Let,
    Load,
    Select,
    Unary,
    Var,
)
from polysched.ir.text import show
from tests.nests import gemm

i, j, n = var("i"), var("j"), var("n")
p, q = Var("p", boolean), Var("q", boolean)
A = Array("A", f64, (n, n))


def test_a_function() -> None:
    halve = store(A, (i, j), mul(load(A, i, j), 0.5))
    guard = If(binary("&&", binary("<", j, var("t0")), binary("==", floormod(j, 2), 0)), (halve,))
    inner = For("j", sub(n, 1), const(-1), -1, (guard,))
    body = For("i", const(0), n, 1, (Let("t0", mul(i, 2)), inner), "parallel")
    assert show(Function("scale", ("n",), (A,), (body,), params=("n", "A"))) == (
        "def scale(n: size, A: f64[n, n]):\n"
        "    for i in 0..n (parallel):\n"
        "        t0 = i * 2\n"
        "        for j in n - 1..-1 by -1:\n"
        "            if j < t0 && floormod(j, 2) == 0:\n"
        "                A[i, j] = A[i, j] * 0.5"
    )


def test_a_loop_says_when_it_is_parallel() -> None:
    many = (binary(">", n, 9), binary("<", n, 99))
    assert show(For("i", const(0), n, 1, (), "dynamic", when=many)).startswith(
        "for i in 0..n (dynamic if n > 9 && n < 99):"
    )


def test_parameters_come_in_the_users_order() -> None:
    fn = Function("f", ("n",), (A,), (), (Var("alpha", f32),), ("A", "alpha", "n"))
    assert show(fn) == "def f(A: f64[n, n], alpha: f32, n: size):\n    pass"


def test_the_other_statements() -> None:
    shared = Array("tile", f32, (const(4),), "shared")
    branch = If(p, (Barrier(),), (Alloc(Array("t", i32, ())),))
    assert show((Alloc(shared), branch)) == ("alloc tile: shared f32[4]\nif p:\n    barrier\nelse:\n    alloc t: i32[]")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (mul(add(i, 1), 2), "(i + 1) * 2"),
        (add(i, mul(j, 2)), "i + j * 2"),
        (sub(sub(i, j), n), "i - j - n"),
        (sub(i, sub(j, n)), "i - (j - n)"),
        (add(i, add(j, n)), "i + (j + n)"),  # another tree than i + j + n
        (binary("floordiv", add(i, j), 2), "floordiv(i + j, 2)"),
        (binary("min", i, j, n), "min(min(i, j), n)"),
        (binary("||", binary("&&", p, q), p), "p && q || p"),
        (binary("&&", binary("||", p, q), p), "(p || q) && p"),
        (binary("==", binary("<", i, j), binary("<", j, n)), "(i < j) == (j < n)"),
        (binary("==", binary("&", i, j), 0), "(i & j) == 0"),
        (binary("<<", i, add(j, 1)), "i << j + 1"),
        (Unary("-", add(i, j)), "-(i + j)"),
        (Unary("-", i), "-i"),
        (Unary("-", Unary("-", i)), "-(-i)"),
        (Unary("-", const(3)), "-(3)"),  # not the constant -3
        (Unary("!", p), "!p"),
        (sub(i, -3), "i - -3"),
        (Select(p, i, Select(q, j, n)), "p ? i : q ? j : n"),
        (Select(p, Select(q, j, n), i), "p ? (q ? j : n) : i"),
        (add(Select(p, i, j), 1), "(p ? i : j) + 1"),
        (Cast(add(i, j), f64), "f64(i + j)"),
        (Call("pow", (Var("v", f64), const(2.0, f64)), f64), "pow(v, 2.0)"),
        (Load("s", (), f64), "s[]"),
        (Const(1, f64), "1.0"),
        (Const(1, i32), "1i32"),
        (Const(0.5, f32), "0.5f32"),
        (Const(True, boolean), "true"),
    ],
)
def test_expression(expr: Expr, text: str) -> None:
    assert show(expr) == text


def test_nodes_print_themselves() -> None:
    assert f"{add(i, 1)}" == "i + 1"
    assert str(gemm()).startswith("def gemm(ni: size, nj: size, nk: size, alpha: f64, beta: f64, A: f64[ni, nk]")


def test_an_unknown_node_is_named() -> None:
    with pytest.raises(TypeError, match="show cannot print int"):
        show(3)  # type: ignore[arg-type]
