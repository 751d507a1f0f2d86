"""Parallel loops right inside of each other as one: an example, what keeps them apart, and random nests."""

import random

import numpy as np
import pytest
from nests import arguments_for, assert_same_outcome, loop, nest, random_nest

import polysched as ps
from polysched.codegen.parallel.collapse import collapse
from polysched.ir.build import add, store, var
from polysched.ir.dtypes import f64
from polysched.ir.node import rewrite, walk
from polysched.ir.nodes import Array, For, Function
from polysched.ir.text import show

i, j, n, m = map(var, "ijnm")
A = Array("A", f64, (n, m))


def fill(inner: For) -> Function:
    return nest("fill", "n m", [A], loop("i", 0, n, inner, kind="parallel"))


def test_threads_share_the_iterations_of_both():
    done = collapse(fill(loop("j", 1, m, store(A, (i, j), 1.0), step=2, kind="parallel")))
    assert show(done) == (
        "def fill(n: size, m: size, A: f64[n, m]):\n"
        "    for p0 in 0..max(n, 0) * max(floordiv(m - 1 + 1, 2), 0) (parallel):\n"
        "        j = 1 + floormod(p0, max(floordiv(m - 1 + 1, 2), 0)) * 2\n"
        "        i = floordiv(p0, max(floordiv(m - 1 + 1, 2), 0))\n"
        "        A[i, j] = 1.0"
    )


def test_loops_that_are_not_all_of_each_other_stay_apart():
    uneven = fill(loop("j", i, m, store(A, (i, j), 1.0), kind="parallel"))
    serial = fill(loop("j", 0, m, store(A, (i, j), 1.0)))
    beside = nest("fill", "n m", [A], loop("i", 0, n, store(A, (i, add(i, 0)), 2.0), *serial.body[0].body))
    for fn in (uneven, serial, beside):
        assert collapse(fn) is fn


def test_random_nests_compute_the_same():
    """Whose loops all say that they are parallel: the order of iterations stays."""
    collapsed = 0
    for seed in range(60):
        rng = random.Random(seed)
        fn = random_nest(rng, statements=rng.choice((1, 2)), depth=3)
        fn = rewrite(fn, lambda node: _on_threads(node) if isinstance(node, For) else None)
        done = collapse(fn)
        collapsed += sum(isinstance(x, For) for x in walk(done.body)) < sum(isinstance(x, For) for x in walk(fn.body))
        for size in (0, 1, 2, 5):
            assert_same_outcome(fn, done, arguments_for(fn, rng, size))
    assert collapsed >= 15


def _on_threads(node: For) -> For:
    return For(node.var, node.lo, node.hi, node.step, node.body, "parallel" if node.step > 0 else node.kind)


@ps.nest
def drained(p: ps.i64["n"], b: ps.i64["n", "m"], n: ps.size, m: ps.size):
    for i in range(n):
        for j in range(p[i]):
            b[i, j] = b[i, j] + 7 // p[i]
            p[i] = 0


def test_a_divisor_that_the_loop_changes_is_asked_for_in_each_iteration():
    with pytest.raises(ZeroDivisionError):
        ps.optimize(drained)(p=np.array([3, 2]), b=np.zeros((2, 4), np.int64), n=2, m=4)
