"""polysched/codegen/passes/preload.py: what unrolled loops load under a condition, in registers before them."""

import random

import pytest

from polysched.codegen.passes.preload import preload
from polysched.codegen.passes.unroll import hint_unrolling
from polysched.ir.build import add, const, load, mul, store, sub, var
from polysched.ir.dtypes import f32
from polysched.ir.nodes import Alloc, Array, Barrier, Binary, Expr, Function, If, Select, Stmt
from polysched.ir.text import show
from tests.nests import arguments_for, assert_same_outcome, canonical, loop, nest

n, t, i, j, x = map(var, "ntijx")
A, C = Array("A", f32, (n,)), Array("C", f32, (add(mul(n, 3), 3),))
acc = Array("acc", f32, (), "private")


def padded(index: Expr) -> Expr:
    inside = Binary("&&", Binary("<=", const(0), index), Binary("<", index, n))
    return Select(inside, load(A, index), const(0.0, f32))


def kernel(*body: Stmt) -> Function:
    return hint_unrolling(nest("f", "n", (A, C), loop("t", 0, n, *body, kind="thread.x")))


def summed(value: Expr, *more: Stmt) -> Stmt:
    """For each x, the sum of the value over i."""
    adding = loop("i", 0, 3, store(acc, (), add(load(acc), mul(value, load(C, x)))), *more)
    return loop(
        "x", 0, 2, Alloc(acc), store(acc, (), const(0.0, f32)), adding, store(C, (add(mul(t, 3), x),), load(acc))
    )


def test_what_is_loaded_for_each_x_is_loaded_once():
    fn = kernel(summed(padded(sub(add(t, i), 1))))
    after = preload(fn)
    assert show(after.body) == (
        "for t in 0..n (thread.x):\n"
        "    alloc loaded0: private f32[3]\n"
        "    for i0 in 0..3 (unrolled):\n"
        "        loaded0[i0] = 0 <= t + i0 - 1 && t + i0 - 1 < n ? A[t + i0 - 1] : 0.0f32\n"
        "    for x in 0..2 (unrolled):\n"
        "        alloc acc: private f32[]\n"
        "        acc[] = 0.0f32\n"
        "        for i in 0..3 (unrolled):\n"
        "            acc[] = acc[] + loaded0[i] * C[x]\n"
        "        C[t * 3 + x] = acc[]"
    )
    assert preload(after) is after
    for size in range(4):
        assert_same_outcome(fn, after, arguments_for(fn, random.Random(0), size))


@pytest.mark.parametrize(
    "stmt",
    [
        summed(load(A, add(t, i))),  # nvcc loads it once
        loop("x", 0, 2, loop("i", 0, 3, store(A, (add(t, i),), padded(add(t, i))))),  # changes what it loads
        loop("x", 0, 2, loop("i", 0, 3, If(Binary("<", t, x), (store(C, (t,), padded(add(t, i))),)))),
        loop("x", 0, 2, Barrier(), loop("i", 0, 3, store(C, (t,), padded(add(t, i))))),
        loop("x", 0, 2, loop("i", 0, 3, loop("j", 0, n, store(C, (t,), padded(add(t, i)))))),
    ],
)
def test_what_stays(stmt):
    fn = kernel(stmt)
    assert preload(fn) is fn


def test_what_the_innermost_loop_repeats_is_loaded_once_too():
    assert "acc[] = acc[] + loaded0[x] * C[x]" in show(preload(kernel(summed(padded(add(t, x))))).body)


def test_no_more_than_registers_hold():
    wide = loop("x", 0, 2, loop("i", 0, 8, loop("j", 0, 8, store(C, (t,), padded(add(mul(i, 8), j, t))))))
    assert "private f32[64]" in show(preload(kernel(wide)).body)
    more = loop("x", 0, 2, *wide.body, loop("k", 0, 3, store(C, (t,), padded(var("k")))), kind="unrolled")
    after = preload(nest("f", "n", (A, C), loop("t", 0, n, more, kind="thread.x")))
    assert show(after.body).count("alloc") == 1


def test_nothing_to_do():
    for fn in canonical():
        assert preload(fn) is fn
