"""The measurements of a nest, as curves and points.

    history = History.of(database, task)
    history.best          [1.0, 1.08, 1.08, 1.21, ...]        the best ratio after each trial
    history.rank          0.81                                Spearman's, of what was predicted and measured
    history.front         those that no other beats in both time and build time
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from polysched.results.tuned.database import Database, Measurement
from polysched.results.tuned.task import Task

_SURE = ("measured", "confirmed", "static")


@dataclass(frozen=True)
class History:
    """In the order in which it was measured; what was measured again stands at the end."""

    task: Task
    measured: tuple[Measurement, ...]

    @staticmethod
    def of(database: Database, task: Task) -> History:
        return History(task, tuple(database.measured(task)))

    @cached_property
    def timed(self) -> tuple[Measurement, ...]:
        """Those with a ratio; of a GPU, by a static estimate."""
        return tuple(each for each in self.measured if each.ratio)

    @property
    def is_static(self) -> bool:
        """Are ratios estimates?"""
        return any(each.state == "static" for each in self.measured)

    @cached_property
    def best(self) -> tuple[float, ...]:
        """The best ratio so far after each kernel, of those that are told apart from noise."""
        return tuple(accumulate(map(_gain, self.measured), max))

    @cached_property
    def predicted(self) -> tuple[tuple[float, float], ...]:
        """What was predicted, and what was measured, of those of which both are known."""
        return tuple((each.predicted_ratio, each.ratio) for each in self.timed if each.predicted_ratio and each.ratio)

    @property
    def rank(self) -> float | None:
        """How well the predictions rank; None of too few."""
        return spearman(*zip(*self.predicted, strict=True)) if len(self.predicted) > 2 else None

    @cached_property
    def front(self) -> tuple[Measurement, ...]:
        """From the one that is built fastest on, each faster than those before."""
        found: list[Measurement] = []
        known = (each for each in self.timed if each.build_seconds is not None and each.milliseconds)
        for each in sorted(known, key=lambda one: (one.build_seconds or 0.0, one.milliseconds or 0.0)):
            if not found or (each.milliseconds or 0.0) < (found[-1].milliseconds or 0.0):
                found.append(each)
        return tuple(found)


def _gain(found: Measurement) -> float:
    is_sure = found.state in _SURE and (found.low or 0.0) > 1.0
    return found.ratio if is_sure and found.ratio else 1.0


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """The correlation of ranks, those of ties their mean; None if one of the two is constant."""
    first, second = _ranks(np.asarray(one)), _ranks(np.asarray(other))
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    """Of each value how many are smaller, and half of those that are equal."""
    ordered = np.sort(values)
    low, high = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    ranks: np.ndarray = (low + high - 1) / 2
    return ranks
