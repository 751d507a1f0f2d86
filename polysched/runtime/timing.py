"""What a program takes: milliseconds of several runs."""

from __future__ import annotations

import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Milliseconds of each run, in order."""

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def min(self) -> float:
        return min(self.samples)

    def __str__(self) -> str:
        return f"{self.median:.3f} ms (median of {len(self.samples)} runs; the fastest took {self.min:.3f} ms)"
