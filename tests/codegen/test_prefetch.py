"""Loads ahead of time: where they go, what they leave out, and that they change no result."""

import random

import numpy as np
import pytest
from nests import arguments_for, assert_same_outcome, random_nest

import polysched as ps
from polysched.codegen.lower import lower
from polysched.codegen.memory.linearize import linearize
from polysched.codegen.memory.prefetch import with_prefetches
from polysched.ir.node import walk
from polysched.ir.nodes import Prefetch
from polysched.support.trace import Declined


@ps.nest
def gather(s: ps.f64["n"], x: ps.f64["m"], at: ps.i64["n", "k"], n: ps.size, m: ps.size, k: ps.size):
    for i in range(n):
        for j in range(k):
            s[i] += x[at[i, j]]


@ps.nest
def rows(b: ps.f64["n", "m"], a: ps.f64["n + 1", "m + 2"], n: ps.size, m: ps.size):
    for i in range(n):
        for j in range(m):
            b[i, j] = a[i, j] + a[i + 1, j] + a[i, j + 2]


@ps.nest
def chase(a: ps.f64["n"], at: ps.i64["n"], n: ps.size):
    for i in range(n):
        at[i] = at[i] * 2 % n
        a[i] = a[at[i]] + 1.0


def fetches(done: ps.Compiled) -> list[str]:
    return [line.strip() for line in done.source.text.splitlines() if "__builtin_prefetch" in line]


def test_places_that_are_loaded_are_those_of_an_iteration_that_there_is():
    done = ps.optimize(gather, schedule=ps.Schedule(gather).prefetch("x", at="j", ahead=16).parallel("i"))
    (line,) = fetches(done)
    assert "at[k * c0 + c1 + 16]" in line and "if (c1 + 16 < k) {" in done.source.text
    assert "j: x fetched 16 iterations ahead" in done.explain()
    done.verify()


def test_rows_are_fetched_a_line_at_a_time_and_none_twice():
    done = ps.optimize(rows, schedule=ps.Schedule(rows).vectorize("j").prefetch("a", at="i", ahead=4))
    assert len(fetches(done)) == 2, "a[i, j + 2] is on the lines of a[i, j]"
    assert "q0 += 8" in done.source.text
    done.verify()


def test_tiles_fetch_the_next_one():
    schedule = ps.Schedule(rows).tile("i", "j", sizes=(8, 64)).prefetch("a", at="j_o", ahead=1)
    done = ps.optimize(rows, schedule=schedule)
    assert len(fetches(done)) == 2 and not done.declined
    done.verify()


def test_what_is_not_fetched_is_declined():
    late = ps.optimize(chase, schedule=ps.Schedule(chase).prefetch("a", at="i", ahead=4))
    why = "where it loads from is known too late, or on a condition, or stays the same"
    assert late.declined == (Declined("fetching a ahead", "i", why),) and not fetches(late)
    blocks = ps.Schedule(rows).split("j", 32).bind("i", "block.y").bind("j_o", "block.x").bind("j", "thread.x")
    on_gpu = ps.optimize(rows, "cuda", schedule=blocks.prefetch("a", at="i", ahead=1))
    assert [each.reason for each in on_gpu.declined] == ["a GPU hides the time that loads take by other threads"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (("b", "i", 1), "nothing in loop 'i' reads 'b'"),
        (("a", "i", 0), "1 iteration ahead or more, not 0"),
        (("a", "j", 1), "loop 'j' is marked vector"),
    ],
)
def test_what_cannot_be_fetched_is_refused(wanted, message):
    array, at, ahead = wanted
    with pytest.raises(ps.InputError, match=message):
        ps.Schedule(rows).vectorize("j").prefetch(array, at=at, ahead=ahead)


@ps.nest
def lazy(y: ps.f64["n"], x: ps.f64["m"], at: ps.i64["n"], n: ps.size, m: ps.size):
    for i in range(n):
        y[i] = x[at[i]] if at[i] >= 0 else 0.0


