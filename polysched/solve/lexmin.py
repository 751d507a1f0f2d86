"""The lexicographic minimum of a Problem, by one of four back ends that agree.

    highs   linear relaxation by warm-started simplex, branch and bound where it is fractional; the default
    isl     isl's exact parametric integer programming; call it within `isl.within`
    pulp    CBC, one objective at a time
    scipy   HiGHS' mixed integer solver, one objective at a time
"""

from __future__ import annotations

from importlib import import_module
from typing import Literal

import numpy as np

from polysched.solve.problem import Problem
from polysched.support.clock import Deadline

Solver = Literal["highs", "isl", "pulp", "scipy"]

_MODULES = {"highs": "highs", "isl": "isl_lexmin", "pulp": "pulp_cbc", "scipy": "scipy_milp"}


def lexmin(problem: Problem, solver: Solver, deadline: Deadline) -> np.ndarray | None:
    """The unknowns at the lexicographic minimum, int64, or None if no integers meet the rows.

    BudgetExceeded when the deadline passes first.
    """
    deadline.check("the scheduling ILP")
    if (problem.lower > problem.upper).any():
        return None
    if problem.big_m and solver == "isl":
        solver = "highs"
    x = _solve(problem, solver, deadline)
    if x is not None and not problem.admits(x) and solver != "isl":
        x = _solve(problem, "isl", deadline)  # a floating-point solution that rounding broke
    assert x is None or problem.admits(x), f"{solver} returned {x}, which breaks a row of\n{problem}"
    return x


def _solve(problem: Problem, solver: Solver, deadline: Deadline) -> np.ndarray | None:
    # Imported on first use: PuLP and SciPy take longer to import than most problems to solve.
    backend = import_module(f"polysched.solve.backends.{_MODULES[solver]}")
    x: np.ndarray | None = backend.solve(problem, deadline)
    return x
