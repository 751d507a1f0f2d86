"""What a model is worth for a kernel that it has not seen: it learns from the others, and is asked about this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polysched.opt.tuning.learned.model import Example, fitted
from polysched.opt.tuning.learned.vector import by_cost
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
    """Of each kernel, held against its `sure` examples, which are told apart from noise, if there are enough."""
    others = {name: [each for other in examples if other != name for each in examples[other]] for name in sure}
    return {name: _of(own, others[name]) for name, own in sure.items() if min(len(own), len(others[name])) >= FEW}


def _of(own: Sequence[Example], others: Sequence[Example]) -> HeldOut:
    model = fitted(others)
    features = [each.features for each in own]
    said = model.ratios(features)
    measured = [2.0**each.log_ratio for each in own]
    chosen = measured[max(range(len(own)), key=lambda k: said[k])]
    rank_by_cost = spearman([by_cost(each) for each in features], measured)
    return HeldOut(spearman(said, measured), rank_by_cost, chosen, 1 - chosen / max(measured))
