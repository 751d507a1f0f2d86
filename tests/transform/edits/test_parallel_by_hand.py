import random

import nests
import pytest
from by_hand import matmul, stencil

from polysched import IllegalSchedule, InputError, Options, Schedule, f64, i64, nest, optimize, size
from tests.edits import check_results, check_witness

FREE = Options(reorder_reductions=True)


@nest
def total(s: f64[1], a: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            s[0] += a[i, j]


@nest
def reused(b: f64["n"], t: f64["n"], a: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            t[j] = a[i, j]
        for j in range(n):
            b[i] += t[n - 1 - j] * t[j]


@nest
def sweep(a: f64["n", "n"], n: size):
    for i in range(1, n):
        for j in range(1, n):
            a[i, j] = a[i - 1, j] + a[i, j - 1]


@nest
def chain(a: f64["n"], n: size):
    for i in range(1, n):
        a[i] = a[i - 1] + 1.0


@nest
def columns(c: f64["n"], a: f64["n", "n"], n: size):
    for j in range(n):
        for i in range(n):
            c[i] = c[i] * 0.5 + a[i, j]


@nest
def histogram(h: i64["m"], a: i64["n", "n"], n: size, m: size):
    for i in range(n):
        for j in range(n):
            h[0] += a[i, j]


@nest
def counts(h: i64["m"], a: i64["n"], n: size, m: size):
    for i in range(n):
        for _ in range(1):
            h[a[i]] += 1


def test_a_loop_on_threads():
    assert str(Schedule(stencil).parallel("j")) == """\
domain: { S[i, j] : 0 <= i < N and 0 <= j < N }
  context: { : N >= 0 }
    band:
      i: [S[i, j] -> i]
      mark: parallel
        band:
          j: [S[i, j] -> j] coincident"""


def test_a_loop_that_carries_a_dependence_is_refused():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(stencil).parallel("i")
    first, place, *_, hint = str(raised.value).splitlines()
    assert first == (
        "parallel(i): flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0], "
        "but iterations of loop 'i' would run at the same time (N = 2)"
    )
    assert place.endswith("by_hand.py:12:13: S")
    assert hint == 'hint: parallel("j")'


@pytest.mark.parametrize(
    ("nest", "name", "hint"),
    [
        (total, "i", "if sums may be in any order, schedule with Options(reorder_reductions=True)"),
        (matmul, "k", "if sums may be in any order, schedule with Options(reorder_reductions=True)"),
        (reused, "i", 'privatize("t", at="i") first'),
        (sweep, "i", 'skew("j", by="i").interchange("i", "j").parallel("i"), a wavefront'),
        (sweep, "j", 'skew("j", by="i").interchange("i", "j").parallel("i"), a wavefront'),
        (columns, "j", 'reorder("i", "j").parallel("i")'),
        (histogram, "i", "if sums may be in any order, schedule with Options(reorder_reductions=True)"),
        (counts, "i", ""),
        (chain, "i", ""),
    ],
)
def test_what_would_make_it_parallel(nest, name, hint):
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(nest).parallel(name)
    assert raised.value.hint == hint


def test_the_wavefront_that_a_refusal_names():
    inside = Schedule(sweep).skew("j", by="i").interchange("i", "j").parallel("i")
    optimize(sweep, schedule=inside).verify()


def test_updates_in_any_order_go_to_copies_of_each_thread():
    rows = Schedule(total, options=FREE).parallel("i")
    assert "mark: parallel:s" in str(rows)
    done = optimize(total, schedule=rows, options=FREE)
    done.verify()
    assert "#pragma omp parallel for" in done.source.text


def test_a_loop_that_carries_more_than_updates_is_no_reduction():
    with pytest.raises(IllegalSchedule, match="flow dependence on a"):
        Schedule(chain, options=FREE).parallel("i")


def test_a_loop_is_marked_once():
    with pytest.raises(InputError, match="loop 'j' is marked parallel already\nhint: edit loops before"):
        Schedule(stencil).parallel("j").parallel("j")


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("edit", ["parallel", "vectorize"])
def test_random_loops(seed, edit):
    rng = random.Random(seed)
    fn = nests.random_nest(rng, statements=3, depth=2)
    schedule = Schedule(fn)
    for name in schedule.loops:
        try:
            check_results(fn, getattr(schedule, edit)(name), rng)
        except IllegalSchedule as error:
            check_witness(schedule, error)
        except InputError:
            continue
