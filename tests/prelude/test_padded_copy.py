"""polysched/prelude/padding/padded_copy.py: the box that a piecewise access runs through, with its zeros."""

from __future__ import annotations

import pytest
from nests import loop, var

import polysched as ps
from polysched.ir.build import add, conjunction, const, floordiv, load, mul, sub
from polysched.ir.nodes import Array, Binary, Const, Expr, For, Select
from polysched.ir.text import show
from polysched.prelude.padding.padded_copy import is_zero_outside, padded_copy

y, r, c, n = (var(name) for name in ("y", "r", "c", "n"))
A = Array("A", ps.f32, (const(4), const(9)))
S = Array("S", ps.f32, (n,))


def access(array: Array, *index: Expr, where: list[Expr], other: float = 0.0) -> Select:
    return Select(conjunction(where), load(array, *index), Const(other, ps.f32))


def loops(**extents: Expr | int) -> list[For]:
    return [loop(name, 0, extent) for name, extent in extents.items()]


def edges(place: Expr, extent: Expr | int) -> list[Expr]:
    return [Binary(">=", place, const(0)), Binary("<", place, const(extent) if isinstance(extent, int) else extent)]


ROW = sub(add(mul(y, 2), r), 1)


def test_a_copy_has_zeros_beside_the_dimensions_with_conditions():
    made = padded_copy(access(A, c, ROW, where=edges(ROW, 9)), A.shape, loops(y=5, c=4, r=3), (), {"x0"})
    assert made is not None
    assert str(made.array.shape[1]) == "11"
    assert "\n".join(show(made.fill).splitlines()) == """\
for x1 in 0..4:
    for x2 in 0..11:
        A_0[x1, x2] = x2 >= 1 && x2 <= 9 ? A[x1, x2 - 1] : 0.0f32"""
    assert show(made.element) == "A_0[c, y * 2 + r]"


def test_windows_may_run_backwards():
    place = sub(y, r)
    made = padded_copy(access(A, c, place, where=edges(place, 9)[:1]), A.shape, loops(y=5, c=4, r=3), (), set())
    assert made is not None
    assert show(made.array.shape[1]) == "7"
    assert show(made.element) == "A_0[c, y - r + 2]"


def test_a_condition_may_be_about_several_dimensions():
    place = sub(add(y, r), 1)
    square = Array("A", ps.f32, (const(5), const(5)))
    made = padded_copy(access(square, place, place, where=edges(place, 5)), square.shape, loops(y=5, r=3), (), set())
    assert made is not None
    assert [show(extent) for extent in made.array.shape] == ["7", "7"]
    assert show(made.element) == "A_0[y + r, y + r]"


def test_sizes_may_be_names():
    place = sub(add(y, r), 1)
    made = padded_copy(access(S, place, where=edges(place, n)), S.shape, loops(y=n, r=3), ("n",), set())
    assert made is not None
    assert show(made.array.shape[0]) == "max(n + 2, 0)"
    assert show(made.element) == "S_0[y + r]"


@pytest.mark.parametrize(
    "where",
    [
        [Binary("<=", r, y)],  # no edge
        [*edges(ROW, 8)],  # another extent
        [Binary("==", ROW, const(0))],
        [Binary(">=", sub(ROW, 1), const(0))],  # beyond the first element
    ],
)
def test_other_conditions_than_edges_have_no_copy(where):
    made = padded_copy(access(A, c, ROW, where=where), A.shape, loops(y=5, c=4, r=3), (), set())
    assert made is None


def test_places_that_are_not_linear_have_no_copy():
    place = sub(floordiv(y, 2), r)
    assert padded_copy(access(A, c, place, where=edges(place, 9)), A.shape, loops(y=5, c=4, r=3), (), set()) is None


def test_bounds_of_data_have_no_copy():
    assert padded_copy(access(A, c, ROW, where=edges(ROW, 9)), A.shape, loops(y=var("m"), c=4, r=3), (), set()) is None


def test_what_is_zero_outside_alone():
    assert is_zero_outside(access(A, c, ROW, where=edges(ROW, 9)), A.shape)
    assert not is_zero_outside(access(A, c, ROW, where=edges(ROW, 9), other=-0.0), A.shape)
    assert not is_zero_outside(access(A, c, ROW, where=edges(ROW, 9), other=1.0), A.shape)
    assert not is_zero_outside(access(A, c, ROW, where=[Binary("<=", r, y)]), A.shape)
