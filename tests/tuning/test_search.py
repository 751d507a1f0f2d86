"""polysched/opt/tuning/search.py: which points are drawn, and which of them are measured."""

from __future__ import annotations

from random import Random

import pytest
from tuning.nests import OPTIONS, matmul

import polysched as ps
from polysched.opt.tuning.build import Candidate
from polysched.opt.tuning.search import Search, _crossed
from polysched.schedule.space import Point, Space


@pytest.fixture(scope="module")
def space() -> Space:
    return ps.space(matmul, options=OPTIONS)


def told(space: Space, seed: int) -> list[Point]:
    """What a search draws that is told the same of each point."""
    search = Search(space, Random(seed))
    drawn = []
    for _ in range(6):
        points = search.drawn(5)
        drawn += points
        for point in points:
            search.try_once(point)
            search.learn(Candidate(point, (), space.decisions, None), len(str(point)) / 20)
    return drawn


def test_two_searches_that_are_told_the_same_draw_the_same(space: Space):
    assert told(space, 0) == told(space, 0) != told(space, 1)


def test_what_was_tried_is_not_drawn_again(space: Space):
    drawn = told(space, 0)
    assert len({frozenset(point.answers) for point in drawn}) == len(drawn)


def test_most_points_come_from_the_best(space: Space):
    search = Search(space, Random(0))
    good = Candidate(Point((("tile.k", 512),)), (), space.decisions, None)
    search.learn(good, 2.0)
    assert sum(("tile.k", 512) in point.answers for point in search.drawn(100)) > 20


def test_what_is_predicted_to_be_fast_is_measured_first(space: Space):
    every = [(2.0 - k / 40 if k else None, Candidate(Point((("tile.i", k),)), (), (), None)) for k in range(40)]
    chosen = [each.point.answers[0][1] for each in Search(space, Random(0)).chosen(every, 8)]
    assert len(chosen) == len(set(chosen)) == 8
    assert sum(1 <= k <= 8 for k in chosen) >= 4
    assert len(Search(space, Random(0)).chosen(every[:3], 8)) == 3


def test_a_cross_has_answers_of_both_alone():
    one, other = Point((("a", 1), ("b", 1))), Point((("b", 2), ("c", 2)))
    found = {_crossed(one, other, Random(seed)) for seed in range(100)}
    assert all({*point.answers} <= {*one.answers, *other.answers} for point in found)
    assert {1, 2} <= {dict(point.answers)["b"] for point in found}
