"""polysched/schedule/space.py: points are answers to decisions, which depend on one another."""

from __future__ import annotations

from random import Random

import pytest
from tuning.nests import OPTIONS, chain, matmul

import polysched as ps
from polysched.schedule.space import Point, Space


@pytest.fixture(scope="module")
def space() -> Space:
    return ps.space(matmul, options=OPTIONS)


def test_it_prints_as_a_table(space: Space):
    first, *rows, last = str(space).splitlines()
    assert first.split() == ["decision", "value", "candidates"]
    assert [row.split()[0] for row in rows] == [decision.key for decision in space.decisions]
    assert last == f"{space.points} points, some of which are illegal or alike"
    assert ["tile.i", "32", "0,", "8,", "16,", "32,", "64,", "128,", "256,", "512"] in [row.split() for row in rows]


def test_a_pinned_decision_stays(space: Space):
    pinned = space.pin("tile.i", 48)
    assert ["tile.i", "48", "pinned"] in [row.split() for row in str(pinned).splitlines()]
    assert pinned.points * 8 == space.points
    assert all("tile.i" not in dict(pinned.draw(Random(seed)).answers) for seed in range(50))
    assert pinned.at(Point()).schedule.decision("tile.i").value == 48
    assert space.pinned == {} and space.schedule.decision("tile.i").value == 32


def test_what_cannot_be_pinned_is_refused(space: Space):
    with pytest.raises(ps.InputError, match=r"there is no decision 'tile\.z'"):
        space.pin("tile.z", 8)
    with pytest.raises(ps.InputError, match=r"innermost\.i cannot be 'z'"):
        space.pin("innermost.i", "z")


def test_a_pin_that_would_vanish_makes_a_point_invalid(space: Space):
    with pytest.raises(ps.InputError, match=r"nothing asks for parallel\.i_o, which is pinned"):
        space.pin("parallel.i_o", "j_o").at(Point((("tile.i", 0),)))


def test_the_seed_decides_what_is_drawn(space: Space):
    one, other = ([space.draw(random) for _ in range(20)] for random in (Random(3), Random(3)))
    assert one == other and len(set(one)) > 10
    assert [space.draw(Random(4)) for _ in range(20)] != one


def test_neighbours_differ_in_one_answer(space: Space):
    found = space.neighbours(Point((("tile.i", 64),)))
    assert len(set(found)) == len(found) == sum(len(each.candidates) - 1 for each in space.decisions)
    assert all(len({*point.answers} - {("tile.i", 64)}) <= 1 for point in found)


def test_a_point_is_what_decide_makes_one_by_one(space: Space):
    placed = space.at(Point((("rows.i", 8), ("tile.k", 0))))
    decided = ps.Schedule.auto(matmul, options=OPTIONS).decide("tile.k", 0).decide("rows.i", 8)
    assert placed.schedule.history == decided.history
    assert placed.point.answers == (("tile.k", 0), ("rows.i", 8)) and placed.dropped == ()


def test_answers_that_nothing_asks_for_are_dropped_and_said(space: Space):
    placed = space.at(Point((("tile.i", 0), ("parallel.i_o", "j_o"), ("rows.i", 8))))
    assert placed.dropped == ("parallel.i_o",)
    assert placed.point == Point((("tile.i", 0), ("rows.i", 8)))
    again = space.at(placed.point)
    assert again.dropped == () and again.schedule.history == placed.schedule.history


@pytest.mark.slow
def test_every_point_that_is_legal_makes_a_right_kernel(space: Space):
    random, verified = Random(1), 0
    while verified < 3:
        schedule = space.at(space.draw(random)).schedule
        verified += "equal" in str(ps.optimize(matmul, schedule=schedule).verify(n=9))


def test_where_nothing_is_decided_there_is_no_space():
    with pytest.raises(ps.InputError, match=r"'chain' has no decisions"):
        ps.space(chain, options=ps.Options(tile=False, parallel=False, vector=False))


def test_on_a_gpu_there_are_other_decisions():
    assert any(each.key.startswith("tensor.") for each in ps.space(matmul, "cuda").decisions)
