from __future__ import annotations

from polysched.deps.dependences import Dependences
from polysched.solve.bands import BandSearch
from polysched.solve.farkas import edges
from polysched.solve.hyperplane import Affine
from polysched.support.clock import Deadline
from tests.solve.stencil import MODEL, flow, stencil_edges, stencil_form


def search(seconds: float = 60.0) -> BandSearch:
    return BandSearch(form=stencil_form(), solver="highs", deadline=Deadline.after(seconds))


def coefficients(plan) -> list[tuple[int, ...]]:
    return [hyperplane["S"].coefficients for hyperplane in plan.hyperplanes]


def test_the_stencil_is_skewed():
    plan = search().widest(["S"], stencil_edges(), {"S": ()})
    assert coefficients(plan) == [(1, 0), (1, 1)] and not plan.starts_parallel and plan.steepest == 1


def test_hyperplanes_found_outside_are_not_found_again():
    assert coefficients(search().widest(["S"], [], {"S": ((0, 1),)})) == [(1, 0)]


def test_the_other_side_of_the_span_is_tried():
    """Outside of (1, 1), only multiples of (1, 0) respect S[i, j] -> S[i + 1, j'] for any j'."""
    wide = flow("[N] -> { S[i, j] -> S[i + 1, j'] : 0 <= i < N - 1 and 0 <= j < N and 0 <= j' < N }")
    plan = search().widest(["S"], edges(MODEL, Dependences((wide,))), {"S": ((1, 1),)})
    assert coefficients(plan) == [(1, 0)]


def test_backward_only_when_nothing_else_is_legal():
    back = flow("[N] -> { S[i, j] -> S[i - 1, j] : 0 < i < N and 0 <= j < N }")
    upward = edges(MODEL, Dependences((back,)))
    found = {"S": ((0, 1),)}
    assert not search().widest(["S"], upward, found).hyperplanes
    plan = search().of_component(["S"], upward, found)
    assert plan.hyperplanes == ({"S": Affine((-1, 0), (0,), 0)},)


def test_out_of_time_there_is_no_band():
    plan = search(seconds=0.0).within_share(["S"], stencil_edges(), {"S": ()})
    assert plan.hyperplanes == () and plan.names == ("S",)
