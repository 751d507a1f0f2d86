"""The search at work: draws, builds, times, keeps, and confirms the winner."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random

from polysched.config.heuristics.tuning import AT_ONCE, CONFIRMED, DRAWN, EXHAUSTED, FINALISTS, GAIN, PARENTS
from polysched.config.machine import machine
from polysched.errors import PolyschedError
from polysched.opt.tuning.alone import Turns
from polysched.opt.tuning.build import Built, Candidate, Job, build, place
from polysched.opt.tuning.measure import Stopwatch
from polysched.opt.tuning.pool import Pool
from polysched.opt.tuning.report import Progress, Tuning, differences
from polysched.opt.tuning.search import Search
from polysched.results.tuned.database import Database, Measurement
from polysched.results.tuned.task import Task
from polysched.schedule.schedule import Schedule
from polysched.schedule.space import Point, Space
from polysched.support.clock import Deadline
from polysched.support.worker import Worker

_MEMORY = 8 << 30  # bytes that a process may take
_PLACING, _BUILDING = 45.0, 150.0  # seconds of a call


class Tuner:
    """Of one nest at some sizes; what is known of it counts as if this run had measured it."""

    def __init__(
        self,
        job: Job,
        space: Space,
        task: Task,
        database: Database,
        trials: int,
        seed: int,
        progress: Callable[[Progress], object],
    ):
        self._job, self._space, self._task, self._database = job, space, task, database
        self._trials, self._seed, self._progress = trials, seed, progress
        self._pins = frozenset(space.pinned.items())
        self._known = [each for each in database.measured(task) if self._pins <= frozenset(each.answers)]
        self._search = Search(space, Random(f"{seed} {len(self._known)}"))
        self._counts: Counter[str] = Counter()
        self._texts = {each.kernel for each in self._known}
        self._stopped = ""

    def run(self, deadline: Deadline) -> Tuning:
        """Until there are so many trials, the time is over, no kernels are left, or a Ctrl-C."""
        with self._at_work() as (pool, watch):
            try:
                self._seek(pool, watch, deadline)
                self._confirm(pool, watch)
            except KeyboardInterrupt:
                self._stopped = _INTERRUPTED
            return self._result(watch)

    @contextmanager
    def _at_work(self) -> Iterator[tuple[Pool, Stopwatch]]:
        """Processes that build, and one that times."""
        self._pickled = pickle.dumps(self._job)
        turns = Turns()
        try:
            with Pool(machine().cores, _MEMORY) as pool, Worker(_MEMORY) as alone:
                with turns.together():
                    default = _built(pool.map(_BUILDING, build, [(self._pickled, None)])[0])
                self._turns = turns
                self._texts.add(default.text)
                watch = Stopwatch(alone, turns, default, self._job.sizes, self._seed)
                self._noise = watch.start()
                yield pool, watch
        finally:
            turns.close()

    # --- the search

    def _seek(self, pool: Pool, watch: Stopwatch, deadline: Deadline) -> None:
        self._recall(pool)
        in_vain = 0
        while (left := self._trials - len(self._known)) > 0 and in_vain < EXHAUSTED:
            if not deadline.left:
                self._stopped = "the time was over"
                return
            count = min(AT_ONCE, left)
            with self._turns.together():
                chosen = self._search.chosen(self._candidates(pool, DRAWN * count), count)
                kernels = pool.map(_BUILDING, build, [(self._pickled, each.point) for each in chosen])
            for candidate, kernel in zip(chosen, kernels, strict=True):
                if deadline.left and self._search.try_once(candidate.point):
                    self._try(candidate, kernel, watch)
            in_vain = 0 if self._trials - len(self._known) < left else in_vain + 1
        if in_vain == EXHAUSTED:
            self._stopped = "no further kernels were found"

    def _recall(self, pool: Pool) -> None:
        """What is known of the nest leads the search, too."""
        self._search.try_once(Point())
        default = Candidate(Point(), (), self._space.decisions, None)
        self._search.learn(default, 1.0)
        for each in self._known:
            self._search.try_once(self._point(each))
        best = sorted((each for each in self._known if each.state in _TIMED), key=_ratio, reverse=True)[:PARENTS]
        for each, found in zip(best, self._placed(pool, [self._point(each) for each in best]), strict=True):
            if isinstance(found, Candidate):
                self._search.learn(found, _ratio(each))

    def _candidates(self, pool: Pool, count: int) -> list[Candidate]:
        """Of so many points those that are new and legal; of the others it is counted what is wrong."""
        points = self._search.drawn(count)
        found = dict[Point, Candidate]()
        for point, each in zip(points, self._placed(pool, points), strict=True):
            if not isinstance(each, Candidate):
                self._counts["refused"] += self._search.try_once(point)
                continue
            self._counts["answers dropped"] += len(each.dropped)
            found.setdefault(each.point, each)
        return [each for each in found.values() if not self._search.is_tried(each.point)]

    def _placed(self, pool: Pool, points: Sequence[Point]) -> list[object]:
        return pool.map(_PLACING, place, [(self._pickled, point) for point in points])

    def _try(self, candidate: Candidate, kernel: Built | PolyschedError | RuntimeError, watch: Stopwatch) -> None:
        """Measures a kernel, unless its text is known, and keeps what came of it."""
        if isinstance(kernel, Built) and kernel.text in self._texts:
            self._counts["alike"] += 1
            return
        if isinstance(kernel, Built):
            self._texts.add(kernel.text)
            found = replace(watch.measure(kernel), kernel=kernel.text)
        else:
            found = Measurement(answers=(), state="failed", note=str(kernel).partition("\n")[0])
        predicted = 1e3 * candidate.seconds if candidate.seconds is not None else None
        answers = (*self._space.pinned.items(), *candidate.point.answers)
        found = replace(found, answers=answers, predicted_milliseconds=predicted)
        self._keep(found)
        if found.state in _TIMED:
            self._search.learn(candidate, _ratio(found))
        best = max(map(_ratio, self._winners()), default=1.0)
        self._progress(Progress(len(self._known), max(self._trials, len(self._known)), found, best))

    def _keep(self, found: Measurement) -> None:
        self._database.keep(self._task, found)
        self._known = [each for each in self._known if each.answers != found.answers] + [found]

    # --- the winner

    def _winners(self) -> list[Measurement]:
        """Those that seem to be faster than the default, the best first."""
        timed = [each for each in self._known if each.state in _TIMED and (each.low or 0.0) > 1.0]
        return sorted(timed, key=_ratio, reverse=True)

    def _confirm(self, pool: Pool, watch: Stopwatch) -> None:
        """Measures the best ones again, until one has won twice."""
        for each in self._winners()[:FINALISTS]:
            if each.state == "confirmed":
                return
            with self._turns.together():
                kernel = pool.map(_BUILDING, build, [(self._pickled, self._point(each))])[0]
            if not isinstance(kernel, Built):
                continue
            found = watch.measure(kernel, CONFIRMED)
            found = replace(found, answers=each.answers, kernel=kernel.text)
            found = replace(found, predicted_milliseconds=each.predicted_milliseconds)
            has_won = found.state == "measured" and (found.low or 0.0) >= GAIN
            self._keep(replace(found, state="confirmed") if has_won else found)
            if has_won:
                return

    def _result(self, watch: Stopwatch) -> Tuning:
        best = next((each for each in self._winners() if each.state == "confirmed"), None)
        schedule = self._space.at(self._point(best)).schedule if best else self._space.schedule
        default = Schedule.auto(self._job.nest, self._job.target, options=self._job.options)
        states = Counter[str](each.state for each in self._known)
        return Tuning(
            name=self._task.name,
            sizes=self._task.sizes,
            default_milliseconds=(best and best.default_milliseconds) or 1e3 * watch.seconds,
            noise=self._noise,
            best=best,
            differences=differences(default.decisions, schedule.decisions) if best else (),
            script=schedule.script,
            counts={"kernels measured": len(self._known), **{state: states[state] for state in _SAID}, **self._counts},
            stopped=self._stopped,
            is_interrupted=self._stopped == _INTERRUPTED,
        )

    def _point(self, found: Measurement) -> Point:
        """Without what is pinned."""
        return Point(tuple(each for each in found.answers if each not in self._pins))


_INTERRUPTED = "interrupted: what was measured is kept, and the same call goes on from there"
_TIMED = ("measured", "confirmed", "slow")  # what tells how fast others like it may be
_SAID = ("slow", "noisy", "wrong", "failed")


def _ratio(found: Measurement) -> float:
    return found.ratio or 0.0


def _built(found: object) -> Built:
    if isinstance(found, Exception):
        raise found
    assert isinstance(found, Built)
    return found
