"""The schedules that a strategy could have made: its decisions, each with its candidates.

    space = ps.space(matmul).pin("tile.i", 32)
    point = space.draw(Random(0))            rows.i = 4, parallel.i_o = 'j_o'
    space.at(point).schedule                 with these answers, checked

Decisions depend on one another: with other tiles, loops have other names, and are asked other things. So a point is a
set of answers, of which those count that are asked for; one that leads to an illegal schedule is refused like any edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from random import Random

from polysched.config.heuristics.tuning import CHANGED
from polysched.config.options import Options, Target
from polysched.errors import InputError
from polysched.frontend.op.op import Op
from polysched.frontend.python import Nest
from polysched.ir.nodes import Function
from polysched.schedule.schedule import Schedule, schedule_of
from polysched.strategy.decision import Decision, Value
from polysched.support import isl
from polysched.support.brief import Brief, brief
from polysched.support.entry import entries, entry


@dataclass(frozen=True, repr=False)
class Point(Brief):
    """Answers to decisions; without any, what the strategy chooses by itself."""

    answers: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        return ", ".join(f"{key} = {value!r}" for key, value in self.answers) or "the default"

    def but(self, answers: Mapping[str, Value]) -> Point:
        """With these answers in place of its own, or beside them."""
        return Point(tuple({**dict(self.answers), **answers}.items()))


@dataclass(frozen=True)
class Placed:
    """What a point stands for."""

    point: Point  # without the answers that nothing has asked for
    schedule: Schedule
    dropped: tuple[str, ...]  # keys of those


@entry
def space(nest: Nest | Op | Function, target: Target = "c", *, options: Options | None = None) -> Space:
    """The decisions of the strategy that schedules the nest for `target`, with the candidates of each.

    Print it, `pin` some, `draw` points and ask for their `neighbours`; `ps.tune` measures them. InputError for a nest
    that cannot be compiled, or whose schedule no strategy has written: there is nothing to decide then.
    """
    schedule = Schedule.auto(nest, target, options=options)
    if not schedule.decisions:
        why = schedule.unwritten or "nothing can be done otherwise"
        raise InputError(f"'{schedule.nest.name}' has no decisions: {why}")
    return Space(schedule, {})


@entries
@dataclass(frozen=True, repr=False)
class Space:
    """Decisions and their candidates; printed, a table. It does not change: `pin` gives another one."""

    schedule: Schedule  # the strategy's own, but for what is pinned
    pinned: Mapping[str, Value]

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """All of them at the default, those that are pinned, too."""
        return self.schedule.decisions

    @property
    def points(self) -> int:
        """How many there are if each decision is asked for at each; some are illegal, and some alike."""
        return prod(len(each.candidates) for each in self.decisions if each.key not in self.pinned)

    def pin(self, key: str, value: Value) -> Space:
        """The space of those schedules with this answer, which need not be a candidate if it is a number.

        InputError if there is no such decision or value, IllegalSchedule if it breaks a dependence.
        """
        return Space(self.schedule.decide(key, value), {**self.pinned, key: value})

    def draw(self, random: Random) -> Point:
        """A point at which up to three decisions are others than at the default."""
        return self.changed(Point(), self.decisions, random)

    def changed(self, point: Point, decisions: Sequence[Decision], random: Random) -> Point:
        """The point with another answer to one, two or three of the `decisions` that are asked for there."""
        free = self._free(decisions)
        chosen = random.sample(free, min(len(free), random.choice(CHANGED)))
        return point.but({each.key: random.choice(_others(each)) for each in chosen})

    def neighbours(self, point: Point | None = None) -> tuple[Point, ...]:
        """The points with another answer to one of the decisions that are asked for there."""
        placed = self.at(point or Point())
        free = self._free(placed.schedule.decisions)
        return tuple(placed.point.but({each.key: value}) for each in free for value in _others(each))

    def at(self, point: Point) -> Placed:
        """The schedule with the answers of the point, without those that are not asked for.

        InputError for a value that is no candidate there, or if a pinned decision would vanish; IllegalSchedule if the
        answers break a dependence.
        """
        written = self.schedule._state.written
        assert written
        answers = {key: value for key, value in point.answers if key not in self.pinned}
        with isl.within(written.given.options.compile_seconds):
            state = written.again(answers, drops=True)
        schedule = schedule_of(self.schedule.nest, state)
        asked = [decision.key for decision in schedule.decisions]
        if lost := [key for key in self.pinned if key not in asked]:
            raise InputError(f"with {point}, nothing asks for {', '.join(lost)}, which is pinned")
        taken = tuple((key, answers[key]) for key in asked if key in answers)
        return Placed(Point(taken), schedule, tuple(key for key in answers if key not in asked))

    def _free(self, decisions: Sequence[Decision]) -> list[Decision]:
        return [each for each in decisions if each.key not in self.pinned and _others(each)]

    def __repr__(self) -> str:
        return brief(self, f"{self.schedule.nest.name}: {len(self.decisions)} decisions, {self.points} points")

    def __str__(self) -> str:
        rows = [("decision", "value", "candidates")]
        for each in self.decisions:
            others = "pinned" if each.key in self.pinned else ", ".join(map(repr, each.candidates))
            rows.append((each.key, repr(each.value), others))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:2]
        lines = [f"{key:{widths[0]}}  {value:{widths[1]}}  {others}" for key, value, others in rows]
        return "\n".join([*lines, f"{self.points} points, some of which are illegal or alike"])


def _others(decision: Decision) -> list[Value]:
    return [value for value in decision.candidates if value != decision.value]
