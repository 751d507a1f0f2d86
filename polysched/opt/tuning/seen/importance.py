"""Which decisions mattered: how much worse a model of the measurements predicts if a decision's values are shuffled.

Permutation importance (Breiman, *Random forests*, Machine Learning 45, 2001), of a small model of this nest alone,
whose features are its decisions. It tells what was tried, not what could have been; decisions that changed together
share it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np

from polysched.config.heuristics.tuning import MATTERS
from polysched.opt.tuning.learned.model import Example, Model, fitted
from polysched.results.tuned.database import Measurement
from polysched.strategy.decision import Value

_SHUFFLES = 20


@dataclass(frozen=True)
class Importance:
    """Of a decision, as a factor: by how much predictions are off more in the mean if it is shuffled."""

    key: str
    factor: float


def importances(timed: Sequence[Measurement]) -> list[Importance]:
    """The most important first; none of too few measurements. ToolchainError without LightGBM."""
    known = [each for each in timed if each.decisions and each.ratio]
    if len(known) < MATTERS:
        return []
    numbers = _numbered(known)
    wanted = np.array([log2(each.ratio or 1.0) for each in known])
    model = fitted([Example(row, float(log)) for row, log in zip(numbers, wanted, strict=True)])
    usual = _error(model, numbers, wanted)
    random = np.random.default_rng(0)
    found = [Importance(key, 2 ** (_shuffled(model, numbers, wanted, key, random) - usual)) for key in model.names]
    return sorted((each for each in found if each.factor > 1.0), key=lambda each: -each.factor)


def _numbered(measured: Sequence[Measurement]) -> list[dict[str, float]]:
    """Numbers by their logarithm, names by the order in which they come; what was not asked for is left out."""
    names: dict[Value, int] = {}

    def number(value: Value) -> float:
        return log2(1 + value) if isinstance(value, int) else float(names.setdefault(value, len(names)))

    return [{key: number(value) for key, value in each.decisions} for each in measured]


def _error(model: Model, rows: Sequence[Mapping[str, float]], wanted: np.ndarray) -> float:
    """The mean of what predictions are off, in powers of two."""
    return float(np.mean(np.abs(np.log2(model.ratios(rows)) - wanted)))


def _shuffled(
    model: Model, rows: Sequence[dict[str, float]], wanted: np.ndarray, key: str, random: np.random.Generator
) -> float:
    errors = []
    for _ in range(_SHUFFLES):
        order = random.permutation(len(rows))
        values = [rows[k].get(key, float("nan")) for k in order]
        errors.append(_error(model, [{**row, key: value} for row, value in zip(rows, values, strict=True)], wanted))
    return float(np.mean(errors))
