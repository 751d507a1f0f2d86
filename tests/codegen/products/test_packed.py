"""polysched/codegen/products/packed.py: which factors are copied, in which blocks, and the tiles."""

from __future__ import annotations

import re
from dataclasses import replace
from unittest.mock import patch

import pytest

from polysched.codegen.products import sizes
from polysched.config.machine import Machine
from polysched.ir.node import walk
from polysched.ir.nodes import For, Select
from polysched.ir.text import show
from tests.codegen.products.marked import LARGE, SMALL, copies, kinds, nest, packed

MATRICES = "C: f32[6, 8], A: f32[6, 7], B: f32[7, 8]"


def test_a_tile_is_made_in_registers():
    """Two tiles of 3 x 4 side by side and two below; rows lie in memory as tiles read them, columns are copied once."""
    assert show(packed(nest(MATRICES, "i6 j8 k7", "C[i, j] += A[i, k] * B[k, j]"), LARGE)) == """\
def f(C: f32[6, 8], A: f32[6, 7], B: f32[7, 8]):
    alloc q1: private f32[2, 7, 4]
    for q2 in 0..2:
        for q4 in 0..7:
            for q3 in 0..4:
                q1[q2, q4, q3] = B[q4, q2 * 4 + q3]
    for q5 in 0..2:
        for q6 in 0..2:
            alloc q8: private f32[3, 4]
            for q10 in 0..3 (unrolled):
                for q11 in 0..4 (vector):
                    q8[q10, q11] = C[q6 * 3 + q10, q5 * 4 + q11]
            for q7 in 0..7:
                for q14 in 0..3 (unrolled):
                    for q15 in 0..4 (vector):
                        q8[q14, q15] = q8[q14, q15] + A[q6 * 3 + q14, q7] * q1[q5, q7, q15]
            for q12 in 0..3 (unrolled):
                for q13 in 0..4 (vector):
                    C[q6 * 3 + q12, q5 * 4 + q13] = q8[q12, q13]"""


@pytest.mark.parametrize(
    ("l1", "l2", "outer"),
    [
        (160, 4096, "columns"),
        (128, 4096, "rows"),  # 4 columns of 7 terms are 112 bytes
        (160, 256, "rows"),  # and the result is 192
    ],
)
def test_the_tiles_that_stay_in_the_first_cache(l1, l2, outer):
    text = show(packed(nest(MATRICES, "i6 j8 k7", "C[i, j] += A[i, k] * B[k, j]"), replace(LARGE, l1=l1, l2=l2)))
    first, second = re.findall(r"for (q5|q6) in", text)
    assert "C[q6 * 3 + q10, q5 * 4 + q11]" in text
    assert (first, second) == (("q5", "q6") if outer == "columns" else ("q6", "q5"))


