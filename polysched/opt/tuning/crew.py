"""Those who do the work of a search: place points, build kernels, and time them.

    with AtHome(job, seed) as crew: ...      processes of this machine; learned and drawn is elsewhere

`cluster/` has another crew, of workers on other machines.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Protocol

from polysched.config.heuristics.tuning import CONFIRMED
from polysched.config.machine import machine
from polysched.errors import PolyschedError
from polysched.opt.tuning.alone import Turns
from polysched.opt.tuning.build import Built, Candidate, Job, build, place
from polysched.opt.tuning.measure import Stopwatch, failed
from polysched.opt.tuning.pool import Pool
from polysched.opt.tuning.ratio import Ratio
from polysched.results.tuned.database import Measurement
from polysched.schedule.space import Point
from polysched.support.worker import Worker

MEMORY = 8 << 30  # bytes that a process may take
PLACING, BUILDING = 45.0, 150.0  # seconds of a call


class CrewLost(PolyschedError):
    """There is nobody left to measure; what was measured is kept."""


class Crew(Protocol):
    """A context manager: those who work are there inside, and have timed the default."""

    default: str  # the digest of its text
    seconds: float  # of a call of the default
    noise: Ratio | None  # of the default and itself; None where nothing is timed
    objective: str  # what ratios are of, where that is not measured time

    def __enter__(self) -> Crew: ...

    def __exit__(self, *_: object) -> None: ...

    def placed(self, points: Sequence[Point]) -> list[Candidate | Exception]:
        """Each as a candidate, or why it is refused."""

    def tried(self, chosen: Sequence[Candidate], known: Set[str]) -> Iterator[tuple[Candidate, Measurement | None]]:
        """Each with what came of it, as it comes; None if its text is among those that are known."""

    def confirmed(self, point: Point) -> Measurement:
        """The point, measured with more pairs."""


class AtHome:
    """Processes on this machine: as many build as there are cores, while none times."""

    noise: Ratio | None = None
    objective = ""

    def __init__(self, job: Job, seed: int):
        self._job, self._pickled, self._seed = job, pickle.dumps(job), seed

    def __enter__(self) -> AtHome:
        with ExitStack() as stack:
            self._turns = Turns()
            stack.callback(self._turns.close)
            self._pool = stack.enter_context(Pool(machine().cores, MEMORY))
            alone = stack.enter_context(Worker(MEMORY))
            (default,) = self._built([None])
            if isinstance(default, Exception):
                raise default
            self._watch = Stopwatch(alone, self._turns, default, self._job.sizes, self._seed)
            self.default = default.text
            self.noise = self._watch.start()
            self.seconds = self._watch.seconds
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def placed(self, points: Sequence[Point]) -> list[Candidate | Exception]:
        with self._turns.together():
            return self._pool.map(PLACING, place, [(self._pickled, point) for point in points])

    def tried(self, chosen: Sequence[Candidate], known: Set[str]) -> Iterator[tuple[Candidate, Measurement | None]]:
        for candidate, kernel in without_known(chosen, self._built([each.point for each in chosen]), known):
            yield candidate, kernel and measured(kernel, self._watch)

    def confirmed(self, point: Point) -> Measurement:
        (kernel,) = self._built([point])
        return measured(kernel, self._watch, CONFIRMED)

    def _built(self, points: Sequence[Point | None]) -> list[Any]:
        with self._turns.together():
            return self._pool.map(BUILDING, build, [(self._pickled, point) for point in points])


def without_known(chosen: Sequence[Candidate], made: Sequence[Any], known: Set[str]) -> Iterator[tuple[Candidate, Any]]:
    """Each with what was made of it, or why nothing was; None if its text is known, or that of one before it."""
    texts = set(known)
    for candidate, each in zip(chosen, made, strict=True):
        text = None if isinstance(each, Exception) else each.text
        yield candidate, None if text in texts else each
        texts |= {text} if text else set()


def measured(kernel: Built | Exception, watch: Stopwatch, *pairs: int) -> Measurement:
    """What became of a kernel, or of the attempt to build it."""
    if not isinstance(kernel, Built):
        return failed(kernel)
    return replace(watch.measure(kernel, *pairs), kernel=kernel.text, build_seconds=round(kernel.seconds, 3))
