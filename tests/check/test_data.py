"""polysched/check/trials/demands.py, ranges.py and data.py: data that a nest can be run with."""

from __future__ import annotations

import nests
import numpy as np
import pytest

import polysched as ps
from polysched.check.trials.data import Source
from polysched.check.trials.ranges import ranges_of
from polysched.frontend.python import parse_nest
from polysched.ir.dtypes import i32
from polysched.ir.interp import interpret
from polysched.ir.nodes import Array, Binary, Function, Load, Store, Var
from polysched.plan.prepare import function_of


@ps.nest
def histogram(h: ps.i64[64], x: ps.i64["n"], n: ps.size):
    for i in range(n):
        h[x[i]] += 1


@ps.nest
def rows(
    y: ps.f64["n"], row: ps.i64["n + 1"], col: ps.i32["m"], v: ps.f64["m"], x: ps.f64["n"], n: ps.size, m: ps.size
):
    for i in range(n):
        for j in range(row[i], row[i + 1]):
            y[i] += v[j] * x[col[j]]


@ps.nest
def through_arithmetic(a: ps.f64["n"], b: ps.f64["2*n"], x: ps.i32["n"], y: ps.i32["n"], n: ps.size):
    for i in range(n):
        a[i] = b[x[y[i]] // 4 + y[i] - 1]


@ps.nest
def downwards(a: ps.f64["n"], b: ps.f64["n"], x: ps.i64["n"], n: ps.size):
    for i in range(n):
        a[i] = b[n - 1 - x[i]]


@ps.nest
def to_u8(a: ps.u8["n"], b: ps.f64["n"], n: ps.size):
    for i in range(n):
        a[i] = b[i] - 300.0


@ps.nest
def divided(a: ps.i64["n"], d: ps.i64["n"], n: ps.size):
    for i in range(n):
        a[i] = i // d[i]


def _shifted() -> Function:
    """As C has it: a count of the width or more, or below zero, is undefined."""
    a, d = (Array(name, i32, (Var("n"),)) for name in "ad")
    value = Binary("<<", Load("a", (Var("i"),), i32), Load("d", (Var("i"),), i32))
    return nests.nest("shifted", "n", [a, d], nests.loop("i", 0, Var("n"), Store("a", (Var("i"),), value)))


shifted = _shifted()


@ps.nest
def of_a_scalar(a: ps.f64["n"], k: ps.i64, n: ps.size):
    for i in range(n):
        a[i] = a[k] + 1.0


@ps.nest
def guarded(a: ps.f64["n"], x: ps.i64["n"], n: ps.size):
    for i in range(n):
        if x[i] >= 0 and x[i] < n:
            a[x[i]] = 1.0


@ps.nest
def written_before(a: ps.f64["n"], x: ps.i64["n"], n: ps.size):
    for i in range(n):
        x[i] = (x[i] * 7 + i) % n
    for i in range(n):
        a[x[i]] = a[x[i]] + 1.0


ALL = (
    histogram, rows, through_arithmetic, downwards, to_u8, divided, shifted, of_a_scalar, guarded, written_before,
)  # fmt: skip


def ranges(nest, n, **more):
    source = Source(function_of(nest))
    sizes = {"n": n, **more}
    return ranges_of(source.demands, sizes, source.usual(sizes))


@pytest.mark.parametrize(
    ("nest", "sizes", "expected"),
    [
        (histogram, {"n": 130}, {"x": (0, 63)}),
        (rows, {"n": 5, "m": 7}, {"row": (0, 7), "col": (0, 4)}),
        (downwards, {"n": 9}, {"x": (0, 8)}),
        (to_u8, {"n": 5}, {"b": (300, 555)}),
        (shifted, {"n": 5}, {"d": (0, 31)}),
        (of_a_scalar, {"n": 5}, {"k": (0, 4)}),
    ],
    ids=lambda it: getattr(it, "name", ""),
)
def test_ranges_are_as_wide_as_they_may_be(nest, sizes, expected):
    found = ranges(nest, **sizes)
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("nest", ALL, ids=lambda nest: nest.name)
@pytest.mark.parametrize("n", [1, 2, 5, 33])
def test_what_is_said_to_be_valid_is(nest, n):
    """C defines what the nest does with it: the interpreter raises nothing."""
    fn = function_of(nest)
    sizes = {name: n + k for k, name in enumerate(fn.sizes)}
    proven = [data for data in Source(fn, seed=n).candidates(sizes) if data.is_proven]
    assert proven
    for data in proven:
        interpret(fn, data.arguments)


def test_offsets_ascend():
    data = next(iter(Source(function_of(rows)).candidates({"n": 50, "m": 70})))
    row = data.arguments["row"]
    assert (np.diff(row) >= 0).all() and row[-1] > row[0]


def test_a_condition_is_false_at_times():
    first = next(iter(Source(function_of(guarded)).candidates({"n": 20})))
    x = first.arguments["x"]
    assert not first.is_proven and (x < 0).any() and (x >= 20).any() and ((x >= 0) & (x < 20)).any()


def test_some_subscripts_are_alike():
    data = next(iter(Source(function_of(histogram)).candidates({"n": 33})))
    assert len(set(data.arguments["x"])) < 33
    distinct = next(iter(Source(function_of(histogram)).candidates({"n": 33}, "distinct")))
    assert len(set(distinct.arguments["x"])) == 33


@ps.nest
def beyond_all(a: ps.f64["n"], x: ps.i64["n"], n: ps.size):
    for i in range(n):
        a[x[i] - x[i] + n] = 1.0


def test_what_cannot_be_valid_is_no_range():
    assert ranges(beyond_all, 5) is None


def test_a_chain_of_names_takes_no_time():
    """Each is used twice by the next."""
    lines = ['def chain(a: ps.f64["n"], x: ps.i64["n"], n: ps.size):', "    for i in range(n):"]
    lines += ["        t0 = x[i]", *(f"        t{k + 1} = t{k} - t{k} // 2" for k in range(40)), "        a[t40] = 1.0"]
    fn = function_of(parse_nest("\n".join(lines), "chain.py"))
    found = ranges_of(Source(fn).demands, {"n": 9}, {"a": (0.5, 1.5), "x": (0, 8)})
    assert found is None or found["x"][0] >= 0