COPIES = {
    "columns in blocks, rows in place": (
        "C: f32[5, 10], A: f32[5, 7], B: f32[7, 10]",
        "i5 j10 k7",
        "C[i, j] += A[i, k] * B[k, j]",
        {"B": (1, 7, 4)},
    ),
    "factors in the other order": (
        "C: f32[5, 10], A: f32[5, 7], B: f32[7, 10]",
        "i5 j10 k7",
        "C[i, j] += B[k, j] * A[i, k]",
        {"B": (1, 7, 4)},
    ),
    "rows in blocks, all columns copied": (
        "C: f32[12, 8], A: f32[2, 12, 3], B: f32[2, 3, 8]",
        "i12 j8 k2 l3",
        "C[i, j] += A[k, i, l] * B[k, l, j]",
        {"A": (1, 3, 6), "B": (2, 6, 4)},
    ),
    "rows in blocks, columns copied term by term": (
        "C: f32[12, 6], A: f32[2, 12, 3], B: f32[6, 2, 3]",
        "i12 j6 k2 l3",
        "C[i, j] += A[k, i, l] * B[j, k, l]",
        {"A": (1, 3, 6), "B": (2, 6, 4)},
    ),
    "columns in blocks, rows copied": (
        "C: f32[5, 10], A: f32[2, 5, 3], B: f32[2, 3, 10]",
        "i5 j10 k2 l3",
        "C[i, j] += A[k, i, l] * B[k, l, j]",
        {"A": (2, 6, 3), "B": (1, 6, 4)},
    ),
    "columns term by term": (
        "C: f32[3, 30], A: f32[3, 20], B: f32[30, 20]",
        "i3 j30 k20",
        "C[i, j] += A[i, k] * B[j, k]",
        {"B": (1, 20, 4)},
    ),
    "turned: fewer rows are copied as columns": (
        "C: f32[8, 60], A: f32[8, 20], B: f32[60, 20]",
        "i8 j60 k20",
        "C[i, j] += A[i, k] * B[j, k]",
        {"A": (1, 20, 4)},
    ),
    "several loops of rows and columns": (
        "C: f32[2, 3, 4, 5], A: f32[2, 3, 6], B: f32[4, 6, 5]",
        "i2 a3 j4 b5 k6",
        "C[i, a, j, b] += A[i, a, k] * B[j, k, b]",
        {"B": (1, 6, 4)},
    ),
    "products in batches": (
        "C: f32[2, 5, 8], A: f32[2, 5, 7], B: f32[2, 7, 8]",
        "b2 i5 j8 k7",
        "C[b, i, j] += A[b, i, k] * B[b, k, j]",
        {"B": (1, 7, 4)},
    ),
    "a group's columns after its rows": (
        "C: f32[3, 2, 8], A: f32[2, 3, 7], B: f32[2, 7, 8]",
        "b2 i3 j8 k7",
        "C[i, b, j] += A[b, i, k] * B[b, k, j]",
        {"B": (1, 7, 4)},
    ),
    "casts": (
        "C: i32[5, 10], A: i8[5, 7], B: i8[7, 10]",
        "i5 j10 k7",
        "C[i, j] += i32(A[i, k]) * i32(B[k, j])",
        {"B": (1, 7, 4)},
    ),
    "f64": (
        "C: f64[5, 10], A: f64[5, 7], B: f64[7, 10]",
        "i5 j10 k7",
        "C[i, j] += A[i, k] * B[k, j]",
        {"B": (1, 7, 2)},
    ),
    "what is computed of an element": (
        "C: f64[5, 10], A: f64[5, 7], B: f64[7, 10]",
        "i5 j10 k7",
        "C[i, j] += (A[i, k] + 1.0) * abs(B[k, 9 - j])",
        {"A": (2, 7, 3), "B": (1, 7, 2)},
    ),
    "constants": (
        "C: f64[5, 10], B: f64[7, 10]",
        "i5 j10 k7",
        "C[i, j] += (1.0 if i < k else 2.0) * B[k, j]",
        {"B": (1, 7, 2)},
    ),
    "zeros around data": (
        "out: f32[4, 9], data: f32[2, 9], weight: f32[4, 2, 3]",
        "f4 x9 c2 r3",
        "out[f, x] += (data[c, x + r - 1] if 0 <= x + r - 1 and x + r - 1 < 9 else 0.0) * weight[f, c, r]",
        {"data": (1, 6, 4)},
    ),
    "zeros around data that is cast": (
        "out: i32[4, 9], data: i8[2, 9], weight: i8[4, 2, 3]",
        "f4 x9 c2 r3",
        "out[f, x] += i32(data[c, x + r - 1] if 0 <= x + r - 1 and x + r - 1 < 9 else 0) * i32(weight[f, c, r])",
        {"data": (1, 6, 4)},
    ),
    "zeros around data in two dimensions, with strides": (
        "out: f32[4, 3, 4], data: f32[2, 6, 7], weight: f32[4, 2, 3, 3]",
        "f4 y3 x4 c2 r3 s3",
        "out[f, y, x] += (data[c, 2 * y + r - 1, 2 * x + s - 1] if 0 <= 2 * y + r - 1 and 2 * y + r - 1 < 6 and "
        "0 <= 2 * x + s - 1 and 2 * x + s - 1 < 7 else 0.0) * weight[f, c, r, s]",
        {"data": (1, 18, 4)},
    ),
    "in three, with dilation": (
        "out: f32[3, 2, 3, 4], data: f32[2, 4, 5], weight: f32[3, 2, 2, 2]",
        "f3 z2 y3 x4 c2 r2 s2",
        "out[f, z, y, x] += (data[z + c - 1, y + 2 * r - 1, x + 2 * s - 1] if 0 <= z + c - 1 and z + c - 1 < 2 and "
        "0 <= y + 2 * r - 1 and y + 2 * r - 1 < 4 and 0 <= x + 2 * s - 1 and x + 2 * s - 1 < 5 else 0.0) "
        "* weight[f, c, r, s]",
        {"data": (1, 8, 4)},
    ),
    "data between zeros": (
        "out: f32[4, 9], data: f32[2, 5], weight: f32[4, 2, 3]",
        "f4 x9 c2 r3",
        "out[f, x] += (data[c, (x + r - 1) // 2] if (x + r - 1) % 2 == 0 and x + r - 1 >= 0 and x + r - 1 < 10 "
        "else 0.0) * weight[f, c, r]",
        {"data": (1, 6, 4)},
    ),
    "zeros for whole terms": (
        "C: f32[5, 10], A: f32[5, 7], B: f32[7, 10]",
        "i5 j10 k7",
        "C[i, j] += A[i, k] * (B[k - 2, j] if k >= 2 else 0.0)",
        {"B": (1, 7, 4)},
    ),
}


