"""What `optimize` takes of the database: the answers of the fastest schedule that was confirmed for a nest.

It does not know the sizes of later calls, so of several at which the nest was tuned, it takes the largest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import prod

from polysched.config.options import Options, Target
from polysched.errors import InputError
from polysched.ir.nodes import Function
from polysched.results.tuned.database import Database, database_path
from polysched.results.tuned.task import known_to
from polysched.schedule.schedule import Schedule
from polysched.schedule.space import Point, space
from polysched.strategy.decision import Value


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """A schedule out of the database."""

    answers: tuple[tuple[str, Value], ...]  # to decisions of the strategy
    ratio: float  # how many times as fast as the default, in the median
    low: float
    high: float
    sizes: str  # at which that was measured
    refusal: str = ""  # why it is not followed, if it is not

    def __str__(self) -> str:
        what = f"{Point(self.answers)}: {self.as_measured}"
        return f"{what}; the default runs, since {self.refusal}" if self.refusal else what

    @property
    def as_measured(self) -> str:
        where = f" at {self.sizes}" if self.sizes else ""
        return f"{self.ratio:.2f} times as fast as the default ({self.low:.2f} to {self.high:.2f}), measured{where}"


def tuned_for(nest: Function, target: Target, options: Options) -> Tuned | None:
    """What there is of the nest on this machine, if the options ask for it; InputError if they require it, and there is
    nothing."""
    if options.tuned == "ignore":
        return None
    task = known_to(nest, target, options)
    if task and database_path().exists():
        with Database() as database:
            if rows := database.best_of_any_size(task):
                best = max(rows, key=lambda row: _size(row.task.sizes))
                found = best.measurement
                assert found.ratio and found.low and found.high  # or it would not be confirmed
                return Tuned(
                    answers=found.answers, ratio=found.ratio, low=found.low, high=found.high, sizes=best.task.sizes
                )
    if options.tuned == "require":
        hint = "tune it with ps.tune() or `polysched tune`, or allow the default with Options(tuned='use')"
        raise InputError(f"the database has no schedule for '{nest.name}' on this machine", hint=hint)
    return None


def tuned_schedule(nest: Function, target: Target, options: Options, tuned: Tuned) -> Schedule:
    """The schedule; InputError or IllegalSchedule if the strategy no longer asks for these answers, or takes them."""
    placed = space(nest, target, options=replace(options, tuned="ignore")).at(Point(tuned.answers))
    if placed.dropped:
        raise InputError(f"nothing asks for {', '.join(placed.dropped)} any more")
    return placed.schedule


def _size(sizes: str) -> int:
    return prod(map(int, re.findall(r"= (\d+)", sizes)))
