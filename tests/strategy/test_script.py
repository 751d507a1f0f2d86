"""Scripts while they are written: names that are taken, refusals, constraints, and answers that lead to these."""

# ruff: noqa: F821, UP037 - nests are not ordinary Python: annotations name sizes by texts

from __future__ import annotations

from dataclasses import replace

import pytest

import polysched as ps
from polysched.errors import IllegalSchedule
from polysched.transform.edits.base.registry import EDITS


@ps.nest
def taken(C: ps.f64["n", "n"], A: ps.f64["n", "n"], B: ps.f64["n", "n"], n: ps.size):
    for i in range(n):
        for i_o in range(n):
            for k in range(n):
                C[i, i_o] += A[i, k] * B[k, i_o]


@ps.nest
def taken_on_a_grid(C: ps.f64["n", "n"], A: ps.f64["n", "n"], B: ps.f64["n", "n"], n: ps.size):
    for i in range(n):
        for i_b in range(n):
            for i_t in range(n):
                C[i, i_b] += A[i, i_t] * B[i_t, i_b]


@pytest.mark.parametrize(("nest", "target"), [(taken, "c"), (taken_on_a_grid, "cuda")])
def test_names_that_the_nest_has_are_left_to_it(nest, target):
    done = ps.optimize(nest, target)
    assert not done.fallbacks and len(done.schedule.history.edits) > 7
    done.verify(n=9)


def test_an_answer_that_breaks_a_constraint_is_refused():
    schedule = ps.Schedule.auto(taken, options=ps.Options(constraints=(ps.innermost("S*", "i_o"),)))
    with pytest.raises(IllegalSchedule, match=r"innermost.i = 'k' and innermost\(.* contradict each other"):
        schedule.decide("innermost.i", "k")


def test_tiles_that_were_asked_for_stay_when_something_else_is_decided():
    schedule = ps.Schedule.auto(taken, options=ps.Options(constraints=(ps.tile_sizes("S*", (16, 16, 16)),)))
    assert schedule.without("parallel.i_o_2").history.edits[:3] == schedule.history.edits[:3]
    assert "sizes=(16, 16, 16)" in schedule.script


def test_budgets_of_edits_by_hand_are_not_those_of_the_compiler():
    assert not ps.optimize(taken, options=ps.Options(edit_seconds=0)).fallbacks


def test_a_phase_of_which_an_edit_is_refused_is_left_out(monkeypatch):
    def refuses(draft: object, *loops: str) -> None:
        raise ps.InputError("no")

    monkeypatch.setitem(EDITS, "unroll", replace(EDITS["unroll"], apply=refuses))
    monkeypatch.setenv("POLYSCHED_RESULTS", "off")
    done = ps.optimize(taken)
    assert done.fallbacks == {"register tile": "left out, since no"}
    assert ".tile" in done.schedule.script and ".unroll" not in done.schedule.script
    done.verify(n=9)


def test_an_illegal_edit_of_a_strategy_goes_down_a_rung(monkeypatch):
    @ps.nest
    def scan(n: ps.size, x: ps.f64["n"]) -> None:
        for i in range(1, n):
            x[i] = x[i] + x[i - 1]

    monkeypatch.setenv("POLYSCHED_VERIFY", "0")
    monkeypatch.setenv("POLYSCHED_RESULTS", "off")
    monkeypatch.setattr("polysched.strategy.cpu.lanes", lambda script, *_: script.do("reverse", "i"))
    done = ps.optimize(scan)
    assert "illegal: flow dependence on x" in done.rungs["mapping"]
    done.verify(n=9)


@ps.nest
def columns(A: ps.f64["n", "m"], y: ps.f64["m"], n: ps.size, m: ps.size):
    for i in range(n):
        for j in range(m):
            y[j] += A[i, j]


@pytest.mark.parametrize("reordered", [False, True])
@pytest.mark.parametrize("tile", [False, True])
def test_each_decision_can_be_left_out(reordered, tile):
    options = ps.Options(reorder_reductions=reordered, scheduler="source", vector=tile, tile=tile)
    schedule = ps.Schedule.auto(columns, options=options)
    keys = [decision.key for decision in schedule.decisions]
    assert len(keys) == len(set(keys))
    for key in keys:
        try:
            schedule.without(key)
        except ps.InputError as error:
            assert "nothing is left that runs in parallel" in str(error)


def test_phases_are_steps_and_edits_are_not():
    names = [event.name for event in ps.optimize(taken, options=ps.Options(diamond=False)).events]
    assert [names.count(phase) for phase in ("strides", "tile", "register tile", "parallel")] == [1] * 4
    assert not {"reorder", "unroll"} & {*names}


@ps.nest
def sweep(n: ps.size, m: ps.size, x: ps.f64["n", "m"]):
    for i in range(1, n):
        for j in range(1, m):
            x[i, j] = x[i, j] + x[i, j - 1] + x[i - 1, j]


@pytest.mark.parametrize("off", [{}, {"parallel": False, "vector": False}, {"wavefront": False, "tile": False}])
def test_what_is_found_gives_the_same_text_where_no_loop_is_marked(off):
    done = ps.optimize(sweep, options=ps.Options(**off))
    assert ps.optimize(sweep, schedule=done.schedule).source == done.source
