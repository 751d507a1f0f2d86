"""What a process that builds does for a tuner: places a point, predicts its time, makes its kernel.

Each call of a process is about the same nest, so its space is made once.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256

from polysched.config.options import Options, Target
from polysched.config.target import TARGETS
from polysched.cost.features import Features, features, seconds_of
from polysched.errors import BudgetExceeded
from polysched.ir.nodes import Function
from polysched.ir.text import show
from polysched.opt.tuning.learned.vector import compared, of_decisions
from polysched.pipeline import optimize
from polysched.plan.predicted import loops_of
from polysched.runtime.calibrate import calibrated
from polysched.schedule.space import Placed, Point, Space, space
from polysched.strategy.decision import Decision, Value


@dataclass(frozen=True)
class Job:
    """What is tuned."""

    nest: Function
    target: Target
    options: Options
    sizes: Mapping[str, int]
    pinned: Mapping[str, Value]


def space_with(nest: Function, target: Target, options: Options, pinned: Mapping[str, Value]) -> Space:
    """The decisions about the nest, with these answers, which are made in the order in which they are asked for."""
    found, left = space(nest, target, options=options), dict(pinned)
    while left:
        asked = [decision.key for decision in found.decisions if decision.key in left]
        key = asked[0] if asked else next(iter(left))  # which is refused
        found = found.pin(key, left.pop(key))
    return found


@dataclass(frozen=True)
class Candidate:
    """A point that is legal."""

    point: Point  # the answers that were asked for
    dropped: tuple[str, ...]  # keys of those that were not
    decisions: tuple[Decision, ...]  # all that were asked for, as answered
    seconds: float | None  # that it is predicted to take; None where that is not known
    features: Features = field(default_factory=dict, compare=False)  # its own, and beside the default's
    loops: str = ""  # a digest of its loops: those of alike points are alike


@dataclass(frozen=True)
class Built:
    """A kernel that can be loaded."""

    kernel: bytes  # the pickled Compiled
    text: str  # a digest of its text: points with the same one are alike
    seconds: float  # that it took to build


def place(job: bytes, point: Point) -> Candidate:
    """The point, with what is predicted of it; InputError or IllegalSchedule if it is refused."""
    placed = placed_at(job, point)
    loops, seconds, own = _described(job, point)
    beside = compared(own, _described(job, Point())[2]) if own else {}
    return Candidate(placed.point, placed.dropped, placed.schedule.decisions, seconds, beside, loops)


@lru_cache(maxsize=16)
def _described(job: bytes, point: Point) -> tuple[str, float | None, Features]:
    """A digest of the loops of the point, the predicted time, and features; none of these where work had no end."""
    of, schedule = job_of(job), placed_at(job, point).schedule
    if TARGETS[of.target].has_grid:  # of which the cost model knows nothing
        return "", None, {}
    with suppress(BudgetExceeded, ArithmeticError):
        loops = loops_of(schedule.tree, schedule.draft.scop, of.options)
        if loops is not None:
            machine = calibrated(of.options.machine)
            found = features(loops, of.sizes, machine, machine.cores if of.options.parallel else 1)
            seconds = seconds_of(found)
            return digest(show(loops)), seconds, {**found, **of_decisions(schedule.decisions)}
    return "", None, {}


def build(job: bytes, point: Point | None) -> Built:
    """The kernel of the point, by gcc; without a point, the default of `optimize`."""
    start = time.perf_counter()
    of = job_of(job)
    schedule = placed_at(job, point).schedule if point is not None else None
    done = optimize(of.nest, of.target, schedule=schedule, options=None if schedule else of.options)
    done.program  # noqa: B018  which compiles it to the cache
    return Built(pickle.dumps(done), digest(done.source.text), time.perf_counter() - start)


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


@lru_cache(maxsize=1)
def job_of(job: bytes) -> Job:
    found: Job = pickle.loads(job)
    return found


@lru_cache(maxsize=1)
def _space(job: bytes) -> Space:
    of = job_of(job)
    return space_with(of.nest, of.target, of.options, of.pinned)


@lru_cache(maxsize=16)
def placed_at(job: bytes, point: Point) -> Placed:
    return _space(job).at(point)
