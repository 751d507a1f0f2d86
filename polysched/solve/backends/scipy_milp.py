"""SciPy: `milp`, one objective at a time, each under the values reached before."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from polysched.errors import BudgetExceeded
from polysched.solve.problem import Problem
from polysched.support.clock import Deadline

INFEASIBLE = 2  # the status that SciPy documents for it


def solve(problem: Problem, deadline: Deadline) -> np.ndarray | None:
    """The lexicographic minimum, or None."""
    constraints = [LinearConstraint(problem.rows, problem.least, np.inf)] if len(problem.rows) else []
    bounds, integral = Bounds(problem.lower, problem.upper), np.ones(len(problem.names))
    x = problem.lower
    for objective in problem.objectives:
        deadline.check("the scheduling ILP")
        options = {"mip_rel_gap": 0.0, "time_limit": deadline.left}
        result = milp(objective.row, constraints=constraints, bounds=bounds, integrality=integral, options=options)
        if result.status == INFEASIBLE:
            return None
        if not result.success:
            raise BudgetExceeded(f"SciPy gave up on the scheduling ILP: {result.message}")
        x = np.rint(result.x).astype(np.int64)
        constraints.append(LinearConstraint(objective.row[None, :], -np.inf, objective.row @ x))
    return x
