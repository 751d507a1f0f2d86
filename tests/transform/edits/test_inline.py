import random

import numpy as np
import pytest
from by_hand import blur
from chains import assert_same_results, check_on_chains, with_temporary

from polysched import IllegalSchedule, InputError, Schedule, f64, nest, optimize, size
from polysched.ir.text import show
from polysched.transform.edits.values import inline as file

INLINED = """\
domain: { S1[i] : 2 <= i <= -3 + n }
  context: { : n >= 0 }
    band:
      i_2: [S1[i] -> i] coincident"""


@nest
def overwritten(c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(n):
        b[i] = a[i] * 2.0
    for i in range(n):
        a[i] = 0.0
    for i in range(n):
        c[i] = b[i]


@nest
def mirror(c: f64["n"], b: f64["n", "n"], a: f64["n"], n: size):
    for i in range(n):
        for j in range(n):
            b[i, j] = a[i] * i - j
    for i in range(n):
        c[i] = b[n - 1 - i, i] + b[i, i]


@nest
def halves(c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(n):
        b[i] = a[i] * 2.0
    for i in range(n):
        c[i] = b[i // 2] if i < 5 else 0.0


@nest
def chain(d: f64["n"], c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(n):
        b[i] = a[i] * 2.0
    for i in range(1, n):
        c[i] = b[i - 1] + b[i]
    for i in range(2, n):
        d[i] = c[i - 1] + c[i]


@nest
def sums(C: f64["n", "n"], b: f64["n", "n"], A: f64["n", "n"], n: size):
    for i in range(n):
        for k in range(n):
            b[i, k] = A[i, k] * 2.0
    for i in range(n):
        for j in range(n):
            for k in range(n):
                C[i, j] += b[i, k] * b[k, j]


@nest
def prefix(b: f64["n"], a: f64["n"], n: size):
    for i in range(1, n):
        b[i] = b[i - 1] + a[i]
    for i in range(1, n):
        a[i] = b[i]


@nest
def layer(D: f64["n"], C: f64["n"], A: f64["n", "n"], n: size):
    for i in range(n):
        C[i] = 0.0
        for k in range(n):
            C[i] += A[i, k]
    for i in range(n):
        D[i] = C[i]


@nest
def edge(c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(1, n):
        b[i] = a[i]
    for i in range(1, n):
        c[i] = b[i - 1]


def bodies(schedule: Schedule) -> dict[str, str]:
    return {s.name: show(s.body).strip() for s in schedule.draft.scop.statements}


def test_a_temporary_is_computed_where_it_is_read():
    schedule = Schedule(with_temporary(blur.function, "b")).inline("b")
    assert str(schedule) == INLINED
    first, second = "a[i - 1 - 1] + a[i - 1] + a[i - 1 + 1]", "a[i + 1 - 1] + a[i + 1] + a[i + 1 + 1]"
    assert bodies(schedule) == {"S1": f"c[i] = {first} + ({second})"}
    optimize(schedule.nest, schedule=schedule.parallel("i_2")).verify()


def test_a_parameter_stays_but_nothing_waits_for_it():
    schedule = Schedule(blur).inline("b")
    assert list(bodies(schedule)) == ["S0", "S1"] and schedule.loops == ("i", "i_2")
    assert schedule.draft.dependences.flow.is_empty()
    with pytest.raises(IllegalSchedule):
        Schedule(blur).fuse("i", "i_2", shift=0)
    assert_same_results(schedule.fuse("i", "i_2", shift=0), random.Random(0))


def test_each_read_gets_the_expression_of_its_own_instance():
    schedule = Schedule(with_temporary(mirror.function, "b")).inline("b")
    assert bodies(schedule) == {"S1": "c[i] = a[n - i - 1] * f64(n - i - 1) - f64(i) + (a[i] * f64(i) - f64(i))"}
    assert_same_results(schedule, random.Random(0))


def test_a_read_under_a_condition():
    schedule = Schedule(with_temporary(halves.function, "b")).inline("b")
    assert_same_results(schedule, random.Random(0), sizes=(0, 4, 9))


def test_one_after_the_other():
    inside = with_temporary(with_temporary(chain.function, "b"), "c")
    for order in ("bc", "cb"):
        schedule = Schedule(inside).inline(order[0]).inline(order[1])
        assert list(bodies(schedule)) == ["S2"]
        assert_same_results(schedule, random.Random(0))


def test_a_sum_stays_one():
    schedule = Schedule(with_temporary(sums.function, "b")).inline("b")
    assert bodies(schedule) == {"S1": "C[i, j] = C[i, j] + A[i, k] * 2.0 * (A[k, j] * 2.0)"}
    assert schedule.draft.scop.statement("S1").reduction == "+"


def test_what_is_overwritten_meanwhile_is_refused():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(overwritten).inline("b")
    lines = str(raised.value).splitlines()
    assert lines[0] == (
        "inline(b): S0_in[i=0] would get from a: what S1[i=0] writes, not a[0] as it was before the nest (n = 1)"
    )
    assert [line.strip() for line in lines[2::3]] == ["b[i] = a[i] * 2.0", "a[i] = 0.0"]


@pytest.mark.parametrize(
    ("nest", "array", "message"),
    [
        (blur, "x", "there is no array 'x'\nhint: the arrays are: c, b, a"),
        (blur, "c", "no other statement than S1 reads 'c'"),
        (prefix, "b", "S0 is more than one store of an expression that does not read 'b'"),
        (edge, "b", "for n = 2, S1[i=1] reads b[0], which nothing has written by then"),
        (
            layer,
            "C",
            "several statements write 'C': S0, S1\nhint: compute_at(\"C\", at=\"i_2\") computes it where it is used",
        ),
    ],
)
def test_wrong_arguments(nest, array, message):
    with pytest.raises(InputError) as raised:
        Schedule(nest).inline(array)
    assert str(raised.value) == message


def _at_random(rng: random.Random, schedule: Schedule) -> Schedule:
    return schedule.inline(rng.choice("bbc"))


@pytest.mark.slow
def test_chains_compute_the_same():
    tally = check_on_chains(_at_random, range(25))
    assert tally["made"] >= 5 and tally["wrong"] >= 5


def test_only_because_that_is_proven(monkeypatch):
    monkeypatch.setattr(file, "require_values", lambda *_, **__: None)
    with pytest.raises(AssertionError, match="Arrays are not equal"):
        assert_same_results(Schedule(overwritten).inline("b"), random.Random(0))


def test_a_value_is_not_moved_past_a_store_of_the_statement_that_may_read_it():
    @nest
    def guarded(a: f64["n"], f: f64["n"], c: f64["n"], n: size):
        b = np.empty(n, np.float64)
        for i in range(n):
            b[i] = a[i] * 2.0
        for i in range(n):
            if f[i] > 0.0:
                a[i] = 5.0
                c[i] = b[i]

    with pytest.raises(InputError, match=r"which elements of 'b' S\d reads is not known exactly"):
        Schedule(guarded).inline("b")
