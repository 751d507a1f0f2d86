"""isl: exact lexicographic minimum of an integer set whose first dimensions are the objectives.

Call it within `isl.quota`: the work may grow without warning.
"""

from __future__ import annotations

import numpy as np

from polysched.solve.problem import Objective, Problem
from polysched.support import isl
from polysched.support.clock import Deadline


def solve(problem: Problem, deadline: Deadline) -> np.ndarray | None:
    """The lexicographic minimum, or None. isl cannot be interrupted: the deadline is not looked at."""
    optimum = isl.BasicSet(_polylib(problem)).lexmin()
    if optimum.is_empty():
        return None
    unknowns = isl.coordinates(optimum.sample_point())[len(problem.objectives) :]
    return np.array(unknowns, dtype=np.int64)


def _polylib(problem: Problem) -> str:
    """Rows `1 coefficients constant` of all inequalities, and `0 ...` of what the objectives equal.

    As text, since building the set constraint by constraint takes quadratic time.
    """
    goals, width = len(problem.objectives), len(problem.names)
    identity = np.eye(width, dtype=np.int64)
    rows = _block(1, goals, problem.rows, -problem.least)
    above = _block(1, goals, identity, -problem.lower)
    below = _block(1, goals, -identity, problem.upper)
    sums = np.array([_integral(o) for o in problem.objectives]).reshape(goals, width)
    equal = _block(0, goals, sums, np.zeros(goals, dtype=np.int64))
    equal[:, 1 : 1 + goals] = -np.eye(goals, dtype=np.int64)
    table = np.concatenate([equal, rows, above, below])
    lines = (" ".join(map(str, line)) for line in table.tolist())
    return "\n".join((f"{table.shape[0]} {table.shape[1]}", *lines))


def _block(kind: int, goals: int, factors: np.ndarray, constant: np.ndarray) -> np.ndarray:
    count = len(factors)
    marks = np.full((count, 1), kind, dtype=np.int64)
    return np.hstack([marks, np.zeros((count, goals), dtype=np.int64), factors, constant[:, None]])


def _integral(objective: Objective) -> np.ndarray:
    row = objective.row.astype(np.int64)
    assert (row == objective.row).all(), f"the factors of objective '{objective.name}' are not integers"
    return row
