import random

import pytest
from by_hand import blur
from chains import assert_same_results, check_on_chains, with_temporary

from polysched import IllegalSchedule, InputError, Schedule, f64, nest, optimize, size
from polysched.ir.nodes import Const, Var
from polysched.support import isl
from polysched.transform.edits.base.same_values import redrafted
from polysched.transform.edits.values import compute_at as file
from tests.deps.brute import points

TILED = """\
domain: { S0_at[i_2_o, i] : n >= 5 and 32i_2_o <= -3 + n and i >= -1 + 32i_2_o and 0 < i <= 32 + 32i_2_o \
and i <= -2 + n; S1[i] : 2 <= i <= -3 + n }
  context: { : n >= 0 }
    band:
      i_2_o: [S0_at[i_2_o, i] -> i_2_o; S1[i] -> floor((i)/32)] coincident
      mark: storage:b_at
        sequence
          filter: S0_at
            band:
              i: [S0_at[i_2_o, i] -> i] coincident
          filter: S1
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
def sweeps(c: f64["n"], b: f64["n"], a: f64["n"], T: size, n: size):
    for t in range(T):
        for i in range(n):
            b[i] = a[i] * 2.0
        for i in range(n):
            c[i] = b[i] + 1.0
        for i in range(n):
            a[i] = c[n - 1 - i]


@nest
def chain(d: f64["n"], c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(n):
        b[i] = a[i] * 2.0
    for i in range(1, n):
        c[i] = b[i - 1] + b[i]
    for i in range(2, n):
        d[i] = c[i - 1] + c[i]


@nest
def edge(c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(1, n):
        b[i] = a[i]
    for i in range(1, n):
        c[i] = b[i - 1]


def test_each_tile_computes_what_it_reads_with_its_halo():
    schedule = Schedule(with_temporary(blur.function, "b")).tile("i_2", sizes=(32,)).compute_at("b", at="i_2_o")
    assert str(schedule) == TILED
    (small,) = (array for array in schedule.draft.scop.arrays if array.name == "b_at")
    assert small.shape == (Const(34),)


def test_tiles_are_then_parallel_and_the_kernel_is_right():
    schedule = Schedule(with_temporary(blur.function, "b")).tile("i_2", sizes=(32,)).compute_at("b", at="i_2_o")
    done = optimize(schedule.nest, schedule=schedule.parallel("i_2_o"))
    assert "double b_at[34];" in done.source.text
    done.verify()


def test_a_parameter_is_computed_where_it_was_too():
    schedule = Schedule(blur).compute_at("b", at="i_2")
    assert schedule.loops == ("i", "i_2", "i_3")
    assert [statement.name for statement in schedule.draft.scop.statements] == ["S0_at", "S0", "S1"]
    assert_same_results(schedule, random.Random(0))


def test_a_sum_is_computed_with_all_its_statements():
    inside = with_temporary(layer.function, "C")
    schedule = Schedule(inside).tile("i_2", "j_2", sizes=(8, 8)).compute_at("C", at="j_2_o")
    assert [s.name for s in schedule.draft.scop.statements] == ["S0_at", "S1_at", "S2"]
    assert schedule.loops == ("i_2_o", "j_2_o", "i", "j", "k", "i_2", "j_2")
    assert "filter: S0_at, S1_at\n            band: permutable\n              i: " in str(schedule)
    optimize(inside, schedule=schedule.parallel("i_2_o")).verify()


def test_values_are_computed_after_what_they_are_made_of_in_the_same_iteration():
    schedule = Schedule(sweeps).compute_at("c", at="t")
    order = [line.strip() for line in str(schedule).splitlines() if "filter" in line]
    assert order == ["filter: S0", "filter: S1", "filter: S1_at", "filter: S2"]
    assert_same_results(schedule, random.Random(0))


def test_what_a_computed_value_is_made_of_may_be_computed_at_a_loop_in_turn():
    inside = with_temporary(with_temporary(chain.function, "b"), "c")
    schedule = Schedule(inside).tile("i_3", sizes=(4,)).compute_at("c", at="i_3_o").compute_at("b", at="i_3_o")
    assert [s.name for s in schedule.draft.scop.statements] == ["S0_at", "S1_at", "S2"]
    shapes = {each.name: each.shape[0] for each in schedule.draft.scop.arrays}
    assert shapes == {"d": Var("n"), "a": Var("n"), "c_at": Const(5), "b_at": Const(6)}
    assert_same_results(schedule, random.Random(0))


def test_values_that_are_made_of_something_overwritten_meanwhile_are_refused():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(overwritten).compute_at("b", at="i_3")
    lines = str(raised.value).splitlines()
    assert lines[0] == (
        "compute_at(b, at=i_3): S0_at[i_3=0, i=0] would get from a: what S1[i=0] writes, "
        "not a[0] as it was before the nest (n = 1)"
    )
    assert [line.strip() for line in lines[2::3]] == ["b[i] = a[i] * 2.0", "a[i] = 0.0"]


@nest
def trisolv(x: f64["n"], b: f64["n"], a: f64["n", "n"], n: size):
    for i in range(n):
        x[i] = b[i]
        for j in range(i):
            x[i] -= a[i, j] * x[j]


@pytest.mark.parametrize(
    ("nest", "array", "at", "message"),
    [
        (blur, "x", "i_2", "there is no array 'x'\nhint: the arrays are: c, b, a"),
        (blur, "a", "i_2", "nothing is computed in 'a'\nhint: name an array that a statement writes"),
        (blur, "b", "k", "there is no loop 'k'\nhint: the loops are: i, i_2"),
        (overwritten, "b", "i_2", "nothing in loop 'i_2' reads what is computed in 'b'"),
        (trisolv, "x", "j", "in loop 'j' only what computes 'x' reads it: S1"),
        (edge, "b", "i_2", "for n = 2, S1[i=1] reads b[0], which nothing has written by then"),
    ],
)
def test_wrong_arguments(nest, array, at, message):
    with pytest.raises(InputError) as raised:
        Schedule(nest).compute_at(array, at=at)
    assert str(raised.value) == message


def test_a_loop_in_parts_has_its_statement_elsewhere_too():
    with pytest.raises(InputError) as raised:
        Schedule(blur).peel("i_2", first=1).compute_at("b", at="i_2")
    assert str(raised.value) == (
        "S1, which reads 'b', runs outside of loop 'i_2' too\nhint: do this before the loop is cut in parts"
    )


def test_what_earlier_iterations_have_computed_is_kept_where_the_array_is_stored_further_out():
    inside = with_temporary(blur.function, "b")
    tiled = Schedule(inside).tile("i_2", sizes=(32,))
    schedule = tiled.compute_at("b", at="i_2", store_at="i_2_o").fold_storage("b_at")
    again = isl.UnionSet.from_set(schedule.draft.scop.statement("S0_at").domain)
    assert len(points(isl.Set.from_union_set(again), {"n": 100})) == 2 * 4 + 96, "two more for each tile"
    assert [a.shape for a in schedule.draft.scop.arrays if a.name == "b_at"] == [(Const(4),)]
    optimize(inside, schedule=schedule.parallel("i_2_o")).verify()


def test_iterations_that_share_an_array_are_not_parallel():
    schedule = Schedule(with_temporary(blur.function, "b")).tile("i_2", sizes=(32,))
    with pytest.raises(IllegalSchedule, match="flow dependence on b_at"):
        schedule.compute_at("b", at="i_2", store_at="i_2_o").parallel("i_2")


def test_an_array_is_stored_around_where_it_is_computed():
    schedule = Schedule(with_temporary(blur.function, "b")).tile("i_2", sizes=(32,))
    with pytest.raises(InputError, match="'i_2' is not around loop 'i_2_o'") as refused:
        schedule.compute_at("b", at="i_2_o", store_at="i_2")
    assert "there is none around it" in str(refused.value)


def _at_random(rng: random.Random, schedule: Schedule) -> Schedule:
    at, store_at = (rng.choice(schedule.loops) for _ in range(2))
    return schedule.compute_at(rng.choice("bbc"), at=at, store_at=store_at if rng.random() < 0.5 else "")


@pytest.mark.slow
def test_chains_compute_the_same():
    tally = check_on_chains(_at_random, range(40))
    assert tally["made"] >= 10 and tally["illegal"] >= 1


def test_only_because_that_is_proven(monkeypatch):
    def unproven(before, scop, tree, origin, what):
        return redrafted(before, scop, tree, what)

    monkeypatch.setattr(file, "require_same_values", unproven)
    with pytest.raises(AssertionError, match="Arrays are not equal"):
        assert_same_results(Schedule(overwritten).compute_at("b", at="i_3"), random.Random(0))
