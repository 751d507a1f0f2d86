"""How many times as fast one kernel is as another, of samples that were taken in turns.

    ratio_of([10.0, 10.2, 13.0, ...], [8.0, 8.1, 10.5, ...])        1.25 (1.24 to 1.26, 7 pairs)

Of each pair, taken one right after the other, the ratio counts: what else the machine does falls on both. The interval
is that between two order statistics, for which nothing need be known of the distribution (Hoefler and Belli,
*Scientific benchmarking of parallel computing systems*, SC 2015).
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from polysched.config.heuristics.tuning import SIGNIFICANT, WIDE


@dataclass(frozen=True)
class Ratio:
    """The median of ratios of times, above one if the other kernel is faster, and an interval that holds it."""

    median: float
    low: float
    high: float
    pairs: int

    @property
    def is_decided(self) -> bool:
        """Does it tell which one is faster, or that they are alike?"""
        return self.low > 1.0 or self.high < 1.0 or self.high <= WIDE * self.low

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f}, {self.pairs} pairs)"


def ratio_of(one: Sequence[float], other: Sequence[float]) -> Ratio:
    """The times of `one` by those of the `other`, pair by pair.

    The interval misses the median of all such ratios in one of twenty cases at most. Of fewer than six pairs, for which
    there is no such interval, it is all that was seen.
    """
    ratios = sorted(a / b for a, b in zip(one, other, strict=True))
    cut = _left_out(len(ratios))
    return Ratio(statistics.median(ratios), ratios[cut], ratios[len(ratios) - 1 - cut], len(ratios))


def _left_out(count: int) -> int:
    """How many of so many sorted samples can be left out at each end."""
    cut, below = 0, 1
    while 2 * (below := below + comb(count, cut + 1)) <= SIGNIFICANT * 2**count:
        cut += 1
    return cut
