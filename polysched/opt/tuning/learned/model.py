"""How many times as fast as the default a kernel is, by gradient-boosted trees: learned from what was measured.

    model = fitted(examples)            of Example(features, log2 of the ratio, weight)
    model.ratios([features, ...])       [0.98, 1.31, ...]
    shipped()                           the one that comes with polysched, of its own benchmarks

LightGBM, and not scikit-learn's HistGradientBoosting: no less accurate on what was measured so far, it takes a fifth of
the disk, and its models are text, which runs nothing when it is read, and which later versions read, too. A pickle does
neither.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log2
from pathlib import Path
from typing import Any

import numpy as np

from polysched.config.heuristics.tuning import CLEAR, FEWEST, MOST, PRIOR, TREES
from polysched.opt.tuning.learned.vector import by_cost
from polysched.opt.tuning.optional import optional
from polysched.results.tuned.database import Measurement

_SHIPPED = Path(__file__).with_name("shipped.txt.gz")
_BLANK = "~"  # in names, of which LightGBM wants no spaces
_FAR = 3.0  # log2 of a ratio that is predicted, beyond which predictions tell no more
_SLOWEST = -3.0  # log2 of a ratio, below which nothing is told apart


@dataclass(frozen=True)
class Example:
    """What a model learns from, or is held against."""

    features: Mapping[str, float]
    log_ratio: float  # to base two: above zero if it is faster than the default
    weight: float = 1.0


def example_of(found: Measurement) -> Example | None:
    """A measurement as an example, which counts the more the narrower its interval; None if nothing was timed."""
    if found.state == "static" or not found.features or not found.ratio or not found.low or not found.high:
        return None
    wide = log2(found.high / found.low) if found.high > found.low else CLEAR
    return Example(found.features, max(_SLOWEST, log2(found.ratio)), CLEAR / max(CLEAR, wide))


class Model:
    """Trees that correct a part of what the cost model says, and the names of the features that they ask for: others
    are left out, missing ones are known as such."""

    def __init__(self, booster: Any):
        self._booster = booster
        self.names: tuple[str, ...] = tuple(name.replace(_BLANK, " ") for name in booster.feature_name())

    def ratios(self, features: Sequence[Mapping[str, float]]) -> list[float]:
        """How many times as fast as the default each is."""
        if not features:
            return []
        corrections = self._booster.predict(_matrix(features, self.names), num_threads=1)
        return [float(2.0 ** (_prior(each) + more)) for each, more in zip(features, corrections, strict=True)]

    @property
    def text(self) -> str:
        return str(self._booster.model_to_string())

    @property
    def booster(self) -> Any:
        return self._booster


def fitted(examples: Sequence[Example], before: Model | None = None, trees: int = TREES) -> Model:
    """A model of the examples; with one `before`, it says what that gets wrong. ToolchainError without LightGBM."""
    lightgbm = _library()
    names = before.names if before else tuple(sorted({name for each in examples for name in each.features}))
    data = lightgbm.Dataset(
        _matrix([each.features for each in examples], names),
        label=[each.log_ratio - _prior(each.features) for each in examples],
        weight=[each.weight for each in examples],
        feature_name=[name.replace(" ", _BLANK) for name in names],
        params=_QUIET,
        free_raw_data=False,
    )
    settings = {**_TRAINING, "min_data_in_leaf": max(FEWEST, min(MOST, len(examples) // 30))}
    return Model(lightgbm.train(settings, data, trees, init_model=before.booster if before else None))


def _prior(features: Mapping[str, float]) -> float:
    return PRIOR * max(-_FAR, min(_FAR, by_cost(features)))


def shipped() -> Model:
    """The model that comes with polysched; ToolchainError without LightGBM."""
    return read(gzip.decompress(_SHIPPED.read_bytes()).decode())


@cache
def read(text: str) -> Model:
    """The model of this text."""
    return Model(_library().Booster(model_str=text))


def write(model: Model, path: Path = _SHIPPED) -> None:
    """In place of the one that comes with polysched."""
    path.write_bytes(gzip.compress(model.text.encode(), mtime=0))


def _library() -> Any:
    return optional("lightgbm", "tune", "a learned model")


def _matrix(features: Sequence[Mapping[str, float]], names: Sequence[str]) -> np.ndarray:
    nothing = float("nan")
    return np.array([[each.get(name, nothing) for name in names] for each in features], dtype=np.float64)


# One thread: kernels are timed in processes that are forked, which the threads of a pool would not survive.
_QUIET = {"verbosity": -1, "num_threads": 1, "min_data_in_bin": 1}
_TRAINING = {
    **_QUIET,
    "objective": "huber",  # times have outliers
    "alpha": 0.5,
    "learning_rate": 0.06,
    "num_leaves": 8,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 1.0,
    "deterministic": True,
    "force_row_wise": True,
    "seed": 0,
}
