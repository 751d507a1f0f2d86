"""Where a search begins: with what was fastest for the nests of the database that are nearest to this one.

    seeds(rows, task, default, decisions)     [Point((("tile.i", 128),)), ...]

Near is whose default kernel has similar features. Of the nest itself, at other sizes or of another version, answers are
taken as they are; of others, numbers alone, in the place of the same kind: the second `tile` is what it was there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from polysched.config.heuristics.tuning import SEEDS
from polysched.cost.features import Features
from polysched.opt.tuning.learned.vector import of_default
from polysched.results.tuned.database import Measurement, Row
from polysched.results.tuned.task import Task
from polysched.schedule.space import Point
from polysched.strategy.decision import Decision, Value


def seeds(rows: Sequence[Row], task: Task, default: Features, decisions: Sequence[Decision]) -> list[Point]:
    """Up to a few points, those of the nearest nests first; `default` and `decisions` are those of this nest."""
    found: dict[Point, None] = {}
    for of, measured in _nearest(rows, task, default):
        best = max(measured, key=lambda each: each.ratio or 0.0)
        answers = best.answers if of.nest == task.nest else tuple(_moved(best, decisions))
        if answers:
            found.setdefault(Point(answers))
    return list(found)[:SEEDS]


def _nearest(rows: Sequence[Row], task: Task, default: Features) -> list[tuple[Task, list[Measurement]]]:
    """What was faster than the default for sure, by task; the nest itself is nearest, others by their features."""
    own: dict[Task, list[Measurement]] = defaultdict(list)
    others: dict[Task, list[Measurement]] = defaultdict(list)
    for of, found in ((row.task, row.measurement) for row in rows):
        if of.target == task.target and of.key != task.key and (found.low or 0.0) > 1.0:
            if of.nest == task.nest:
                own[of].append(found)
            elif bool(found.features) == bool(default):
                others[of].append(found)
    away = _distances(default, [of_default(measured[0].features) for measured in others.values()])
    order = sorted(zip(away, others.items(), strict=True), key=lambda pair: pair[0])
    return [*own.items(), *(group for _, group in order)]


def _distances(one: Features, others: Sequence[Features]) -> list[float]:
    """Of the features that all have, each by its spread."""
    names = sorted(set(one).intersection(*others)) if others else []
    if not names:
        return [0.0] * len(others)
    table = np.array([[each[name] for name in names] for each in (one, *others)])
    spread = table.std(axis=0)
    scaled = table / np.where(spread > 0, spread, 1.0)
    return [float(np.linalg.norm(row - scaled[0])) for row in scaled[1:]]


def _moved(best: Measurement, decisions: Sequence[Decision]) -> Iterator[tuple[str, Value]]:
    """The numbers among the answers, for the decisions of this nest in the same places."""
    there = _places([key for key, _ in best.decisions])
    here = {place: key for key, place in _places([each.key for each in decisions]).items()}
    own = {each.key: each.value for each in decisions}
    for key, value in best.answers:
        target = here.get(there[key]) if key in there else None
        if target and type(value) is type(own[target]) and not isinstance(value, str):
            yield target, value


def _places(keys: Sequence[str]) -> Mapping[str, tuple[str, int]]:
    """Of each key its kind, and how many of the kind come before it."""
    counts: dict[str, int] = defaultdict(int)
    found = {}
    for key in keys:
        kind = key.partition(".")[0]
        found[key] = kind, counts[kind]
        counts[kind] += 1
    return found
