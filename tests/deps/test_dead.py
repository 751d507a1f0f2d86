"""Instances whose values nobody reads."""

# ruff: noqa: F821 - nests are not ordinary Python: annotations name sizes by texts

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import polysched as ps
from polysched.codegen.lower import lower
from polysched.deps.dataflow import dependences
from polysched.deps.dead import without_dead
from polysched.frontend.c.read import read_c
from polysched.ir.build import load, store, var
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Alloc, Array, Function
from polysched.model.extract import extract
from polysched.model.scop import Scop
from polysched.opt import rewrite
from polysched.support import isl
from tests.nests import arguments_for, assert_same_outcome, loop, nest, random_nest


@ps.nest
def split(a: ps.f64[n], b: ps.f64[n], c: ps.f64[n], n: ps.size):
    for i in range(n - 1):
        a[i + 1] = b[i] + c[i]
        a[i] = b[i] - c[i]


@ps.nest
def repeated(a: ps.f64[n], b: ps.f64[n], T: ps.size, n: ps.size):
    for t in range(T):
        for i in range(n):
            a[i] = b[i] * t


@ps.nest
def last_value(a: ps.f64[n], s: ps.f64[1], n: ps.size):
    for i in range(n):
        s[0] = a[i]


@ps.nest
def filled(a: ps.f64[n], b: ps.f64[n], n: ps.size):
    for i in range(n):
        a[i] = 0.0
    for i in range(n):
        a[i] = b[i]


@ps.nest
def read_between(a: ps.f64[n], b: ps.f64[n], c: ps.f64[n], n: ps.size):
    for i in range(n - 1):
        a[i + 1] = b[i]
        c[i] = a[i + 1]
        a[i] = c[i] + 1.0


@ps.nest
def maybe(a: ps.f64[n], b: ps.f64[n], n: ps.size):
    for i in range(n):
        a[i] = 0.0
    for i in range(n):
        if b[i] > 0.0:
            a[i] = b[i]


@ps.nest
def somewhere(a: ps.f64[n], at: ps.i32[n], n: ps.size):
    for i in range(n):
        a[i] = 0.0
    for i in range(n):
        a[at[i]] = 1.0


@ps.nest
def read_anywhere(a: ps.f64[n], b: ps.f64[n], at: ps.i32[n], n: ps.size):
    for i in range(n):
        a[i] = 0.0
    for i in range(n):
        b[i] = a[at[i]]
    for i in range(n):
        a[i] = 1.0


@ps.nest
def divided(a: ps.i32[n], b: ps.i32[n], n: ps.size):
    for i in range(n):
        a[i] = 7 // b[i]
    for i in range(n):
        a[i] = b[i]


@ps.nest
def shorter(a: ps.f64[n], m: ps.size, n: ps.size):
    for i in range(n):
        a[i] = 0.0
    for i in range(min(m, n)):
        a[i] = 1.0


@ps.nest
def summed(a: ps.f64[n, n], s: ps.f64[n], n: ps.size):
    for i in range(n):
        s[i] = 0.0
        for j in range(n):
            s[i] += a[i, j]


@ps.nest
def even(a: ps.f64[2 * n], n: ps.size):
    for i in range(2 * n):
        a[i] = 0.0
    for i in range(n):
        a[2 * i] = 1.0


@ps.nest
def one_size(a: ps.f64[100], k: ps.size):
    for i in range(100):
        a[i] = a[i + k] + 1.0


def living(fn: ps.Nest | Function) -> dict[str, str] | None:
    """The instances that are left, by statement; None if these are all of them."""
    scop = extract(fn if isinstance(fn, Function) else fn.function)
    left = without_dead(scop, dependences(scop))
    return None if left is scop else {s.name: str(s.domain).partition("-> ")[2] for s in left.statements}


def test_all_but_the_last_are_overwritten():
    assert living(split) == {"S0": "{ S0[i = -2 + n] : n >= 2 }", "S1": "{ S1[i] : 0 <= i <= -2 + n }"}
    done = ps.optimize(split)
    assert "equal to the interpreted nest" in str(done.verify())
    assert done.source.text.count("for (") == 1 and "if (" not in done.source.text.partition("for (")[2]


