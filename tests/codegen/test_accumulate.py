"""polysched/codegen/memory/accumulate.py: elements that innermost loops update stay in scalars."""

from __future__ import annotations

import random

import nests
import pytest
from nests import add, binary, loop, mul, n, nest, var

from polysched.codegen.memory.accumulate import accumulate
from polysched.ir.build import floordiv, load, store
from polysched.ir.dtypes import i64
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, Array, Function, If, Stmt
from polysched.ir.text import show
from polysched.ir.verify import verify

c, i, j, k = (var(name) for name in "cijk")
T, A = Array("T", i64, (add(n, 3), add(n, 3))), Array("A", i64, (add(n, 3), add(n, 3)))
SIZES = (0, 1, 2, 3, 7)


def around(*body: Stmt, lo=0, hi=n, step=1, kind="serial") -> Function:
    """Loops over i, j > i and, innermost, k."""
    inner = loop("k", lo, hi, *body, step=step, kind=kind)
    return nest("program", "n", (T, A), loop("i", 0, n, loop("j", add(i, 1), n, inner)))


def update(row, column, value) -> Stmt:
    target = load(T, row, column)
    return store(T, (row, column), binary("+", target, value))


def result(fn: Function, **options: bool) -> Function:
    """What the pass makes of `fn`: verified, and with the same outcome."""
    done = accumulate(fn, **options)
    verify(done, "lowered")
    for size in SIZES:
        nests.assert_same_outcome(fn, done, nests.arguments_for(fn, random.Random(size), size))
    return done


def is_kept(fn: Function) -> bool:
    return any(isinstance(node, Alloc) for node in walk(result(fn)))


def test_an_example_to_learn_from():
    fn = around(update(i, j, mul(load(T, i, k), load(T, add(k, 1), j))), lo=add(i, 1), hi=j)
    assert show(result(fn)) == """\
def program(n: size, T: i64[n + 3, n + 3], A: i64[n + 3, n + 3]):
    for i in 0..n:
        for j in i + 1..n:
            if i + 1 < j:
                alloc T_0: private i64[]
                T_0[] = T[i, j]
                for k in i + 1..j:
                    T_0[] = T_0[] + T[i, k] * T[k + 1, j]
                T[i, j] = T_0[]"""


@pytest.mark.parametrize(
    ("what", "fn"),
    [
        ("k may be j", around(update(i, j, load(T, i, k)))),
        ("k + 1 may be i", around(update(i, j, load(T, add(k, 1), j)), hi=add(i, 1))),
        ("the element moves with the loop", around(update(i, k, load(A, i, j)))),
        ("two elements, which may be one", around(update(i, j, load(A, i, k)), update(i, k, load(A, i, j)))),
        ("it is only stored", around(store(T, (i, j), load(A, i, k)))),
        ("its subscript is loaded", around(update(load(A, i, j), j, load(A, i, k)))),
        ("the loop runs as SIMD", around(update(i, j, load(A, i, k)), kind="vector")),
    ],
)
def test_what_stays_in_memory(what, fn):
    assert accumulate(fn) is fn or not any(isinstance(node, Alloc) for node in walk(accumulate(fn)))


@pytest.mark.parametrize(
    "fn",
    [
        around(update(i, j, load(A, i, k))),
        around(update(i, j, load(A, i, k)), step=2),
        around(update(i, j, load(T, i, k)), hi=j),
        around(update(i, j, load(T, j, k)), hi=j),
        around(update(i, j, load(A, i, k)), store(A, (add(n, 1), 0), add(load(A, add(n, 1), 0), k))),
    ],
)
def test_what_is_kept(fn):
    assert is_kept(fn)


def chunked(*body: Stmt, lo=0) -> Function:
    """A loop over k, in chunks of 4 from floor(lo / 4)."""
    first, end = mul(4, c), binary("min", n, add(mul(4, c), 4))
    inner = loop("k", binary("max", first, lo) if lo else first, end, *body)
    return nest("program", "n", (T, A), loop("i", 0, n, loop("c", 0, floordiv(add(n, 3), 4), inner)))


def test_an_element_stays_in_its_register_for_all_chunks_of_a_loop():
    fn = chunked(update(i, 0, load(A, i, k)))
    assert show(result(fn, nested=True)).partition("..n:\n")[2] == """\
        if 0 < floordiv(n + 3, 4) && 4 * 0 < min(n, 4 * 0 + 4):
            alloc T_0: private i64[]
            T_0[] = T[i, 0]
            for c in 0..floordiv(n + 3, 4):
                for k in 4 * c..min(n, 4 * c + 4):
                    T_0[] = T_0[] + A[i, k]
            T[i, 0] = T_0[]"""
    assert accumulate(fn) != accumulate(fn, nested=True)


@pytest.mark.parametrize(
    "fn",
    [
        chunked(update(i, 0, load(A, i, k)), lo=i),  # the first chunk may be empty, and not the second
        chunked(update(i, c, load(A, i, k))),
        chunked(update(i, 0, load(A, i, k)), update(i, c, 1)),
    ],
)
def test_one_that_may_change_or_not_be_there_stays_for_a_chunk(fn):
    assert result(fn, nested=True) == accumulate(fn)


def test_a_condition_around_the_loop_counts():
    inner = loop("k", 0, n, update(i, j, load(T, i, add(k, j))))
    fn = nest("program", "n", (T, A), loop("i", 0, n, loop("j", 0, n, If(binary(">=", j, 0), (inner,)))))
    assert not any(isinstance(node, Alloc) for node in walk(accumulate(fn)))  # k may be 0
    far = If(binary(">=", j, n), (loop("k", 0, n, update(i, j, load(T, i, k))),))
    assert is_kept(nest("program", "n", (T, A), loop("i", 0, n, loop("j", 0, add(n, 2), far))))


def test_a_condition_on_what_the_loop_changes_does_not_count():
    """Row A[0, 0] is above row j until it gets there."""
    element = load(A, 0, 0)
    steps = update(j, 0, load(T, element, 0)), store(A, (0, 0), add(element, 1))
    guarded = If(binary(">=", j, add(element, 1)), (loop("k", 0, binary("min", n, 2), *steps),))
    result(nest("program", "n", (T, A), store(A, (0, 0), 0), loop("j", 0, n, guarded)))


def test_an_empty_loop_touches_nothing():
    fn = nest("program", "n", (T, A), loop("i", 0, n, loop("k", 0, 0, update(add(mul(n, 5), i), 0, load(A, i, k)))))
    assert result(fn)


@pytest.mark.parametrize("seed", range(40))
def test_random_nests_compute_the_same(seed):
    rng = random.Random(seed)

    def subscript():
        return add(rng.choice([i, j, k, n]), rng.randint(0, 2))

    def use():
        return load(rng.choice([T, A]), subscript(), subscript())

    target = (rng.choice([i, j]), rng.choice([i, j, add(j, 1)]))
    body = [update(*target, mul(use(), use())) for _ in range(rng.randint(1, 2))]
    fn = around(*body, lo=rng.choice([0, i, add(i, 1), j]), hi=rng.choice([n, i, j, add(j, 1)]))
    result(fn)
    result(fn, nested=True)
