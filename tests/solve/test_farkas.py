from __future__ import annotations

import itertools

import numpy as np
import pytest

from polysched.deps.dependences import Dependence, Dependences
from polysched.solve.farkas import Edge, edges, within
from polysched.solve.hyperplane import Affine
from polysched.support import isl
from tests.scops import scop, stmt
from tests.solve.stencil import DISTANCES, MODEL, flow, stencil_edges


def plane(*coefficients: int, constant: int = 0) -> dict[str, Affine]:
    return {"S": Affine(coefficients, (0,), constant)}


def test_cone_of_a_uniform_dependence():
    """Columns: 1, N, distance in i, distance in j. Pairs exist from N = 2 on, which lets N stand for 2."""
    cone = {tuple(row) for row in stencil_edges()[2].cone.tolist()}
    assert cone == {(1, 2, 1, -1), (0, 1, 0, 0)}


def test_uniform_distances():
    assert [edge.uniform_distance for edge in stencil_edges()] == DISTANCES


@pytest.mark.parametrize("coefficients", list(itertools.product(range(-2, 3), repeat=2)))
def test_questions_about_a_hyperplane(coefficients):
    for edge, distance in zip(stencil_edges(), DISTANCES, strict=True):
        product = int(np.dot(coefficients, distance))
        assert edge.is_respected(plane(*coefficients)) == (product >= 0)
        assert edge.is_carried(plane(*coefficients)) == (product >= 1)
        assert edge.is_coincident(plane(*coefficients)) == (product == 0)


def triangle() -> Edge:
    """Row i's first element goes to all later rows: distances 1 .. N - 1 in i."""
    text = "[N] -> { S[i, j] -> S[i', j'] : j = 0 and 0 <= i < i' < N and 0 <= j' < N }"
    return edges(MODEL, Dependences((flow(text),)))[0]


def test_a_dependence_of_many_distances():
    assert triangle().uniform_distance is None
    assert triangle().is_carried(plane(1, 0)) and triangle().is_respected(plane(0, 1))
    assert not triangle().is_respected(plane(1, -1))  # j' - j can exceed i' - i
    assert not triangle().is_carried(plane(0, 1))


def test_between_statements_constants_and_shifts_count():
    model = scop(
        "[N] -> { : N >= 1 }",
        stmt("{ S[i] : 0 <= i < N }", writes="a[i]"),
        stmt("{ T[i] : 0 <= i < N }", reads="a[N - 1 - i]", writes="b[i]"),
    )
    mirrored = flow("[N] -> { S[i] -> T[N - 1 - i] : 0 <= i < N }", sink="T")
    edge = edges(model, Dependences((mirrored,)))[0]
    assert edge.is_coincident({"S": Affine((1,), (0,), 1), "T": Affine((-1,), (1,), 0)})  # i + 1 and N - i
    assert edge.is_carried({"S": Affine((1,), (0,), 0), "T": Affine((-1,), (1,), 0)})
    assert not edge.is_respected({"S": Affine((1,), (0,), 0), "T": Affine((1,), (0,), 0)})


def test_within_a_band_only_pairs_at_distance_zero_are_left():
    assert not [rest for edge in stencil_edges() for rest in within(edge, [plane(1, 0)])]
    (left,) = within(triangle(), [plane(0, 1)])
    expected = "[N] -> { S[i, 0] -> S[i', 0] : 0 <= i < i' < N }"
    assert left.relation.to_map() == isl.Map(expected)


def test_existentials_are_eliminated_safely():
    even = flow("[N] -> { S[i, j] -> S[i', j] : i' = i + 1 and i mod 2 = 0 and 0 <= i < N - 1 and 0 <= j < N }")
    (edge,) = edges(MODEL, Dependences((even,)))
    assert edge.is_carried(plane(1, 0)) and not edge.is_respected(plane(-1, 0))


def test_reductions_that_may_be_reordered_only_forbid_parallelism():
    order = Dependence(
        kind="flow",
        source="S",
        sink="S",
        array="a",
        relation=isl.Map("[N] -> { S[i, j] -> S[i, j + 1] : 0 <= i < N and 0 <= j < N - 1 }"),
        reduction=True,
    )
    assert [edge.required for edge in edges(MODEL, Dependences((order,)))] == [True]
    assert [edge.required for edge in edges(MODEL, Dependences((order,), reorder_reductions=True))] == [False]


def test_the_context_belongs_to_the_dependence():
    """j' - j = N - 4 is positive only because the context knows that N >= 5."""
    model = scop("[N] -> { : N >= 5 }", stmt("{ S[i, j] : 0 <= i < N and 0 <= j < N }", writes="a[i, j]"))
    (edge,) = edges(model, Dependences((flow("[N] -> { S[i, j] -> S[i, j + N - 4] : 0 <= i < N and 0 <= j < 4 }"),)))
    assert edge.is_carried(plane(0, 1))
