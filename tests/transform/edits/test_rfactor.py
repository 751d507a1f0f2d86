import random

import pytest
from by_hand import blur, matmul
from chains import assert_same_results, check_on_chains

from polysched import IllegalSchedule, InputError, Options, Schedule, f64, i32, i64, nest, optimize, size
from polysched.ir.text import show
from polysched.transform.edits.values import rfactor as file

TREE = """\
domain: { S[k] : 0 <= k < n; S_fold[k_o, s0 = 0] : k_o >= 0 and 32k_o < n; \
S_init[k_o, s0 = 0] : k_o >= 0 and 32k_o < n }
  context: { : n >= 0 }
    mark: storage:s_k_o
      sequence
        filter: S, S_init
          band:
            k_o: [S[k] -> floor((k)/32); S_init[k_o, s0] -> k_o] coincident
            sequence
              filter: S_init
              filter: S
                band:
                  k: [S[k] -> k]
        filter: S_fold
          band:
            k_o_2: [S_fold[k_o, s0] -> k_o]"""


@nest
def dot(s: i32[1], x: i32["n"], y: i32["n"], n: size):
    for k in range(n):
        s[0] += x[k] * y[k]


@nest
def float_dot(s: f64[1], x: f64["n"], y: f64["n"], n: size):
    for k in range(n):
        s[0] += x[k] * y[k]


