"""What a model is told of a point: its kernel and its decisions, each beside those of the default of its nest.

Ratios of times are learned, not times: so what differs from the default counts, and nests of any size teach one model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import log2

from polysched.cost.features import Features
from polysched.strategy.decision import Decision

_BESIDE = " than the default"


def of_decisions(decisions: Sequence[Decision]) -> Features:
    """Of each kind, as of all tiles, how many say yes, and the logarithm of the product of what they say."""
    found: Features = defaultdict(float)
    for each in decisions:
        kind = each.key.partition(".")[0]
        found[f"how many {kind}"] += bool(each.value)
        if isinstance(each.value, int):
            found[f"product of {kind}"] += log2(1 + each.value)
    return {name: round(value, 3) for name, value in found.items()}


def compared(one: Features, default: Features) -> Features:
    """The features of a kernel, and by how much they are more than the default's."""
    names = dict.fromkeys((*one, *default))
    more = {f"{name}{_BESIDE}": round(one.get(name, 0.0) - default.get(name, 0.0), 3) for name in names}
    return {**one, **more}


def by_cost(beside: Mapping[str, float]) -> float:
    """The logarithm to base two of how many times as fast as the default the cost model takes it for; 0 if unknown."""
    return -beside.get(f"predicted seconds{_BESIDE}", 0.0)


def of_default(beside: Mapping[str, float]) -> Features:
    """The features of the default, out of those of another kernel of its nest."""
    more = {name.removesuffix(_BESIDE): value for name, value in beside.items() if name.endswith(_BESIDE)}
    return {name: round(beside.get(name, 0.0) - value, 3) for name, value in more.items()}
