"""A scheduling ILP as plain data: integer unknowns, rows A x >= b, bounds, and objectives in order of importance.

    minimize u, then w, then C1 + C2, then c0, then C1 + 2C2, where
        C1 - C2 >= 0
        2u + w - C1 - C2 >= 0
        ...
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polysched.solve.hyperplane import row_text


@dataclass(frozen=True, eq=False)
class Objective:
    """A sum to be made small before those after it are looked at."""

    name: str
    row: np.ndarray  # float64, one factor per unknown
    weight: float  # its share in one weighted sum that has nearly always the same optimum


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """Lexicographic minimization over the integers."""

    names: tuple[str, ...]
    rows: np.ndarray  # int64, (constraints, unknowns)
    least: np.ndarray  # int64: rows @ x >= least
    lower: np.ndarray  # int64, per unknown
    upper: np.ndarray
    objectives: tuple[Objective, ...]
    big_m: bool = False  # some rows switch on a 0-1 unknown: isl's exact lexmin does not get through these

    def admits(self, x: np.ndarray) -> bool:
        """Does x meet every row and bound? In exact integer arithmetic."""
        inside = (self.lower <= x).all() and (x <= self.upper).all()
        return bool(inside and (self.rows @ x >= self.least).all())

    @property
    def cost(self) -> np.ndarray:
        """The weighted sum of the objectives."""
        return sum((o.weight * o.row for o in self.objectives), np.zeros(len(self.names)))

    def __str__(self) -> str:
        goals = ", then ".join(row_text(objective.row, self.names) for objective in self.objectives)
        lines = (f"{row_text(row, self.names)} >= {bound}" for row, bound in zip(self.rows, self.least, strict=True))
        return "\n".join((f"minimize {goals}, where", *(f"    {line}" for line in lines)))
