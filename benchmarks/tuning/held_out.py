"""What a model is worth for a kernel that it has not seen: it learns from the others, and is asked about this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polysched.cost.features import seconds_of
from polysched.opt.tuning.learned.model import Example, fitted
from polysched.opt.tuning.learned.vector import of_default
from polysched.opt.tuning.seen.history import spearman

FEW = 4  # examples, of which no rank is told


@dataclass(frozen=True)
class HeldOut:
    """Of a kernel; None where there is too little to tell."""

    rank: float | None  # Spearman's, of what the model says and what was measured
    rank_by_cost: float | None  # the same of the hand-written cost model
    alone: float  # ratio of what the model thinks to be fastest of all that was measured, the default among them
    regret: float  # how much slower that is than the fastest one, as a part of its time


def held_out(examples: Mapping[str, Sequence[Example]], sure: Mapping[str, Sequence[Example]]) -> dict[str, HeldOut]:
    """Of each kernel, held against its `sure` examples, which are told apart from noise."""
    return {name: _of(name, own, examples) for name, own in sure.items() if len(own) >= FEW}


def _of(name: str, own: Sequence[Example], examples: Mapping[str, Sequence[Example]]) -> HeldOut:
    model = fitted([each for other, of in examples.items() if other != name for each in of])
    features = [each.features for each in own]
    said = model.ratios(features)
    measured = [2.0**each.log_ratio for each in own]
    by_cost = [seconds_of(of_default(each)) / seconds_of(dict(each)) for each in features]
    chosen = measured[max(range(len(own)), key=lambda k: said[k])]
    return HeldOut(spearman(said, measured), spearman(by_cost, measured), chosen, 1 - chosen / max(measured))
