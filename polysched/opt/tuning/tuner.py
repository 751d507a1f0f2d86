"""The search at work: draws, has points judged, built and timed, keeps what comes of it, and confirms the winner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from random import Random

from polysched.config.heuristics.tuning import AT_ONCE, DRAWN, EXHAUSTED, FINALISTS, GAIN, GENERATIONS, PARENTS
from polysched.errors import IllegalSchedule, InputError
from polysched.opt.tuning.build import Candidate, Job
from polysched.opt.tuning.crew import Crew, CrewLost
from polysched.opt.tuning.learned.judge import Judge
from polysched.opt.tuning.learned.seeds import seeds
from polysched.opt.tuning.report import Progress, Tuning, differences
from polysched.opt.tuning.search import Search
from polysched.results.tuned.database import Database, Measurement
from polysched.results.tuned.task import Task
from polysched.schedule.schedule import Schedule
from polysched.schedule.space import Point, Space
from polysched.support.clock import Deadline

_Judged = tuple[float | None, Candidate]


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
        self._trials, self._progress = trials, progress
        self._pins = frozenset(space.pinned.items())
        self._known = [each for each in database.measured(task) if self._pins <= frozenset(each.answers)]
        self._search = Search(space, Random(f"{seed} {len(self._known)}"))
        self._counts: Counter[str] = Counter()
        self._texts = {each.kernel for each in self._known}
        self._loops: set[str] = set()  # digests of those that were tried
        self._judge = Judge(None)
        self._stopped = ""

    def run(self, crew: Crew, deadline: Deadline) -> Tuning:
        """Until there are so many trials, the time is over, no kernels are left, or a Ctrl-C."""
        with crew:
            self._texts.add(crew.default)
            try:
                self._seek(crew, deadline)
                self._confirm(crew)
            except KeyboardInterrupt:
                self._stopped = _INTERRUPTED
            except CrewLost as error:
                self._stopped = str(error)
            return self._result(crew)

    # --- the search

    def _seek(self, crew: Crew, deadline: Deadline) -> None:
        if self._left() <= 0:
            return
        in_vain, begin = 0, self._begun(crew)
        while (left := self._left()) > 0 and in_vain < EXHAUSTED:
            if not deadline.left:
                self._stopped = "the time was over"
                return
            self._judge.learn(self._known)
            count = min(AT_ONCE, left)
            judged = self._generations(crew, begin, DRAWN * count)
            begin = []
            self._try(self._search.chosen(judged, count), {each.point: of for of, each in judged}, crew, deadline)
            in_vain = 0 if self._left() < left else in_vain + 1
        if in_vain == EXHAUSTED:
            self._stopped = "no further kernels were found"

    def _left(self) -> int:
        return self._trials - len(self._known)

    def _begun(self, crew: Crew) -> list[Point]:
        """What is known of the nest leads the search, too; and points to begin with, of other nests."""
        (default,) = crew.placed([Point()])
        if isinstance(default, Exception):
            raise default
        self._loops.add(default.loops)
        self._search.try_once(Point())
        self._search.learn(default, 1.0)
        for each in self._known:
            self._search.try_once(self._point(each))
        best = sorted((each for each in self._known if each.state in _TIMED), key=_ratio, reverse=True)[:PARENTS]
        for each, found in zip(best, crew.placed([self._point(each) for each in best]), strict=True):
            if isinstance(found, Candidate):
                self._loops.add(found.loops)
                self._search.learn(found, _ratio(each))
        rows = self._database.rows()
        self._judge = Judge.of(rows, self._task)
        return seeds(rows, self._task, default.features, default.decisions)

    def _generations(self, crew: Crew, begin: Sequence[Point], count: int) -> list[_Judged]:
        """Of so many points each, near the best of those before, which the first finds among those to begin with."""
        found = self._judged(self._new(crew, begin))
        for _ in range(GENERATIONS):
            best = sorted((each for each in found if each[0] is not None), key=lambda each: -(each[0] or 0.0))
            points = self._search.drawn(count, [each for _, each in best[:PARENTS]])
            found += self._judged(self._new(crew, points, {_loops(each) for _, each in found}))
        return found

    def _new(self, crew: Crew, points: Sequence[Point], there: Set[str] = frozenset()) -> list[Candidate]:
        """Of the points those that are new and legal, one of those with the same loops; others are counted, but for
        those whose loops are `there`."""
        found = dict[str, Candidate]()
        for point, each in zip(points, crew.placed(points) if points else (), strict=True):
            if not isinstance(each, Candidate):
                self._counts["refused"] += self._search.try_once(point)
            elif each.loops and each.loops in self._loops:
                self._counts["alike"] += self._search.try_once(point)
            elif not self._search.is_tried(each.point) and _loops(each) not in there:
                self._counts["answers dropped"] += len(each.dropped)
                found.setdefault(_loops(each), each)
        return list(found.values())

    def _judged(self, candidates: list[Candidate]) -> list[_Judged]:
        return list(zip(self._judge.ratios(candidates), candidates, strict=True))

    def _try(
        self, chosen: Sequence[Candidate], ratios: dict[Point, float | None], crew: Crew, deadline: Deadline
    ) -> None:
        """Has kernels measured, and keeps what comes of them, but of those whose text is known."""
        for candidate, found in crew.tried(chosen, self._texts):
            self._search.try_once(candidate.point)
            self._loops.add(candidate.loops)
            if found is None or (found.kernel and found.kernel in self._texts):
                self._counts["alike"] += 1
            else:
                self._keep_new(candidate, found, ratios[candidate.point])
            if not deadline.left:
                return

    def _keep_new(self, candidate: Candidate, found: Measurement, predicted: float | None) -> None:
        self._texts |= {found.kernel} if found.kernel else set()
        found = replace(
            found,
            answers=(*self._space.pinned.items(), *candidate.point.answers),
            predicted_milliseconds=1e3 * candidate.seconds if candidate.seconds is not None else None,
            predicted_ratio=predicted and round(predicted, 4),
            decisions=tuple((each.key, each.value) for each in candidate.decisions),
            features=candidate.features,
        )
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

    def _confirm(self, crew: Crew) -> None:
        """Measures the best ones again, until one has won twice."""
        for each in self._winners()[:FINALISTS]:
            if each.state in _WON:
                return
            again = crew.confirmed(self._point(each))
            if not again.kernel:
                continue
            found = replace(each, **{name: getattr(again, name) for name in _OF_A_RUN}, made="")
            has_won = found.state == "measured" and (found.low or 0.0) >= GAIN
            self._keep(replace(found, state="confirmed") if has_won else found)
            if has_won:
                return

    def _result(self, crew: Crew) -> Tuning:
        best, schedule = self._best()
        default = Schedule.auto(self._job.nest, self._job.target, options=self._job.options)
        what = "kernels estimated" if crew.objective else "kernels measured"
        states = Counter[str](each.state for each in self._known)
        return Tuning(
            name=self._task.name,
            sizes=self._task.sizes,
            default_milliseconds=(best and best.default_milliseconds) or 1e3 * crew.seconds,
            noise=crew.noise,
            best=best,
            differences=differences(default.decisions, schedule.decisions) if best else (),
            script=schedule.script,
            counts={what: len(self._known), **{state: states[state] for state in _SAID}, **self._counts},
            stopped=self._stopped,
            is_interrupted=self._stopped == _INTERRUPTED,
            task=self._task,
            objective=crew.objective,
            judge=self._judge.missing,
        )

    def _best(self) -> tuple[Measurement | None, Schedule]:
        """The fastest for sure, if the strategy still takes its answers; else none, and the default."""
        for each in self._winners():
            if each.state in _WON and (each.low or 0.0) >= GAIN:
                with suppress(InputError, IllegalSchedule):
                    return each, self._space.at(self._point(each)).schedule
        return None, self._space.schedule

    def _point(self, found: Measurement) -> Point:
        """Without what is pinned."""
        return Point(tuple(each for each in found.answers if each not in self._pins))


_INTERRUPTED = "interrupted: what was measured is kept, and the same call goes on from there"
_WON = ("confirmed", "static")
_TIMED = ("measured", "slow", *_WON)  # what tells how fast others like it may be
_SAID = ("slow", "noisy", "wrong", "failed")
_OF_A_RUN = ("state", "ratio", "low", "high", "pairs", "milliseconds", "default_milliseconds", "kernel", "note")


def _loops(candidate: Candidate) -> str:
    """What those that are alike share, as far as that is known."""
    return candidate.loops or str(candidate.point)


def _ratio(found: Measurement) -> float:
    return found.ratio or 0.0
