"""PuLP with the CBC solver that it ships, one objective at a time, each under the values reached before."""

from __future__ import annotations

import numpy as np
import pulp

from polysched.errors import BudgetExceeded
from polysched.solve.problem import Problem
from polysched.support.clock import Deadline


def solve(problem: Problem, deadline: Deadline) -> np.ndarray | None:
    """The lexicographic minimum, or None."""
    model = pulp.LpProblem("schedule", pulp.LpMinimize)
    bounds = zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)
    unknowns = [pulp.LpVariable(f"x{k}", low, high, cat="Integer") for k, (low, high) in enumerate(bounds)]
    for row, least in zip(problem.rows.tolist(), problem.least.tolist(), strict=True):
        model += _sum(row, unknowns) >= least
    x = problem.lower
    for objective in problem.objectives:
        deadline.check("the scheduling ILP")
        model.setObjective(_sum(objective.row.tolist(), unknowns))
        status = model.solve(pulp.PULP_CBC_CMD(msg=False, threads=1, gapRel=0.0, timeLimit=deadline.left))
        if status == pulp.LpStatusInfeasible:
            return None
        if status != pulp.LpStatusOptimal:
            raise BudgetExceeded(f"CBC gave up on the scheduling ILP: {pulp.LpStatus[status]}")
        x = np.array([round(unknown.value() or 0) for unknown in unknowns], dtype=np.int64)
        model += _sum(objective.row.tolist(), unknowns) <= float(objective.row @ x)
    return x


def _sum(row: list[float], unknowns: list[pulp.LpVariable]) -> pulp.LpAffineExpression:
    return pulp.LpAffineExpression([(unknown, factor) for unknown, factor in zip(unknowns, row, strict=True) if factor])
