"""polysched/codegen/products/copies.py: factors as tiles read them."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from polysched.codegen.products.copies import Copy
from polysched.ir.build import add, binary, conjunction, const, sub
from polysched.ir.dtypes import f32
from polysched.ir.nodes import Array, Const, Expr, For, Load, Select, Var
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from polysched.transform.analysis.axes import Axes

y, x, c, r, k = (Var(name) for name in "yxcrk")
PIXELS, TERMS = Axes({"y": 4, "x": 5}), Axes({"c": 2, "r": 3})


def copy(
    value: Expr, axes: Axes = PIXELS, terms: Axes = TERMS, *, by_terms: bool = True, is_flat: bool = False
) -> Copy:
    """Of two tiles of 8 columns or rows, the columns in vectors of 4."""
    shape = (2, terms.size, 8) if by_terms else (2, 8, terms.size)
    return Copy(
        Array("P", f32, tuple(map(Const, shape)), "private"),
        by_terms=by_terms,
        value=value,
        axes=axes,
        terms=terms,
        is_flat=is_flat,
        is_row=False,
        width=8,
        lanes=4 if by_terms else 1,
        names=(f"q{n}" for n in count()),
    )


def filled(copy: Copy, *, first: int = 0, end: int = 2, shared: bool = False) -> str:
    _, *loops = simplify(copy.filled(const(first), const(end), shared=shared))
    return "\n".join(map(show, loops))


def load(*index: Expr) -> Load:
    return Load("data", index, f32)


SQUARE = Axes({"y": 4, "x": 4})


def test_the_columns_of_a_tile_for_each_term():
    """Numbers 8..16 of 4 x 4 pixels, from the tile 1 on: what is of one row of pixels is read at a time."""
    assert filled(copy(load(c, y, add(x, r)), SQUARE), first=1) == """\
for q0 in 1..2:
    for q2 in floordiv(q0 * 8, 4)..floordiv(q0 * 8 + 7, 4) + 1:
        for q3 in 0..2:
            for q4 in 0..3:
                for q1 in max(q0 * 8 - q2 * 4, 0)..min(q0 * 8 + 8 - q2 * 4, 4):
                    P[q0 - 1, q3 * 3 + q4, q2 * 4 + q1 - q0 * 8] = data[q3, q2, q1 + q4]"""


def test_the_last_tile_has_what_is_left():
    """4 of 20 pixels."""
    full, _, last = filled(copy(load(c, y, add(x, r)))).partition("    else:\n")
    assert "if q0 < 2:" in full
    assert last == """\
        for q6 in floordiv(q0 * 8, 5)..floordiv(q0 * 8 + 3, 5) + 1:
            for q7 in 0..2:
                for q8 in 0..3:
                    for q5 in max(q0 * 8 - q6 * 5, 0)..min(q0 * 8 + 4 - q6 * 5, 5):
                        P[q0, q7 * 3 + q8, q6 * 5 + q5 - q0 * 8] = data[q7, q6, q5 + q8]"""


def test_columns_that_lie_side_by_side_are_read_in_one_go():
    assert filled(copy(load(c, r, y, x), SQUARE, is_flat=True)) == """\
for q0 in 0..2:
    for q2 in 0..2:
        for q3 in 0..3:
            for q1 in 0..8:
                P[q0, q2 * 3 + q3, q1] = data[q2, q3, floordiv(q0 * 8 + q1, 4), floormod(q1, 4)]"""


def test_zeros_around_data_are_stored_before():
    """The guard becomes bounds of the loops in a later pass."""
    place = sub(add(y, r), 1)
    inside = conjunction([binary("<=", 0, place), binary("<", place, 4)])
    assert filled(copy(Select(inside, load(c, place, x), const(0.0, f32)), SQUARE)) == """\
for q0 in 0..2:
    for q2 in 0..2:
        for q3 in 0..3:
            for q1 in 0..8:
                P[q0, q2 * 3 + q3, q1] = 0.0f32
    for q5 in floordiv(q0 * 8, 4)..floordiv(q0 * 8 + 7, 4) + 1:
        for q6 in 0..2:
            for q7 in 0..3:
                for q4 in max(q0 * 8 - q5 * 4, 0)..min(q0 * 8 + 8 - q5 * 4, 4):
                    if 0 <= q5 + q7 - 1 && q5 + q7 - 1 < 4:
                        P[q0, q6 * 3 + q7, q5 * 4 + q4 - q0 * 8] = data[q6, q5 + q7 - 1, q4]"""


def test_the_last_vector_is_filled_up_with_zeros():
    _, _, last = filled(copy(load(r, x, c), Axes({"x": 13}))).partition("    else:\n")
    assert last == """\
        for q5 in 0..2:
            for q6 in 0..3:
                for q4 in 0..5:
                    P[q0, q5 * 3 + q6, q4] = data[q6, q0 * 8 + q4, q5]
        for q8 in 0..2:
            for q9 in 0..3:
                for q7 in 5..8:
                    P[q0, q8 * 3 + q9, q7] = 0.0f32"""


def test_lines_that_lie_in_memory_term_by_term_are_copied_in_chunks():
    """So that what is written stays in the first cache for 64 terms."""
    weights = copy(load(x, k), Axes({"x": 16}), Axes({"k": 100}))
    assert filled(weights) == """\
for q0 in 0..2:
    for q2 in 0..2:
        for q1 in 0..8:
            for q3 in q2 * 64..min(q2 * 64 + 64, 100):
                P[q0, q3, q1] = data[q0 * 8 + q1, q3]"""


def test_several_loops_of_terms_are_one_where_they_lie_so():
    weights = copy(load(x, c, r), Axes({"x": 16}))
    assert filled(weights).splitlines()[-1].endswith("= data[q0 * 8 + q1, q4, q3]")
    assert filled(replace(weights, is_row=True)).splitlines()[-1].endswith(", floordiv(q8, 3), floormod(q8, 3)]")


def test_rows_one_after_the_other_for_terms_inside():
    assert filled(copy(load(c, x, r), Axes({"x": 16}), by_terms=False)) == """\
for q0 in 0..2:
    for q1 in 0..8:
        for q2 in 0..2:
            for q3 in 0..3:
                P[q0, q1, q2 * 3 + q3] = data[q2, q0 * 8 + q1, q3]"""


SHARED = {
    "terms": copy(load(c, y, add(x, r))),
    "chunks": copy(load(x, k), Axes({"x": 16}), Axes({"k": 100})),
    "terms around chunks": copy(load(c, x, r), Axes({"x": 16})),
    "rows": copy(load(c, x, r), Axes({"x": 16}), by_terms=False),
}


@pytest.mark.parametrize("name", SHARED)
def test_threads_share_the_tiles(name):
    _, *loops = SHARED[name].filled(const(0), const(2), shared=True)
    assert [loop.kind for loop in loops if isinstance(loop, For)] == ["parallel"]
    assert show(tuple(loops)).count("parallel") == 1
