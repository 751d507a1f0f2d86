from __future__ import annotations

import numpy as np

from polysched.solve.cost import Way
from polysched.solve.problem import Objective, Problem
from tests.solve.stencil import stencil_edges, stencil_form


def test_the_ilp_of_the_stencil_prints():
    problem = stencil_form().problem(["S"], stencil_edges(), {"S": ()}, Way())
    assert str(problem) == (
        "minimize u, then w, then C1 + C2, then c0, then 2C1 + 4C2, where\n"
        "    2u + w - C1 - C2 >= 0\n"
        "    2u + w - C1 >= 0\n"
        "    C1 - C2 >= 0\n"
        "    2u + w - C1 + C2 >= 0\n"
        "    C1 + C2 >= 1"
    )


def test_unknowns_of_several_statements_are_named_by_statement_and_iterator():
    form = stencil_form()
    form = type(form)(sizes=("M", "N"), iterators={"S": ("i",), "T": ()}, signs=form.signs)
    assert form.layout(["S", "T"]).names == ("u.M", "u.N", "w", "S.i", "S.0", "T.0")


def test_admits_checks_rows_and_bounds():
    problem = Problem(
        names=("x", "y"),
        rows=np.array([[1, -1]]),
        least=np.array([0]),
        lower=np.array([0, 0]),
        upper=np.array([3, 3]),
        objectives=(Objective("x", np.array([1.0, 0.0]), 1.0),),
    )
    assert problem.admits(np.array([2, 1]))
    assert not problem.admits(np.array([1, 2]))
    assert not problem.admits(np.array([4, 1]))
