"""polysched/prelude/expand_arrays.py: an array that every iteration fills anew gets a copy for each of them."""

# mypy: ignore-errors
# ruff: noqa: F821

from __future__ import annotations

import random

import nests
import numpy as np
import pytest

import polysched as ps
from polysched.deps.dataflow import dependences
from polysched.errors import InputError
from polysched.ir.interp import interpret
from polysched.ir.nodes import Function
from polysched.model.extract import extract
from polysched.prelude.expand_arrays import arrays_for_threads, arrays_to_expand, expand_arrays


@ps.nest
def turned(a: ps.f64[n, m], row: ps.f64[m], n: ps.size, m: ps.size):
    for r in range(n):
        for p in range(m):
            row[p] = a[r, p] * 2.0
        for p in range(m):
            a[r, p] = row[m - p - 1]


def expanded(fn: Function) -> Function:
    scop = extract(fn)
    names = arrays_to_expand(fn, scop, dependences(scop))
    return expand_arrays(fn, *names)


def test_a_row_that_each_iteration_fills_gets_one_for_each():
    assert str(expanded(turned.function)) == (
        "def turned(a: f64[n, m], row: f64[m], n: size, m: size):\n"
        "    alloc t0: private f64[n, m]\n"
        "    for r in 0..n:\n"
        "        for p in 0..m:\n"
        "            t0[r, p] = a[r, p] * 2.0\n"
        "        for p in 0..m:\n"
        "            a[r, p] = t0[r, m - p - 1]\n"
        "    if n >= 1 && m >= 1:\n"
        "        for t1 in 0..m:\n"
        "            row[t1] = t0[n - 1, t1]"
    )


@ps.nest
def smoothed(a: ps.f64[n, 50, 40], row: ps.f64[40], other: ps.f64[40], n: ps.size):
    for i in range(n):
        for j in range(50):
            for k in range(40):
                row[k] = a[i, j, k] * 2.0
                other[k] = a[i, j, 39 - k]
            for k in range(1, 40):
                a[i, j, k] = row[k - 1] + other[k]


def test_rows_that_keep_threads_waiting_get_one_for_each_outermost_iteration():
    fn = smoothed.function
    assert arrays_for_threads(fn) == ("row", "other")
    text = str(expand_arrays(fn, "row", "other", loops=1, dead=("row", "other")))
    assert "alloc t0: private f64[n, 40]" in text and "t0[i, k] = a[i, j, k] * 2.0" in text
    assert text.endswith("a[i, j, k] = t0[i, k - 1] + t1[i, k]"), "nobody reads what the last iteration leaves"


def test_a_row_that_grows_with_the_sizes_is_none_for_threads():
    assert arrays_for_threads(turned.function) == ()


def test_its_loops_are_one_grid_on_a_gpu():
    done = ps.optimize(turned, target="cuda")
    assert not any(line.lstrip().startswith("for") for line in done.source.host.splitlines())
    done.verify()


@ps.nest
def in_constant_arrays(a: ps.f64[90, 100], row: ps.f64[100], n: ps.size, m: ps.size):
    for r in range(n):
        for p in range(m):
            row[p] = a[r, p] * 2.0
        for p in range(m):
            a[r, p] = row[m - p - 1]


def test_sizes_are_bounded_by_the_arrays_that_they_index():
    assert "alloc t0: private f64[n, 100]" in str(expanded(in_constant_arrays.function))


@ps.nest
def downwards(a: ps.f64[n, m], row: ps.f64[m], n: ps.size, m: ps.size):
    for r in range(n - 1, -1, -1):
        for p in range(m):
            row[p] = a[r, p] * 2.0
        for p in range(m):
            a[r, p] = row[m - p - 1]


@pytest.mark.parametrize("nest", [turned, downwards], ids=["upwards", "downwards"])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("m", [0, 1, 4])
def test_the_array_holds_what_the_last_iteration_left(nest, n, m):
    a = np.random.default_rng(0).random((n, m))
    given, wanted = ({"a": a.copy(), "row": np.full(m, 7.0), "n": n, "m": m} for _ in range(2))
    interpret(nest.function, wanted)
    interpret(expanded(nest.function), given)
    for name in ("a", "row"):
        np.testing.assert_array_equal(given[name], wanted[name])


@ps.nest
def carried(a: ps.f64[n, m], row: ps.f64[m], n: ps.size, m: ps.size):
    for r in range(n):
        for p in range(m):
            row[p] = row[p] + a[r, p]
        for p in range(m):
            a[r, p] = row[p]


@ps.nest
def partly_filled(a: ps.f64[n, m], row: ps.f64[m], n: ps.size, m: ps.size):
    for r in range(n):
        for p in range(1, m):
            row[p] = a[r, p] * 2.0
        for p in range(m):
            a[r, p] = row[p]


@ps.nest
def half_of_what_is_read_filled(a: ps.f64[n, m], row: ps.f64[m], n: ps.size, m: ps.size):
    for r in range(n):
        for p in range(m - 1):
            row[p] = a[r, p] * 2.0
        for p in range(m - 1):
            a[r, p] = row[p] + row[m - 1]


@ps.nest
def triangle(a: ps.f64[n, n], row: ps.f64[n], n: ps.size):
    for r in range(n):
        for p in range(r):
            row[p] = a[r, p] * 2.0
        for p in range(r):
            a[r, p] = row[p]


@ps.nest
def serial_anyway(a: ps.f64[n + 1, m], row: ps.f64[m], n: ps.size, m: ps.size):
    for r in range(n):
        for p in range(m):
            row[p] = a[r, p] * 2.0
        for p in range(m):
            a[r + 1, p] = row[p]


@ps.nest
def too_large(a: ps.f64[m], row: ps.f64[m], n: ps.size, m: ps.size):
    for _r in range(n):
        for p in range(m):
            row[p] = a[p] * 2.0


@ps.nest
def used_after(a: ps.f64[n, m], row: ps.f64[m], n: ps.size, m: ps.size):
    for r in range(n):
        for p in range(m):
            row[p] = a[r, p] * 2.0
        for p in range(m):
            a[r, p] = row[p]
    for p in range(m):
        a[0, p] = row[p]


@pytest.mark.parametrize(
    "nest",
    [carried, partly_filled, half_of_what_is_read_filled, triangle, serial_anyway, too_large, used_after],
    ids=lambda nest: nest.function.name,
)
def test_left_as_it_is(nest):
    assert expanded(nest.function) is nest.function


@pytest.mark.parametrize(
    "nest",
    [carried, partly_filled, half_of_what_is_read_filled, triangle, used_after],
    ids=lambda nest: nest.function.name,
)
def test_what_an_iteration_has_from_another_is_refused(nest):
    with pytest.raises(InputError, match="'row' cannot have a copy for each iteration"):
        expand_arrays(nest.function, "row")


@pytest.mark.parametrize("nest", [serial_anyway, too_large], ids=lambda nest: nest.function.name)
def test_what_does_not_pay_may_be_asked_for(nest):
    for size in (0, 1, 4):
        arguments = nests.arguments_for(nest.function, random.Random(size), size)
        nests.assert_same_outcome(nest.function, expand_arrays(nest.function, "row"), arguments)


@pytest.mark.parametrize("seed", range(40))
def test_random_nests_compute_the_same(seed):
    fn = nests.random_nest(random.Random(seed))
    arguments = nests.arguments_for(fn, random.Random(seed), 4)
    wanted = nests.outcome(fn, arguments)
    assert all(np.array_equal(value, wanted[name]) for name, value in nests.outcome(expanded(fn), arguments).items())