@pytest.mark.parametrize("name", COPIES)
def test_what_is_copied(name):
    arrays, loops, update, expected = COPIES[name]
    assert copies(packed(nest(arrays, loops, update), SMALL)) == expected


def test_zeros_around_data_that_is_cast_are_stored_before_it():
    done = packed(nest(*COPIES["zeros around data that is cast"][:3]), SMALL)
    assert not any(isinstance(node, Select) for node in walk(done.body))


@pytest.mark.parametrize("rows", range(1, 8))
def test_rows_that_do_not_fill_tiles(rows):
    packed(nest("C: f32[7, 8], A: f32[7, 3], B: f32[3, 8]", f"i{rows} j8 k3", "C[i, j] += A[i, k] * B[k, j]"), SMALL)


@pytest.mark.parametrize("columns", range(1, 14))
def test_columns_that_do_not_fill_vectors(columns):
    """What is beyond the last one is not stored, and starts at zero."""
    update = "C[i, j] += A[i, k] * B[k, j]"
    for machine in (SMALL, LARGE, Machine()):
        packed(nest("C: f32[3, 13], A: f32[3, 3], B: f32[3, 13]", f"i3 j{columns} k3", update), machine)


def test_sums_that_are_not_stored_start_at_zero():
    """In lanes that hold nothing else, so that nothing is read that was never written."""
    update = "C[i, j] += A[i, k] * B[k, j]"
    for columns, starts in ((12, 0), (13, 1)):
        done = packed(nest("C: f32[3, 13], A: f32[3, 3], B: f32[3, 13]", f"i3 j{columns} k3", update), LARGE)
        tiles = [node for node in walk(done.body) if isinstance(node, For) and node.kind == "unrolled"]
        assert sum("= 0.0f32" in show(tile) for tile in tiles) == starts


@pytest.mark.parametrize("machine", [Machine(vector_bytes=1, vector_registers=1, l2=1), Machine(vector_bytes=64)])
def test_any_machine_will_do(machine):
    packed(nest(MATRICES, "i6 j8 k7", "C[i, j] += A[i, k] * B[k, j]"), machine)


def outermost(fn) -> str:
    """How the nests of a function run, one after the other: their outermost loops, and those right inside."""
    loops = [stmt for stmt in fn.body if isinstance(stmt, For)]
    return ", ".join(" ".join(one.kind for one in (loop, *loop.body) if isinstance(one, For)) for loop in loops)


BATCHES = "C: f32[4, 3, 8], A: f32[4, 3, 5], B: f32[4, 5, 8]"
SHARES = {
    "batches": (BATCHES, "b4 i3 j8 k5", "C[b, i, j] += A[b, i, k] * B[b, k, j]", "parallel serial"),
    "blocks": (
        "C: f32[3, 16], A: f32[3, 50], B: f32[50, 16]",
        "i3 j16 k50",
        "C[i, j] += A[i, k] * B[k, j]",
        "parallel serial serial",
    ),
    "the copy of all rows, then blocks": (
        "C: f32[3, 18], A: f32[5, 3, 9], B: f32[5, 9, 18]",
        "i3 j18 k5 l9",
        "C[i, j] += A[k, i, l] * B[k, l, j]",
        "parallel serial, parallel serial serial",
    ),
    "tiles of rows, and the copy of columns": (
        "C: f32[12, 4], A: f32[12, 8], B: f32[8, 4]",
        "i12 j4 k8",
        "C[i, j] += A[i, k] * B[k, j]",
        "parallel serial, parallel serial",
    ),
}


@pytest.mark.parametrize("name", SHARES)
def test_what_threads_share(name):
    arrays, loops, update, expected = SHARES[name]
    with patch.object(sizes, "SIMD_OPERATIONS", 0):
        done = packed(nest(arrays, loops, update), replace(SMALL, cores=2))
    assert outermost(done) == expected


def test_what_all_batches_share_is_copied_once():
    arrays = "C: f32[4, 3, 8], A: f32[5, 3, 2], B: f32[4, 5, 2, 8]"
    done = packed(nest(arrays, "b4 i3 j8 k5 l2", "C[b, i, j] += A[k, i, l] * B[b, k, l, 7 - j]"), SMALL)
    copy, batches = (stmt for stmt in done.body if isinstance(stmt, For))
    assert "= A" in show(copy)
    assert "= B" in show(batches)
    assert "= A" not in show(batches)


def test_all_that_is_left_are_tiles():
    assert kinds(packed(nest(MATRICES, "i6 j8 k7", "C[i, j] += A[i, k] * B[k, j]"), SMALL)) == {
        "serial",
        "unrolled",
        "vector",
    }