@pytest.mark.parametrize(
    ("example", "left"),
    [
        (repeated, {"S": "{ S[t = -1 + T, i] : T > 0 and 0 <= i < n }"}),
        (last_value, {"S": "{ S[i = -1 + n] : n > 0 }"}),
        (filled, {"S1": "{ S1[i] : 0 <= i < n }"}),
    ],
)
def test_what_is_left_out(example, left):
    """All time steps but the last; all values of a scalar but the last; a whole statement."""
    assert living(example) == left
    assert "equal to the interpreted nest" in str(ps.optimize(example).verify())


@pytest.mark.parametrize(
    "example",
    [read_between, maybe, somewhere, read_anywhere, divided, shorter, summed, even, one_size],
)
def test_what_stays(example):
    """What is read; what may stay as it is, by data and by its place; what any element may be read of; what may divide
    by zero; what lives for some sizes; what is added to; every other element; what is in bounds for one size alone."""
    assert living(example) is None


def test_what_only_the_dead_read_is_dead():
    """So are values that nothing reads of an array that nobody sees."""
    a, b, t = (Array(name, f64, (var("n"),)) for name in "abt")
    i = var("i")
    body = (
        loop("i", 0, var("n"), store(t, (i,), load(b, i))),
        loop("i", 0, var("n"), store(a, (i,), load(t, i))),
        loop("i", 0, var("n"), store(a, (i,), load(b, i))),
    )
    inside = nest("f", "n", [a, b], Alloc(replace(t, space="private")), *body)
    assert living(inside) == {"S2": "{ S2[i] : 0 <= i < n }"}
    assert living(nest("f", "n", [a, b, t], *body)) == {
        "S0": "{ S0[i] : 0 <= i < n }",
        "S2": "{ S2[i] : 0 <= i < n }",
    }


def test_statements_that_a_schedule_or_an_option_may_name_stay_whole():
    ways = (
        {"schedule": ps.Schedule(split)},
        {"schedule": ps.Schedule(split).tree},
        {"options": ps.Options(constraints=(ps.max_skew(1),))},
        {"options": ps.Options(scheduler="source")},
        {"target": "cuda"},
    )
    for how in ways:
        done = ps.optimize(split, **how)
        assert not done.scop.dead
        assert [str(s.domain).partition(" : ")[2] for s in done.scop.statements] == ["0 <= i <= -2 + n }"] * 2


def test_explain_says_what_is_left_out():
    first, *_ = ps.optimize(split).explain().splitlines()
    line = split.function.loc.line + 2
    assert first == f"left out: S0 but for {{ S0[i = -2 + n] }}, line {line}: nothing reads what it stores"
    whole = f"left out: S0, line {filled.function.loc.line + 2}: nothing reads what it stores"
    assert ps.optimize(filled).explain(line=filled.function.loc.line + 2).splitlines()[0] == whole


C = """\
enum { N = 1000 };
double a[N], b[N], c[N];
void f(void)
{
#pragma scop
    for (int i = 0; i < N - 1; i++) {
        a[i + 1] = b[i] + c[i];
        a[i] = b[i] - c[i];
    }
#pragma endscop
}
"""


def test_a_region_runs_the_kernel_that_does_less():
    text = rewrite(C.encode(), read_c("f.c", data=C.encode())).text.decode()
    assert text != C and text.count("a[999] = b[998] + c[998];") == 1


@pytest.mark.parametrize("seed", range(60))
def test_random_nests_leave_the_same(seed):
    """Run twice, what a nest stores without reading it is dead the first time."""
    rng = random.Random(seed)
    fn = random_nest(rng)
    fn = replace(fn, body=(loop("r", 0, rng.choice((2, var("n"))), *fn.body),))
    scop = extract(fn, check_bounds=False)
    left = without_dead(scop, dependences(scop))
    run, dead, every = (each.intersect_params(scop.context) for each in (left.domain, _dead(left), scop.domain))
    assert run.union(dead).is_equal(every) and run.is_disjoint(dead)
    for n in (0, 1, 2, 5):
        assert_same_outcome(fn, lower(left.tree, left), arguments_for(fn, rng, n=n))


def _dead(scop: Scop) -> isl.UnionSet:
    empty = isl.UnionSet("{ }")
    for statement in scop.dead:
        empty = empty.union(isl.UnionSet.from_set(statement.domain))
    return empty


def test_some_random_nests_have_dead_instances():
    found = 0
    for seed in range(30):
        fn = random_nest(random.Random(seed))
        found += living(replace(fn, body=(loop("r", 0, 2, *fn.body),))) is not None
    assert found >= 8
