"""polysched/codegen/gpu/points.py: threads whose points are all in the domain, without guards."""

from __future__ import annotations

import pytest
from nests import loop, nest

import polysched as ps
from polysched.codegen.gpu.points import whole_points
from polysched.frontend.python import parse_nest
from polysched.ir.build import Operand, add, binary, floordiv, load, mul, store, sub, var
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array, Expr, For, Stmt
from polysched.ir.text import show
from polysched.ir.verify import verify

b, i, j, k, m, n, t = (var(name) for name in "bijkmnt")
A, B = Array("A", f64, (n,)), Array("B", f64, (n,))
P, Q = Array("P", f64, (m, n)), Array("Q", f64, (m, n))


def part(name: str, start: Expr, trips: int, end: Operand, *body: Stmt, kind: str) -> For:
    return loop(name, start, binary("min", end, add(start, trips)), *body, kind=kind)


def threads(*body: Stmt) -> Stmt:
    """Eight, of four points each."""
    fours = add(floordiv(sub(n, 1), 4), 1)
    inner = part("t", mul(8, b), 8, fours, *body, kind="thread.x")
    return loop("b", 0, add(floordiv(sub(n, 1), 32), 1), inner, kind="block.x")


def points(*body: Stmt, end: Operand = n) -> For:
    return part("i", mul(4, t), 4, end, *body, kind="unrolled")


COPY = store(B, (i,), load(A, i))


def test_a_thread_whose_points_are_whole_tests_no_other_edge():
    text = show(whole_points(nest("copy", "n", [A, B], threads(points(COPY)))))
    assert text.split(":\n", 1)[1] == (
        "    for b in 0..floordiv(n - 1, 32) + 1 (block.x):\n"
        "        for p2 in 0..8 (thread.x):\n"
        "            t = b * 8 + p2\n"
        "            if n >= t * 4 + 4:\n"
        "                for p0 in 0..4 (unrolled):\n"
        "                    B[t * 4 + p0] = A[t * 4 + p0]\n"
        "            else:\n"
        "                if n >= t * 4 + 1:\n"
        "                    for p1 in 4 * t..min(n, 4 * t + 4):\n"
        "                        B[p1] = A[p1]"
    )


def test_points_that_no_edge_cuts_need_no_test():
    whole = loop("t", 0, 8, loop("i", mul(4, t), add(mul(4, t), 4), COPY, kind="unrolled"), kind="thread.x")
    text = show(whole_points(nest("copy", "n", [A, B], whole)))
    assert "if" not in text and "for p0 in 0..4 (unrolled)" in text


def test_threads_without_points_of_their_own_are_inside_too():
    """Rows along y, one a thread: whole along x says nothing about them."""
    fours = add(floordiv(sub(n, 1), 4), 1)
    inner = part("t", mul(8, b), 8, fours, points(store(Q, (k, i), load(P, k, i))), kind="thread.x")
    rows = part("k", mul(8, j), 8, m, inner, kind="thread.y")
    blocks = loop("j", 0, add(floordiv(sub(m, 1), 8), 1), loop("b", 0, n, rows, kind="block.x"), kind="block.y")
    text = show(whole_points(nest("rows", "m n", [P, Q], blocks)))
    assert "if n >= t * 4 + 4 && m >= k + 1:" in text


@pytest.mark.parametrize(
    "body",
    [
        threads(loop("k", 0, m, points(COPY))),
        threads(store(B, (t,), load(A, t))),
        loop("i", 0, n, COPY),
        threads(points(COPY, COPY)),
        threads(points(part("k", mul(4, t), 4, mul(i, i), store(B, (k,), load(A, i)), kind="unrolled"))),
    ],
    ids=["a serial loop", "no points", "no kernel", "two stores", "an edge that is not linear"],
)
def test_other_kernels_stay_as_they_are(body):
    fn = nest("f", "m n", [A, B], body)
    verify(fn, "lowered")
    assert whole_points(fn) == fn


def compiled(arrays: str, *lines: str, target: str = "cuda") -> ps.pipeline.Compiled:
    declared = ", ".join(
        f"{name}: f64[{', '.join(map(repr, shape))}]" for name, *shape in map(str.split, arrays.split(","))
    )
    text = "\n".join((f"def f({declared}, n: size, m: size, p: size):", *lines))
    return ps.optimize(parse_nest(text, "nests.py"), target)  # type: ignore[arg-type]


@pytest.mark.parametrize("target", ["cuda", "opencl"])
def test_planes_of_points_at_every_edge(target):
    """Blocks of 4 x 8 x 32 points: a thread has several along i."""
    done = compiled(
        "A n m p,B n m p",
        "    for i in range(n):",
        "        for j in range(m):",
        "            for k in range(p):",
        "                B[i, j, k] = A[i, j, k]",
        target=target,
    )
    assert "4 points a thread" in done.source.text
    for sizes in ({"n": 4, "m": 9, "p": 128}, {"n": 5, "m": 8, "p": 127}, {"n": 3, "m": 7, "p": 129}):
        done.verify(**sizes)


def test_a_stencil_whose_loops_begin_at_one():
    done = compiled(
        "A n m,B n m",
        "    for i in range(1, n - 1):",
        "        for j in range(1, m - 1):",
        "            B[i, j] = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]",
    )
    for sizes in ({"n": 3, "m": 3}, {"n": 33, "m": 129}, {"n": 34, "m": 130}, {"n": 35, "m": 131}, {"n": 2, "m": 40}):
        done.verify(**sizes, p=1)


@pytest.mark.parametrize("bounds", ["range(i + 1)", "range(i, m)", "range(i, i + 40)", "range(2 * i, m)"])
def test_domains_that_are_no_boxes(bounds):
    rows = "    for i in range(n):", f"        for j in {bounds}:", "            B[i, j] = A[j, i]"
    done = compiled("A n+m+40 n+m,B n+m n+m+40", *rows)
    for sizes in ({"n": 33, "m": 130}, {"n": 70, "m": 65}):
        done.verify(**sizes, p=1)
