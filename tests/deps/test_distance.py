"""polysched/deps/distance.py: what follows from the distances of dependences along nested loops."""

from __future__ import annotations

import pytest

from polysched.deps.distance import Distances
from polysched.support import isl


def vectors(text: str) -> Distances:
    return Distances(isl.Set(f"{{ {text} }}"))


STENCIL = "[1, -1]; [1, 0]; [1, 1]"


def test_the_stencil_is_tiled_after_a_skew_by_one():
    found = vectors(STENCIL)
    assert str(found) == "(1, -1..1)"
    assert not found.is_permutable
    assert found.skews == ((1, 0, 1),)
    assert str(found.skewed(1, 0, 1)) == "(1, 0..2)"
    assert found.skewed(1, 0, 1).is_permutable


@pytest.mark.parametrize(
    ("text", "range_"),
    [
        ("[0, 3]", "(0, 3)"),
        ("[x, y] : x >= 1", "(1.., *)"),
        ("[x, y] : x <= -1 and 0 <= y <= 2", "(..-1, 0..2)"),
    ],
)
def test_ranges(text, range_):
    assert str(vectors(text)) == range_


def test_which_loops_are_parallel_inside_of_those_before():
    found = vectors("[1, -1]; [0, 0]")
    assert not found.is_parallel(0)
    assert found.is_parallel(1)
    assert not vectors("[0, 1]").is_parallel(1)


def test_interchange_is_legal_unless_a_source_would_run_after_its_sink():
    assert not vectors("[1, -1]").reordered([1, 0]).in_order
    assert vectors("[1, 1]").reordered([1, 0]).in_order
    assert vectors("[1, 0]").reordered([1, 0]).in_order


def test_each_loop_is_skewed_by_those_around_it():
    """Seidel's stencil in two dimensions."""
    found = vectors("[1, x, y] : -1 <= x, y <= 1; [0, 1, y] : -1 <= y <= 1; [0, 0, 1]")
    assert found.skews == ((1, 0, 1), (2, 0, 1), (2, 1, 1))


def test_no_skew_helps_against_a_distance_without_bound():
    assert vectors("[1, x] : x <= 0").skews is None
    assert vectors("[1, -5]").skews is None, "more than four times is not tried"


def test_of_two_skews_that_do_the_outer_one_is_taken():
    """Jacobi's stencil in two dimensions: j + t, not j + i + t."""
    assert vectors("[1, -1, 0]; [1, 1, 0]; [1, 0, -1]; [1, 0, 1]").skews == ((1, 0, 1), (2, 0, 1))


def test_skews_that_another_order_does_not_need():
    found = vectors("[1, -1, -1]")
    assert found.needed(lambda now: now.is_permutable) == ((1, 0, 1), (2, 0, 1))
    assert found.needed(lambda now: now.reordered([1, 0, 2]).in_order) == ((1, 0, 1),)
    assert vectors("[1, x] : x <= 0").needed(lambda now: True) is None


def test_without_dependences_everything_is_legal():
    none = vectors("[x, y] : false")
    assert none.is_permutable and none.in_order and none.is_parallel(0) and none.skews == ()
