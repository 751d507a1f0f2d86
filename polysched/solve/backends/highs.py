"""HiGHS: the linear relaxation by simplex, warm-started from one objective and one branch to the next.

The weighted sum of the objectives is minimized first. Each objective is then minimized alone to prove its value,
under the values proven before; the simplex basis is kept, so a proof mostly takes no step. Most relaxations have
an integral optimum; the others are settled by depth-first branch and bound, or, where that gets lost and for rows
with large factors, by HiGHS' own branch and cut.
"""

from __future__ import annotations

import math

import highspy
import numpy as np

from polysched.errors import BudgetExceeded
from polysched.solve.problem import Problem
from polysched.support.clock import Deadline

NODES = 100  # in one search: no PolyBench kernel needs ten; beyond it, cuts pay
FRACTIONAL = 1e-6  # distance from an integer at which a column still counts as one
BETTER = 1e-3  # by how much a branch must promise to improve; less than the smallest step of any objective


def solve(problem: Problem, deadline: Deadline) -> np.ndarray | None:
    """The lexicographic minimum, or None."""
    if not problem.big_m:
        try:
            return _lexicographic(problem, _BranchAndBound(problem, deadline))
        except _TooManyNodes:
            pass
    return _lexicographic(problem, _MixedInteger(problem, deadline))


def _lexicographic(problem: Problem, minimise: _BranchAndBound | _MixedInteger) -> np.ndarray | None:
    best = minimise(problem.cost)
    if best is None:
        return None
    for objective in problem.objectives[:-1]:  # with all others fixed, the weighted sum has minimized the last
        value = objective.row @ best
        if value > _least(problem, objective.row):
            alone = minimise(objective.row)
            assert alone is not None, "adding a row that the best solution meets left no solution"
            if objective.row @ alone < value - BETTER:
                value = objective.row @ alone
                minimise.cap(objective.row, value)
                best = minimise(problem.cost)
                assert best is not None
                continue
        minimise.cap(objective.row, value)
    return best


def _least(problem: Problem, row: np.ndarray) -> float:
    """What the bounds alone imply."""
    return float(np.where(row > 0, problem.lower, problem.upper) @ row)


class _Silent(highspy.Highs):
    """HiGHS 1.16 prints a banner when it enables callbacks, in its constructor: no option can be set before."""

    def enableCallbacks(self) -> None:
        self.silent()
        super().enableCallbacks()


class _Model:
    """A Problem in HiGHS, to which rows can be added."""

    def __init__(self, problem: Problem, deadline: Deadline, **options: bool | int | float | str):
        self.deadline, self.width = deadline, len(problem.names)
        self.highs = _Silent()
        settings: dict[str, bool | int | float | str] = {"output_flag": False, "threads": 1, **options}
        for name, value in settings.items():
            self.highs.setOptionValue(name, value)
        self.highs.passModel(_model(problem))

    def cap(self, row: np.ndarray, value: float) -> None:
        """From now on, row @ x <= value."""
        columns = np.flatnonzero(row).astype(np.int32)
        self.highs.addRow(-highspy.kHighsInf, float(value), len(columns), columns, row[columns].astype(float))

    def run(self) -> np.ndarray | None:
        """The optimum as HiGHS has it, or None if there is none."""
        self.deadline.check("the scheduling ILP")
        self.highs.setOptionValue("time_limit", self.highs.getRunTime() + self.deadline.left)
        self.highs.run()
        status = self.highs.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return None
        if status != highspy.HighsModelStatus.kOptimal:
            raise BudgetExceeded(f"HiGHS gave up on the scheduling ILP: {self.highs.modelStatusToString(status)}")
        return np.array(self.highs.getSolution().col_value)

    def set_cost(self, cost: np.ndarray) -> None:
        self.highs.changeColsCost(self.width, np.arange(self.width, dtype=np.int32), cost.astype(float))


class _MixedInteger(_Model):
    """HiGHS' own branch and cut: rows with a large factor on a 0-1 unknown have weak relaxations."""

    def __init__(self, problem: Problem, deadline: Deadline):
        super().__init__(problem, deadline, mip_rel_gap=0.0, mip_abs_gap=BETTER)
        kinds = np.full(self.width, highspy.HighsVarType.kInteger)
        self.highs.changeColsIntegrality(self.width, np.arange(self.width, dtype=np.int32), kinds)

    def __call__(self, cost: np.ndarray) -> np.ndarray | None:
        self.set_cost(cost)
        x = self.run()
        return None if x is None else np.rint(x).astype(np.int64)


class _TooManyNodes(Exception):
    """Branch and bound gets lost; a solver with cuts may not."""


class _BranchAndBound(_Model):
    """Depth first, upwards first, on the costliest fractional column."""

    def __init__(self, problem: Problem, deadline: Deadline):
        super().__init__(problem, deadline, presolve="off", solver="simplex")
        self.lower, self.upper = problem.lower.astype(float), problem.upper.astype(float)

    def __call__(self, cost: np.ndarray) -> np.ndarray | None:
        self.set_cost(cost)
        self.nodes = 0
        return self._search(cost, None)

    def _search(self, cost: np.ndarray, best: np.ndarray | None) -> np.ndarray | None:
        """The best integral solution within the current bounds, if better than `best`, else `best`."""
        self.nodes += 1
        if self.nodes > NODES:
            raise _TooManyNodes
        x = self.run()
        if x is None or (best is not None and cost @ x >= cost @ best - BETTER):
            return best
        fractional = np.flatnonzero(np.abs(x - np.rint(x)) > FRACTIONAL)
        if not len(fractional):
            return np.rint(x).astype(np.int64)
        column = int(fractional[np.argmax(cost[fractional])])
        lower, upper = self.lower[column], self.upper[column]
        for bounds in ((math.floor(x[column]) + 1, upper), (lower, math.floor(x[column]))):
            self._bound(column, *bounds)
            best = self._search(cost, best)
        self._bound(column, lower, upper)
        return best

    def _bound(self, column: int, lower: float, upper: float) -> None:
        self.lower[column], self.upper[column] = lower, upper
        self.highs.changeColBounds(column, float(lower), float(upper))


def _model(problem: Problem) -> highspy.HighsLp:
    count, width = problem.rows.shape
    row, column = np.nonzero(problem.rows)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = width, count
    lp.col_cost_ = np.zeros(width)
    lp.col_lower_, lp.col_upper_ = problem.lower.astype(float), problem.upper.astype(float)
    lp.row_lower_, lp.row_upper_ = problem.least.astype(float), np.full(count, highspy.kHighsInf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=count))])
    lp.a_matrix_.index_ = column
    lp.a_matrix_.value_ = problem.rows[row, column].astype(float)
    return lp
