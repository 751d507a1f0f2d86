"""All back ends give one optimum."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polysched.errors import BudgetExceeded
from polysched.solve.backends import highs
from polysched.solve.cost import Way
from polysched.solve.lexmin import lexmin
from polysched.solve.problem import Objective, Problem
from polysched.support.clock import Deadline
from tests.solve.stencil import stencil_edges, stencil_form

SOLVERS = ["highs", "isl", "pulp", "scipy"]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PuLP announces its next version


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_stencil_B5(solver):
    form, edges = stencil_form(), stencil_edges()
    first = lexmin(form.problem(["S"], edges, {"S": ()}, Way()), solver, Deadline.after(60))
    second = lexmin(form.problem(["S"], edges, {"S": ((1, 0),)}, Way()), solver, Deadline.after(60))
    assert first[:4].tolist() == [0, 1, 1, 0]
    assert second[:4].tolist() == [0, 2, 1, 1]


@pytest.mark.parametrize("solver", SOLVERS)
def test_infeasible_is_none(solver):
    assert lexmin(small(rows=[[1, 1, 1]], least=[20]), solver, Deadline.after(60)) is None


@pytest.mark.parametrize("solver", ["highs", "isl", "pulp", "scipy"])
def test_no_time_is_an_error(solver):
    with pytest.raises(BudgetExceeded, match="the scheduling ILP ran out of time"):
        lexmin(small(rows=[], least=[]), solver, Deadline.after(0))


def test_a_weighted_sum_that_trades_is_corrected():
    """x = 1, y = 0 costs less than x = 0, y = 4 when weighted 3 : 1, but x comes first."""
    problem = small(rows=[[4, 1, 0]], least=[4], weights=(3, 1, 0.1))
    assert problem.cost @ [1, 0, 0] < problem.cost @ [0, 4, 0]
    assert lexmin(problem, "highs", Deadline.after(60)).tolist() == [0, 4, 0]


def test_fractional_relaxations_are_branched_on():
    """2x + 2y >= 3, of odd parity: the relaxation's optimum is x + y = 1.5."""
    problem = small(rows=[[2, 2, 0]], least=[3])
    assert lexmin(problem, "highs", Deadline.after(60)).tolist() == [0, 2, 0]


def test_branch_and_bound_that_gets_lost_is_left_to_cuts(monkeypatch):
    monkeypatch.setattr(highs, "NODES", 1)
    assert lexmin(small(rows=[[2, 2, 0]], least=[3]), "highs", Deadline.after(60)).tolist() == [0, 2, 0]


def small(rows, least, weights=(1e4, 1e2, 1)) -> Problem:
    """minimise x, then y, then z, each from 0 to 5."""
    objectives = (Objective(name, np.eye(3)[k], weights[k]) for k, name in enumerate("xyz"))
    return Problem(
        names=("x", "y", "z"),
        rows=np.array(rows, dtype=np.int64).reshape(-1, 3),
        least=np.array(least, dtype=np.int64),
        lower=np.zeros(3, dtype=np.int64),
        upper=np.full(3, 5),
        objectives=tuple(objectives),
    )


row = st.lists(st.integers(-4, 4), min_size=3, max_size=3)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(row, st.integers(-6, 9)), max_size=5))
def test_small_ilps_by_enumeration(constraints):
    problem = small([r for r, _ in constraints], [b for _, b in constraints])
    feasible = [x for x in product(range(6), repeat=3) if problem.admits(np.array(x))]
    expected = min(feasible, default=None)
    for solver in ("highs", "isl", "scipy"):  # CBC starts a process each time
        x = lexmin(problem, solver, Deadline.after(60))
        assert (None if x is None else tuple(x.tolist())) == expected, solver
