from __future__ import annotations

import numpy as np

from polysched.deps.dependences import Dependences
from polysched.solve.cost import Form, Way
from polysched.solve.farkas import edges
from polysched.solve.hyperplane import Affine
from polysched.solve.lexmin import lexmin
from polysched.support.clock import Deadline
from tests.solve.stencil import MODEL, flow, stencil_edges, stencil_form


def test_the_rows_of_the_walk_through_B4():
    assert "\n".join(stencil_form().written(["S"], stencil_edges(), {"S": ()})) == (
        "C1 + C2 >= 0\n"
        "C1 >= 0\n"
        "C1 - C2 >= 0\n"
        "C1 + C2 >= 1\n"
        "u*N + w >= C1 + C2\n"
        "u*N + w >= C1\n"
        "u*N + w >= C1 - C2"
    )


def test_a_second_hyperplane_leaves_the_span_of_the_first():
    assert "C2 >= 1" in stencil_form().written(["S"], stencil_edges(), {"S": ((1, 0),)})


def test_rows_of_a_dependence_that_is_not_uniform():
    spread = flow("[N] -> { S[i, j] -> S[i', j] : 0 <= i < i' < N and 0 <= j < N }")
    text = stencil_form().written(["S"], edges(MODEL, Dependences((spread,))), {"S": ()})
    assert set(text) == {"C1 >= 0", "C1 + C2 >= 1", "u >= C1", "2u + w >= C1", "u >= 0"}


def test_a_loop_that_counts_down_enters_with_its_sign_flipped():
    form = Form(sizes=("N",), iterators={"S": ("i", "j")}, signs={"S": np.array([1, -1])})
    (edge,) = edges(MODEL, Dependences((flow("[N] -> { S[i, j] -> S[i, j - 1] : 0 <= i < N and 0 < j < N }"),)))
    assert "C2 >= 0" in form.written(["S"], [edge], {"S": ()})
    x = lexmin(form.problem(["S"], [edge], {"S": ((1, 0),)}, Way()), "highs", Deadline.after(60))
    assert form.hyperplane(["S"], x) == {"S": Affine((0, -1), (0,), 0)}


def test_another_way_out_of_the_span():
    problem = stencil_form().problem(["S"], [], {"S": ((1, 1),)}, Way(basis=0, sign=-1))
    assert str(problem).endswith("where\n    C1 - C2 >= 1")


def test_either_sign_admits_the_smaller_tie_B5():
    """(0, 2, 1, -1) is legal too; the default keeps coefficients at zero or more, and Pluto+ prefers forward."""
    form = stencil_form(signed=True)
    problem = form.problem(["S"], stencil_edges(), {"S": ((1, 0),)}, Way())
    names = problem.names
    backward = {"w": 2, "C1": 1, "C2": -1, "|C1|": 1, "|C2|": 1, "side": 1}
    assert problem.admits(np.array([backward.get(name, 0) for name in names]))
    x = lexmin(problem, "highs", Deadline.after(60))
    assert dict(zip(names, x.tolist(), strict=True)) | {"side": 0} == {
        "u": 0, "w": 2, "C1": 1, "C2": 1, "d1": 0, "c0": 0, "|C1|": 1, "|C2|": 1, "side": 0,
    }  # fmt: skip


def test_of_either_sign_but_never_in_the_span():
    form = stencil_form(signed=True)
    problem = form.problem(["S"], [], {"S": ((1, 0),)}, Way())
    for c1 in range(-4, 5):
        for c2 in range(-4, 5):
            sides = ({"C1": c1, "C2": c2, "|C1|": abs(c1), "|C2|": abs(c2), "side": side} for side in (0, 1))
            vectors = [np.array([values.get(name, 0) for name in problem.names]) for values in sides]
            assert any(map(problem.admits, vectors)) == (c2 != 0)
