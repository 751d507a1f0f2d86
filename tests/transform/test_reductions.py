"""transform/analysis/reductions.py: loops that carry reductions alone run on threads, or as SIMD; end to end too."""

# ruff: noqa: F821, UP037 - nests are not ordinary Python: annotations name sizes by texts

from __future__ import annotations

import numpy as np
import pytest
from scops import scop, stmt

import polysched as ps
from benchmarks.polybench.race import find_race
from polysched.deps.dataflow import dependences
from polysched.deps.legality import first_violation
from polysched.model.tree.nodes import Band, Parallel, Vector, children, marked_as, marks_in, walk, with_children
from polysched.model.tree.to_isl import mark_text, parse_mark
from polysched.runtime.cpu import load
from polysched.transform.analysis.reductions import sums_for_lanes, sums_for_threads
from tests.transform.scheduled import band

FREE = ps.Options(reorder_reductions=True)
N = 400_003  # more than threads are worth, and no multiple of anything


@ps.nest
def dot(s: ps.f64[1], a: ps.f64["n"], b: ps.f64["n"], n: ps.size):
    for i in range(n):
        s[0] += a[i] * b[i]


@ps.nest
def extremes(low: ps.f64[1], high: ps.f64[1], a: ps.f64["n"], n: ps.size):
    for i in range(n):
        low[0] = min(low[0], a[i])
        high[0] = max(a[i], high[0])


@ps.nest
def total(s: ps.f64[1], A: ps.f64["n", "m"], n: ps.size, m: ps.size):
    for i in range(n):
        for j in range(m):
            s[0] += A[i, j] * A[i, j]


@ps.nest
def columns(y: ps.f64["m"], t: ps.f64["n"], A: ps.f64["n", "m"], x: ps.f64["m"], n: ps.size, m: ps.size):
    for i in range(n):
        for j in range(m):
            t[i] += A[i, j] * x[j]
        for j in range(m):
            y[j] += A[i, j] * t[i]


@ps.nest
def product(p: ps.i64[1], a: ps.i64["n"], n: ps.size):
    for i in range(n):
        p[0] *= a[i]


@ps.nest
def durations(s: ps.f64["m"], a: ps.f64["n"], m: ps.size, n: ps.size):
    for t in range(1, m):
        for i in range(n):
            s[t] += a[i] * s[t - 1]


@ps.nest
def running(s: ps.f64[1], a: ps.f64["n"], b: ps.f64["n"], n: ps.size):
    for i in range(n):
        s[0] += a[i]
        b[i] = s[0]


NESTS = {"dot": dot, "extremes": extremes, "total": total, "columns": columns, "product": product}


def arguments(nest, n=N, m=700):
    """Of the nest, with n rows; sizes come from the arrays."""
    sizes = {"n": n, "m": m}
    rng = np.random.default_rng(0)
    made = {}
    for array in nest.function.arrays:
        shape = tuple(sizes.get(getattr(extent, "name", ""), 1) for extent in array.shape)
        values = 1 + 2 * rng.integers(0, 5, shape) if array.dtype.kind == "i" else rng.random(shape) - 0.25
        made[array.name] = values.astype(array.dtype.numpy)
    return made


def optimized(nest):
    """In source order where the solver would take the nest apart."""
    return ps.optimize(nest, options=ps.Options(reorder_reductions=True, scheduler="source"))


def marks(tree) -> list[str]:
    return list(map(mark_text, marks_in(tree)))


SUM = scop("[n] -> { : }", stmt("{ S[i] : 0 <= i < n }", writes="s[0]", reads=["s[0]", "a[i]"], reduction="+"))
i = "S[i] -> i"


@pytest.mark.parametrize("is_free", [False, True])
def test_the_loop_of_a_sum_is_for_threads_and_lanes_where_its_order_is_free(is_free):
    deps = dependences(SUM, reorder_reductions=is_free)
    loop = band(i)
    assert list(sums_for_threads(loop, deps)) == [(loop, loop.members[0])] * is_free
    assert list(sums_for_lanes(loop, SUM, deps)) == [loop.members[0]] * is_free


@pytest.mark.parametrize("mark", [Parallel(("s",)), Vector(("s", "t"))])
def test_a_mark_survives_its_text(mark):
    assert parse_mark(mark_text(mark)) == mark


@pytest.mark.parametrize(
    ("names", "free", "is_legal"), [(("s",), True, True), ((), True, False), (("s",), False, False)]
)
def test_only_a_mark_that_names_the_array_may_separate_free_updates(names, free, is_legal):
    deps = dependences(SUM, reorder_reductions=free)
    tree = SUM.tree
    (loop,) = [node for node in walk(tree) if isinstance(node, Band)]
    marked = _replaced(tree, loop, marked_as(loop, Parallel(names)))
    violation = first_violation(marked, deps, SUM)
    assert (violation is None) == is_legal
    assert is_legal or "flagged parallel" in str(violation)


def _replaced(tree, old, new):
    return new if tree is old else with_children(tree, tuple(_replaced(child, old, new) for child in children(tree)))


@pytest.mark.parametrize(
    ("nest", "expected"),
    [
        (dot, ["parallel:s"]),
        (extremes, ["parallel:high,low"]),
        (product, ["parallel:p"]),
        (total, ["parallel:s", "vector:s"]),
        (columns, ["parallel:y", "vector:t", "vector"]),
        (durations, ["vector:s"]),
        (running, ["serial"]),  # every sum is wanted
    ],
)
def test_the_marks_of_nests_in_source_order(nest, expected):
    options = ps.Options(reorder_reductions=True, scheduler="source", tile=False)
    assert marks(ps.optimize(nest, options=options).tree) == expected


def test_a_loop_that_is_parallel_anyway_takes_the_threads():
    """Column sums alone: the columns are independent."""

    @ps.nest
    def sums(y: ps.f64["m"], A: ps.f64["n", "m"], n: ps.size, m: ps.size):
        for i in range(n):
            for j in range(m):
                y[j] += A[i, j]

    assert "parallel" in marks(ps.optimize(sums, options=FREE).tree)


@pytest.mark.parametrize("name", NESTS)
def test_one_two_and_four_threads_compute_the_same_bits(name):
    done = optimized(NESTS[name])
    rows = 301 if "m" in done.nest.sizes else N
    results = []
    for threads in (1, 2, 4):
        given = arguments(NESTS[name], rows)
        load(done.source, done.nest, done.scop.valid_sizes, threads=threads)(**given)
        results.append(given)
    for other in results[1:]:
        for array, values in results[0].items():
            np.testing.assert_array_equal(other[array], values)
    expected = arguments(NESTS[name], rows)
    ps.optimize(NESTS[name])(**expected)
    for array, values in expected.items():
        np.testing.assert_allclose(results[0][array], values, rtol=1e-9)


@pytest.mark.parametrize("name", NESTS)
def test_small_and_empty_nests_compute_what_the_interpreter_does(name):
    done = optimized(NESTS[name])
    done.verify()
    done.verify(n=0)
    done.verify(n=33)


@pytest.mark.parametrize("name", NESTS)
def test_parallel_reductions_have_no_races(name):
    done = optimized(NESTS[name])
    given = arguments(NESTS[name], 301 if "m" in done.nest.sizes else N)
    found = find_race(done.source, done.nest, given)
    assert found.race == "" and found.regions > 0 and found.widest == 32


def test_explain_says_so():
    assert "runs in parallel as a reduction" in ps.optimize(dot, options=FREE).explain()
    assert "as a reduction" not in ps.optimize(dot).explain()
