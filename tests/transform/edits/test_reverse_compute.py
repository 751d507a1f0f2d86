import random

import pytest
from by_hand import blur
from chains import assert_same_results, check_on_chains

from polysched import IllegalSchedule, InputError, Schedule, f64, nest, optimize, size

TILED = """\
domain: { S0[i] : 0 < i <= -2 + n; S1[i] : 2 <= i <= -3 + n }
  context: { : n >= 0 }
    band:
      i_o: [S0[i] -> floor((i)/32); S1[i] -> floor((1 + i)/32)]
      sequence
        filter: S0
          band:
            i: [S0[i] -> i] coincident
        filter: S1
          band:
            i_2: [S1[i] -> i] coincident"""

LAYER = """\
    band: permutable
      i: [S0[i, j] -> i; S1[i, j, k] -> i; S2[i, j] -> i] coincident
      j: [S0[i, j] -> j; S1[i, j, k] -> j; S2[i, j] -> j] coincident
      sequence
        filter: S0
        filter: S1
          band:
            k: [S1[i, j, k] -> k]
        filter: S2"""


PARTLY = """\
domain: { S0[i] : 0 <= i < n; S1[i] : 0 <= i < 2n }
  context: { : n >= 0 }
    sequence
      filter: S0; S1[i] : i < n
        band:
          i: [S0[i] -> i; S1[i] -> i] coincident
          sequence
            filter: S0
            filter: S1
      filter: S1[i] : i >= n
        band:
          i_2: [S1[i] -> i] coincident"""


@nest
def layer(D: f64["n", "n"], C: f64["n", "n"], A: f64["n", "n"], B: f64["n", "n"], bias: f64["n"], n: size):
    for i in range(n):
        for j in range(n):
            C[i, j] = 0.0
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]
    for i in range(n):
        for j in range(n):
            D[i, j] = C[i, j] + bias[j]


@nest
def sums(c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(1, n):
        b[i] = a[i - 1] + a[i]
    for i in range(1, n):
        c[i] = 1.0
        for k in range(i):
            c[i] += b[i - k]


@nest
def sweeps(c: f64["n"], b: f64["n"], a: f64["n"], T: size, n: size):
    for t in range(T):
        for i in range(n):
            b[i] = a[i] * 2.0
        for i in range(n):
            c[i] = b[i] + 1.0
        for i in range(n):
            a[i] = c[n - 1 - i]


@nest
def partly(c: f64["2*n"], b: f64["n"], a: f64["2*n"], n: size):
    for i in range(n):
        b[i] = a[i] * 2.0
    for i in range(2 * n):
        c[i] = a[i] + (b[i] if i < n else 1.0)


@nest
def used(d: f64["n"], c: f64["n"], b: f64["n"], n: size):
    for i in range(n):
        b[i] = d[i] + 1.0
    for i in range(n):
        d[i] = 0.0
    for i in range(n):
        c[i] = b[i] + d[i]


def test_each_instance_runs_in_the_last_tile_that_it_needs():
    schedule = Schedule(blur).tile("i", sizes=(32,)).reverse_compute_at("c", at="i_o")
    assert str(schedule) == TILED
    optimize(blur, schedule=schedule).verify()


def test_an_epilogue_moves_into_the_sum():
    schedule = Schedule(layer).reverse_compute_at("D", at="j")
    assert str(schedule).split("\n", 2)[2] == LAYER
    optimize(layer, schedule=schedule.parallel("i")).verify()


def test_what_begins_a_sum_moves_with_it():
    schedule = Schedule(sums).reverse_compute_at("c", at="i")
    assert "i: [S0[i] -> i; S1[i] -> i; S2[i, k] -> i]" in str(schedule)
    assert_same_results(schedule, random.Random(0))


def test_inside_of_a_loop_around_both_it_stays_in_its_iteration():
    schedule = Schedule(sweeps).reverse_compute_at("a", at="i_2")
    assert "i_2: [S1[t, i] -> i; S2[t, i] -> -1 + n - i]" in str(schedule)
    assert_same_results(schedule, random.Random(0))


def test_it_stands_right_after_what_it_needs():
    schedule = Schedule(sweeps).reverse_compute_at("c", at="i")
    order = [line.strip() for line in str(schedule).splitlines() if "filter" in line]
    assert order == ["filter: S0, S1", "filter: S0", "filter: S1", "filter: S2"]
    assert_same_results(schedule, random.Random(0))


def test_instances_that_need_nothing_of_the_loop_stay():
    schedule = Schedule(partly).reverse_compute_at("c", at="i")
    assert str(schedule) == PARTLY
    assert_same_results(schedule, random.Random(0))


def test_what_must_come_between_is_named():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(used).reverse_compute_at("c", at="i")
    lines = str(raised.value).splitlines()
    assert lines[0] == (
        "reverse_compute_at(c, at=i): flow dependence on d: S1[i=0] must run before S2[i=0] (n = 1)"
    )
    assert [line.strip() for line in lines[2::3]] == ["d[i] = 0.0", "c[i] = b[i] + d[i]"]
    both = Schedule(used).reverse_compute_at("d", at="i").reverse_compute_at("c", at="i")
    assert both.loops == ("i",)
    assert_same_results(both, random.Random(0))


@pytest.mark.parametrize(
    ("nest", "array", "at", "message"),
    [
        (blur, "x", "i", "there is no array 'x'\nhint: the arrays are: c, b, a"),
        (blur, "a", "i", "nothing is computed in 'a'\nhint: name an array that a statement writes"),
        (blur, "c", "i_2", "S1 is in loop 'i_2' already"),
        (blur, "b", "i_2", "S0 needs nothing that loop 'i_2' runs"),
    ],
)
def test_wrong_arguments(nest, array, at, message):
    with pytest.raises(InputError) as raised:
        Schedule(nest).reverse_compute_at(array, at=at)
    assert str(raised.value) == message


def _at_random(rng: random.Random, schedule: Schedule) -> Schedule:
    array = rng.choice([write.array for s in schedule.draft.scop.statements for write in s.writes])
    return schedule.reverse_compute_at(array, at=rng.choice(schedule.loops))


@pytest.mark.slow
def test_chains_compute_the_same():
    tally = check_on_chains(_at_random, range(25))
    assert tally["made"] >= 5
