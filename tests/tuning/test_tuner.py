"""polysched/opt/tuning/tuner.py, with a crew that builds and times nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from math import inf
from pathlib import Path

import pytest
from tuning.nests import OPTIONS, matmul

import polysched as ps
from polysched.opt.tuning.build import Candidate, Job
from polysched.opt.tuning.crew import CrewLost
from polysched.opt.tuning.measure import failed
from polysched.opt.tuning.report import Tuning
from polysched.opt.tuning.tuner import Tuner
from polysched.results.tuned.database import Database, Measurement
from polysched.results.tuned.task import task_of
from polysched.schedule.space import Point
from polysched.support.clock import Deadline

SPACE = ps.space(matmul, options=OPTIONS)
TASK = task_of(matmul.function, "c", OPTIONS, {"n": 60})


class Nobody:
    """Places points, of which as many have the same loops as have the same tile of i; none can be built."""

    default, seconds, noise, objective = "default", 1.0, None, ""

    def __init__(self) -> None:
        self.asked: list[Candidate] = []

    def __enter__(self) -> Nobody:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def placed(self, points: Sequence[Point]) -> list[Candidate | Exception]:
        return [Candidate(each, (), SPACE.decisions, None, {}, f"tile of {_tile(each)}") for each in points]

    def tried(self, chosen: Sequence[Candidate], known: Set[str]) -> Iterator[tuple[Candidate, Measurement | None]]:
        self.asked += chosen
        for each in chosen:
            yield each, failed(ps.ToolchainError("no compiler\nat all"))

    def confirmed(self, point: Point) -> Measurement:
        raise AssertionError


def _tile(point: Point) -> object:
    return dict(point.answers).get("tile.i")


def searched(crew: Nobody, trials: int) -> Tuning:
    job = Job(matmul.function, "c", OPTIONS, {"n": 60}, {})
    with Database() as database:
        return Tuner(job, SPACE, TASK, database, trials, 0, lambda _: None).run(crew, Deadline.after(inf))


def test_each_failure_is_kept_once_and_a_search_that_goes_on_adds_to_them(database: Path):
    assert searched(Nobody(), 2).counts["failed"] == 2
    again = searched(Nobody(), 4)
    assert again.counts["failed"] == again.counts["kernels measured"] == 4
    with Database() as kept:
        assert [each.note for each in kept.measured(TASK)] == ["no compiler"] * 4


def test_of_points_with_the_same_loops_one_is_built():
    crew = Nobody()
    found = searched(crew, 50)
    tiles = [_tile(each.point) for each in crew.asked]
    assert len(tiles) == len(set(tiles)) > 2 and found.stopped == "no further kernels were found"


def test_a_default_that_cannot_be_placed_is_said():
    crew = Nobody()
    crew.placed = lambda points: [CrewLost("nobody is left")]
    assert searched(crew, 1).stopped == "nobody is left"
    crew.placed = lambda points: [ps.BudgetExceeded("it took more than 45 s")]
    with pytest.raises(ps.BudgetExceeded, match="more than 45 s"):
        searched(crew, 1)
