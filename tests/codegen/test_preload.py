"""polysched/codegen/loops/preload.py: what unrolled loops load under a condition, in registers before them."""

import random

import pytest

from polysched.codegen.loops.preload import preload
from polysched.codegen.loops.unroll import hint_unrolling
from polysched.ir.build import add, const, load, mul, store, sub, var
from polysched.ir.dtypes import f32
from polysched.ir.nodes import Alloc, Array, Barrier, Binary, Call, Cast, Expr, Function, If, Let, Select, Stmt
from polysched.ir.text import show
from tests.nests import arguments_for, assert_same_outcome, canonical, loop, nest

n, t, i, j, x = map(var, "ntijx")
A, C = Array("A", f32, (n,)), Array("C", f32, (add(mul(n, 3), 3),))
acc = Array("acc", f32, (), "private")


def padded(index: Expr) -> Expr:
    inside = Binary("&&", Binary("<=", const(0), index), Binary("<", index, n))
    return Select(inside, load(A, index), const(0.0, f32))


def chosen(value: Expr) -> Expr:
    return Select(Binary("<", i, n), value, const(0.0, f32))


def lazy(cond: Expr, value: Expr) -> Expr:
    """Whether the condition holds and the value, which is evaluated only then, is positive."""
    return Cast(Binary("&&", cond, Binary("<", const(0.0, f32), value)), f32)


def kernel(*body: Stmt) -> Function:
    return hint_unrolling(nest("f", "n", (A, C), loop("t", 0, n, *body, kind="thread.x")), most_trips=8)


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
        loop("x", 0, 2, *(loop("i", 0, end, store(C, (t,), padded(add(t, i)))) for end in (2, 3))),  # two i
        loop("x", 0, 2, loop("i", 1, 3, store(C, (t,), padded(add(t, i))))),  # not counted from zero
        loop("x", 0, 2, loop("i", 0, 0, loop("j", 0, 2, store(C, (t,), padded(j)))), kind="unrolled"),  # nothing runs
        loop("x", 0, 2, loop("i", 0, 3, store(C, (t,), lazy(Binary("<", add(t, i), n), chosen(load(A, add(t, i))))))),
        loop("x", 0, 2, loop("i", 0, 3, store(C, (t,), chosen(mul(load(A, t), Call("noise", (), f32, pure=False)))))),
        loop("x", 0, 2, Alloc(acc), loop("i", 0, 3, store(C, (t,), chosen(load(acc))))),
    ],
)
def test_what_stays(stmt):
    fn = kernel(stmt)
    assert preload(fn) is fn


def test_what_the_innermost_loop_repeats_is_loaded_once_too():
    assert "acc[] = acc[] + loaded0[x] * C[x]" in show(preload(kernel(summed(padded(add(t, x))))).body)


def test_elements_of_two_loops_have_a_place_each():
    u = Let("u", add(mul(t, 2), mul(i, 3), j))
    update = store(acc, (), add(load(acc), mul(padded(var("u")), load(C, add(i, j)))))
    rows = loop("i", 0, 2, loop("j", 0, 3, u, update))
    place = (add(mul(t, 3), x),)
    fn = kernel(loop("x", 0, 2, Alloc(acc), store(acc, (), const(0.0, f32)), rows, store(C, place, load(acc))))
    after = preload(fn)
    assert "acc[] = acc[] + loaded0[i * 3 + j] * C[i + j]" in show(after.body)
    for size in range(9):
        assert_same_outcome(fn, after, arguments_for(fn, random.Random(0), size))


def test_no_more_than_registers_hold():
    wide = loop("x", 0, 2, loop("i", 0, 8, loop("j", 0, 8, store(C, (t,), padded(add(mul(i, 8), j, t))))))
    assert "private f32[64]" in show(preload(kernel(wide)).body)
    more = loop("x", 0, 2, *wide.body, loop("k", 0, 3, store(C, (t,), padded(var("k")))), kind="unrolled")
    after = preload(nest("f", "n", (A, C), loop("t", 0, n, more, kind="thread.x")))
    assert show(after.body).count("alloc") == 1


def test_nothing_to_do():
    for fn in canonical():
        assert preload(fn) is fn