@nest
def product(C: i64["n", "n"], A: i64["n", "n"], B: i64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            C[i, j] = 3
            for k in range(n):
                C[i, j] -= A[i, k] * B[k, j]


@nest
def extremes(low: i32["n"], high: i32["n"], times: i32["n"], a: i32["n", "n"], n: size):
    for i in range(n):
        for k in range(n):
            low[i] = min(low[i], a[i, k])
            high[i] = max(a[i, k], high[i])
            times[i] *= a[i, k]


@nest
def histogram(h: i64["n"], a: i64["n", "n"], n: size):
    for i in range(n):
        for k in range(n):
            h[n - 1 - i] += a[i, k]


@nest
def watched(s: i64[1], seen: i64["n"], x: i64["n"], n: size):
    for k in range(n):
        s[0] += x[k]
        seen[k] = s[0]


@nest
def reset(s: i64[1], seen: i64["n"], x: i64["n", "n"], n: size):
    for i in range(n):
        s[0] = 1
        for k in range(n):
            s[0] += x[i, k]
        seen[i] = s[0]


@nest
def triangle(s: i64["n"], x: i64["n"], n: size):
    for i in range(n):
        for k in range(i):
            s[i] += s[k] * x[k]


def test_each_tile_sums_up_by_itself():
    schedule = Schedule(dot).tile("k", sizes=(32,)).rfactor("k_o", "s")
    assert str(schedule) == TREE
    assert {s.name: show(s.body).strip() for s in schedule.draft.scop.statements} == {
        "S_init": "s_k_o[k_o] = 0i32",
        "S": "s_k_o[floordiv(k, 32)] = s_k_o[floordiv(k, 32)] + x[k] * y[k]",
        "S_fold": "s[s0] = s[s0] + s_k_o[k_o]",
    }


def test_tiles_are_then_parallel():
    tiled = Schedule(dot).tile("k", sizes=(32,))
    with pytest.raises(IllegalSchedule):
        tiled.parallel("k_o")
    optimize(dot, schedule=tiled.rfactor("k_o", "s").parallel("k_o")).verify()


def test_sums_of_floats_need_leave():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(float_dot).tile("k", sizes=(32,)).rfactor("k_o", "s")
    assert str(raised.value) == (
        "rfactor(k_o, s): S would combine its floats in another order, which rounds them differently\n"
        "hint: allow it with Options(reorder_reductions=True)"
    )
    leave = Options(reorder_reductions=True)
    schedule = Schedule(float_dot, options=leave).tile("k", sizes=(32,)).rfactor("k_o", "s").parallel("k_o")
    done = optimize(float_dot, schedule=schedule, options=leave)
    assert "s_k_o[c0] = -0.0;" in done.source.text
    done.verify()


def test_inside_of_loops_there_are_sums_for_their_iteration_alone():
    schedule = Schedule(product).tile("k", sizes=(4,)).rfactor("k_o", "C")
    (sums,) = (array for array in schedule.draft.scop.arrays if array.name == "C_k_o")
    assert [show(extent) for extent in sums.shape] == ["floordiv(n + 3, 4)"]
    assert schedule.loops == ("i", "j", "k_o", "k", "k_o_2")
    assert_same_results(schedule, random.Random(0))


def test_around_loops_there_are_sums_for_each_element():
    schedule = Schedule(matmul, options=Options(reorder_reductions=True)).tile("k", sizes=(4,))
    schedule = schedule.reorder("k_o", "i", "j", "k").rfactor("k_o", "C").parallel("k_o")
    (sums,) = (array for array in schedule.draft.scop.arrays if array.name == "C_k_o")
    assert len(sums.shape) == 3
    optimize(matmul, schedule=schedule, options=Options(reorder_reductions=True)).verify()


@pytest.mark.parametrize("name", ["low", "high", "times"])
def test_every_operator(name):
    schedule = Schedule(extremes).tile("k", sizes=(3,)).rfactor("k_o", name)
    assert_same_results(schedule, random.Random(0), sizes=(0, 1, 4, 7))


def test_loops_that_run_backwards_and_elements_that_do():
    schedule = Schedule(histogram, options=Options(reorder_reductions=True)).reverse("k").rfactor("k", "h")
    assert "k: [S[i, k] -> -k; S_init[i, k, h0] -> k] coincident" in str(schedule)
    schedule = schedule.reverse("i").rfactor("i", "h")
    assert_same_results(schedule, random.Random(0))


def test_sums_of_sums():
    schedule = Schedule(dot).tile("k", sizes=(4,)).tile("k_o", sizes=(2,), names=("k_oo",))
    schedule = schedule.rfactor("k_oo", "s").rfactor("k_o", "S")
    assert [s.name for s in schedule.draft.scop.statements] == ["S_init", "S_init_2", "S", "S_fold_2", "S_fold"]
    assert_same_results(schedule, random.Random(0), sizes=(0, 1, 9, 20))


def test_what_is_set_before_and_read_after_the_loop():
    schedule = Schedule(reset).tile("k", sizes=(2,)).rfactor("k_o", "S1")
    assert_same_results(schedule, random.Random(0))


def test_a_loop_in_which_the_sum_is_read_is_refused():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(watched).rfactor("k", "s")
    lines = str(raised.value).splitlines()
    assert lines[0] == (
        "rfactor(k, s): flow dependence on s: S0_fold[k=0, s0=0] must run before S1[k=0] (n = 1)"
    )
    assert [line.strip() for line in lines[2::3]] == ["s[0] += x[k]", "seen[k] = s[0]"]
    with pytest.raises(IllegalSchedule, match=r"^rfactor\(i, S1\): flow dependence on s: "):
        Schedule(reset).rfactor("i", "S1")


def test_it_is_refused_because_it_would_be_wrong(monkeypatch):
    monkeypatch.setattr(file, "require_legal", lambda *args, **named: None)
    for schedule in (Schedule(watched).rfactor("k", "s"), Schedule(reset).rfactor("i", "S1")):
        with pytest.raises(AssertionError, match="Arrays are not equal"):
            assert_same_results(schedule, random.Random(0))


@pytest.mark.parametrize(
    ("nest", "loop", "target", "message"),
    [
        (
            blur,
            "i",
            "b",
            "no statement reduces 'b' in loop 'i'\nhint: the reductions in the loop are: none",
        ),
        (
            extremes,
            "k",
            "a",
            "no statement reduces 'a' in loop 'k'\n"
            "hint: the reductions in the loop are: S0 of low, S1 of high, S2 of times",
        ),
        (triangle, "k", "s", "S reads other elements of 's' than the one that it updates"),
        (dot, "i", "s", "there is no loop 'i'\nhint: the loops are: k"),
    ],
)
def test_wrong_arguments(nest, loop, target, message):
    with pytest.raises(InputError) as raised:
        Schedule(nest).rfactor(loop, target)
    assert str(raised.value) == message


def _at_random(rng: random.Random, schedule: Schedule) -> Schedule:
    sums = [s.name for s in schedule.draft.scop.statements if s.reduction] or ["S0"]
    return schedule.rfactor(rng.choice(schedule.loops), rng.choice(sums))


@pytest.mark.slow
def test_chains_compute_the_same():
    tally = check_on_chains(_at_random, range(40))
    assert tally["made"] >= 5 and tally["illegal"] >= 2


def test_an_update_that_reads_a_copy_is_no_reduction_any_more():
    @nest
    def product(A: i32["n + 5", "n + 5"], n: size):
        for i in range(3, -1, -1):
            A[i, i] = A[i + 1, i] * A[i, i]

    copied = Schedule(product).cache_read("A", "i")
    assert [s.reduction for s in copied.draft.scop.statements if s.name == "S"] == [""]
    with pytest.raises(InputError, match="no statement reduces 'A' in loop 'i'"):
        copied.rfactor("i", "A")
