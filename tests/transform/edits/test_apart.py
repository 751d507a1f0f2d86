"""transform/edits/values/apart.py: statements of which some instances use a small array, and others do not."""

from __future__ import annotations

import pytest
from by_hand import blur, matmul
from edited import assert_holds, on_random_nests

import polysched as ps
from polysched import IllegalSchedule, Schedule
from polysched.deps.dataflow import dependences
from polysched.transform.edits.base.loops import loop
from polysched.transform.edits.values.apart import told_from_others


def test_those_inside_have_a_body_of_their_own():
    schedule = Schedule(matmul).split_set("i", "n <= 32").cache_read("A", at="i")
    bodies = {s.name: s.body for s in schedule.draft.scop.statements}
    name = next(iter(Schedule(matmul).draft.scop.statements)).name
    assert "A_c" in str(bodies[name]) and "A_c" not in str(bodies[f"{name}_2"])
    assert_holds(matmul.function, lambda s: s.split_set("i", "n <= 4").cache_read("A", at="i"))


@pytest.mark.parametrize("part", ["i", "i_3"])
def test_either_part_may_have_copies(part):
    assert_holds(blur.function, lambda s: s.split_set("i", "i < 3").cache_read("a", at=part))
    assert_holds(blur.function, lambda s: s.peel("i", first=1).cache_write("b", at=part))


def test_a_part_of_which_later_instances_need_values_is_refused():
    with pytest.raises(IllegalSchedule, match="another iteration of loop 'k'"):
        Schedule(matmul).reorder("k", "i", "j").split_set("k", "k < 3").privatize("C", at="k")


def test_many_edits_are_shown_as_one():
    schedule = Schedule(matmul).specialize("n % 4 == 0").cache_read("A", at="i").cache_read("B", at="i_2")
    again = Schedule.from_json(matmul, schedule.to_json())
    assert str(again) == str(schedule)
    ps.optimize(matmul, schedule=again).verify()


def test_dependences_are_between_the_parts():
    draft = Schedule(blur).split_set("i", "i < 5").draft
    apart = told_from_others(draft, loop(draft.nested, "i").instances, "a")
    assert {s.name for s in apart.scop.statements} == {"S0", "S0_2", "S1"}
    assert apart.dependences.validity.is_equal(dependences(apart.scop).validity)
    assert told_from_others(apart, loop(apart.nested, "i").instances, "a") is apart


def test_random_nests_compute_the_same():
    def edit(schedule, name):
        return schedule.split_set(name, "n // 2").cache_read(schedule.draft.scop.arrays[0].name, at=name)

    assert on_random_nests((3, 7), edit) >= 2