@ps.nest
def masked(y: ps.f64["n"], v: ps.f64["n"], mask: ps.i64["n"], n: ps.size):
    for i in range(n):
        if mask[i] > 0:
            y[i] += v[i]


@ps.nest
def matmul(C: ps.f64["n", "n"], A: ps.f64["n", "n"], B: ps.f64["n", "n"], n: ps.size):
    for i in range(n):
        for j in range(n):
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]


def test_a_place_that_a_value_guards_is_not_computed_without_the_guard():
    done = ps.optimize(lazy, schedule=ps.Schedule(lazy).prefetch("x", at="i", ahead=1))
    assert not fetches(done) and "on a condition" in done.declined[0].reason
    y = np.ones(4)
    done(y=y, x=np.array([5.0, 6.0]), at=np.array([1, -(10**12), 0, -(10**12)]))
    assert y.tolist() == [6.0, 0.0, 5.0, 0.0]


def test_conditions_are_fetched_and_hold_for_what_they_guard():
    schedule = ps.Schedule(masked).prefetch("mask", at="i", ahead=9).prefetch("v", at="i", ahead=9)
    done = ps.optimize(masked, schedule=schedule)
    assert len(fetches(done)) == 2 and "if (mask[c0 + 9] > 0) {" in done.source.text
    done.verify()


def test_an_array_of_each_iteration_and_an_iteration_that_there_is_not_are_declined():
    tiled = ps.Schedule(matmul).tile("i", "j", "k", sizes=(8, 8, 8)).cache_read("A", at="k_o")
    own = ps.optimize(matmul, schedule=tiled.prefetch("A_c", at="k_o", ahead=1))
    assert own.declined[0].reason == "there is another one in each iteration, or none"
    far = ps.optimize(matmul, schedule=ps.Schedule(matmul).tile("i", sizes=(8,)).prefetch("A", at="i", ahead=8))
    assert far.declined[0].reason == "it has no iteration that is 8 later"


@pytest.mark.parametrize(("mark", "message"), [("vector:3", "3 lanes are no"), ("prefetch:a:9999999999", "ahead")])
def test_marks_that_no_edit_makes_are_refused(mark, message):
    text = ps.Schedule(rows).prefetch("a", at="i", ahead=2).to_yaml().replace("prefetch:a:2", mark)
    with pytest.raises(ps.InputError, match=message):
        ps.Schedule.from_yaml(rows, text)


def test_a_script_keeps_it():
    schedule = ps.Schedule(rows).parallel("i").prefetch("a", at="i", ahead=2)
    assert ps.Schedule.from_json(rows, schedule.to_json()).tree == schedule.tree
    assert 'mark: "prefetch:a:2"' in schedule.to_yaml()
    assert ps.Schedule.from_yaml(rows, schedule.to_yaml()).tree == schedule.tree


def test_random_nests_compute_the_same():
    fetched = 0
    for seed in range(40):
        rng = random.Random(seed)
        fn = random_nest(rng, statements=rng.choice((1, 2)), depth=rng.choice((1, 2, 3)))
        schedule = ps.Schedule(fn, options=ps.Options(reorder_reductions=False))
        for _ in range(3):
            statement = rng.choice(schedule.draft.scop.statements)
            array = rng.choice([access.array for access in (*statement.reads, *statement.writes)])
            try:
                schedule = schedule.prefetch(array, at=rng.choice(schedule.loops), ahead=rng.choice((1, 2, 9)))
            except ps.InputError:
                continue
        plain = linearize(lower(schedule.tree, schedule.draft.scop))
        done = with_prefetches(plain)
        fetched += any(isinstance(node, Prefetch) for node in walk(done.body))
        for n in (0, 1, 2, 5):
            assert_same_outcome(plain, done, flat(arguments_for(fn, rng, n)))
    assert fetched >= 20


def flat(arguments):
    return {name: np.ravel(x) if isinstance(x, np.ndarray) and x.ndim else x for name, x in arguments.items()}
