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
from polysched.transform.products import Axes

y, x, c, r, k = (Var(name) for name in "yxcrk")
PIXELS, TERMS = Axes({"y": 4, "x": 5}), Axes({"c": 2, "r": 3})


def copy(value: Expr, axes: Axes = PIXELS, terms: Axes = TERMS, *, size: int = 8, by_terms: bool = True) -> Copy:
    shape = (terms.size, size) if by_terms else (size, terms.size)
    return Copy(
        Array("P", f32, tuple(map(Const, shape)), "private"),
        by_terms=by_terms,
        value=value,
        axes=axes,
        terms=terms,
        is_flat=False,
        is_row=False,
        lanes=4 if by_terms else 1,
        names=(f"q{n}" for n in count()),
    )


def filled(copy: Copy, *, first: int = 8, end: int = 16, shared: bool = False) -> str:
    _, *loops = simplify(copy.filled(const(first), const(end), shared=shared))
    return "\n".join(map(show, loops))


def load(*index: Expr) -> Load:
    return Load("data", index, f32)


def test_the_columns_of_a_block_for_each_term():
    """Numbers 8..16 of 4 x 5 pixels: a row of them is read at a time."""
    assert filled(copy(load(c, y, add(x, r)))) == """\
for q2 in 0..2:
    for q3 in 0..3:
        for q1 in 1..4:
            for q0 in max(8 - q1 * 5, 0)..min(16 - q1 * 5, 5):
                P[q2 * 3 + q3, q1 * 5 + q0 - 8] = data[q2, q1, q0 + q3]"""


def test_columns_that_lie_side_by_side_are_read_in_one_go():
    flat = replace(copy(load(c, r, y, x)), is_flat=True)
    assert filled(flat) == """\
for q1 in 0..2:
    for q2 in 0..3:
        for q0 in 8..16:
            P[q1 * 3 + q2, q0 - 8] = data[q1, q2, floordiv(q0, 5), floormod(q0, 5)]"""


def test_zeros_around_data_are_stored_before():
    """The guard becomes bounds of the loops in a later pass."""
    place = sub(add(y, r), 1)
    inside = conjunction([binary("<=", 0, place), binary("<", place, 4)])
    assert filled(copy(Select(inside, load(c, place, x), const(0.0, f32)))) == """\
for q3 in 0..2:
    for q4 in 0..3:
        for q0 in 8..16:
            P[q3 * 3 + q4, q0 - 8] = 0.0f32
        for q2 in 1..4:
            for q1 in max(8 - q2 * 5, 0)..min(16 - q2 * 5, 5):
                if 0 <= q2 + q4 - 1 && q2 + q4 - 1 < 4:
                    P[q3 * 3 + q4, q2 * 5 + q1 - 8] = data[q3, q2 + q4 - 1, q1]"""


def test_lines_of_zeros_are_made_of_lanes():
    """gcc 12 stores the zeros last where it unrolls lines that are as short as these."""
    guarded = Select(binary("<=", 1, r), load(c, sub(r, 1), x), const(0.0, f32))
    assert filled(copy(guarded, Axes({"x": 5})), first=0, end=5) == """\
for q3 in 0..2:
    for q4 in 0..3:
        for q0 in 0..5 (vector):
            P[q3 * 3 + q4, q0] = 0.0f32
        for q1 in 0..5 (vector):
            if 1 <= q4:
                P[q3 * 3 + q4, q1] = data[q3, q4 - 1, q1]
        for q2 in 5..8 (vector):
            P[q3 * 3 + q4, q2] = 0.0f32"""


def test_the_last_vector_is_filled_up_with_zeros():
    assert filled(copy(load(r, x, c), Axes({"x": 13})), first=8, end=13) == """\
for q2 in 0..2:
    for q3 in 0..3:
        for q0 in 8..13:
            P[q2 * 3 + q3, q0 - 8] = data[q3, q0, q2]
        for q1 in 13..16:
            P[q2 * 3 + q3, q1 - 8] = 0.0f32"""


def test_lines_that_lie_in_memory_term_by_term_are_copied_in_chunks():
    """So that what is written stays in the first cache for 64 terms."""
    weights = copy(load(x, k), Axes({"x": 40}), Axes({"k": 100}))
    assert filled(weights) == """\
for q1 in 0..2:
    for q0 in 8..16:
        for q2 in q1 * 64..min(q1 * 64 + 64, 100):
            P[q2, q0 - 8] = data[q0, q2]"""


def test_several_loops_of_terms_are_one_where_they_lie_so():
    weights = copy(load(x, c, r), Axes({"x": 40}))
    assert filled(weights).splitlines()[-1].endswith("= data[q0, q3, q2]")
    assert filled(replace(weights, is_row=True)).splitlines()[-1].endswith("[q4, floordiv(q6, 3), floormod(q6, 3)]")


def test_rows_one_after_the_other_for_terms_inside():
    assert filled(copy(load(c, x, r), Axes({"x": 40}), by_terms=False)) == """\
for q0 in 8..16:
    for q1 in 0..2:
        for q2 in 0..3:
            P[q0 - 8, q1 * 3 + q2] = data[q1, q0, q2]"""


SHARED = {
    "terms": copy(load(c, y, add(x, r))),
    "chunks": copy(load(x, k), Axes({"x": 40}), Axes({"k": 100})),
    "terms around chunks": copy(load(c, x, r), Axes({"x": 40})),
    "rows": copy(load(c, x, r), Axes({"x": 40}), by_terms=False),
}


@pytest.mark.parametrize("name", SHARED)
def test_threads_share_the_outermost_loop(name):
    _, *loops = SHARED[name].filled(const(8), const(16), shared=True)
    assert [loop.kind for loop in loops if isinstance(loop, For)] == ["parallel"]
    assert show(tuple(loops)).count("parallel") == 1
