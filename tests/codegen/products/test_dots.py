"""polysched/codegen/products/dots.py: few rows, with lanes that are terms."""

from __future__ import annotations

import random
from dataclasses import replace
from unittest.mock import patch

import nests
import numpy as np
import pytest

import polysched as ps
from polysched.codegen.products import sizes
from polysched.codegen.products.find import pack_products
from polysched.frontend.python import parse_nest
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from tests.codegen.products.marked import SMALL, kinds, marked, nest, packed


def test_a_row_meets_several_columns_at_a_time():
    """The last two terms are a vector of their own; i32 sums are the same in any order."""
    arrays = "out: i32[2, 11], x: i32[2, 10], w: i32[11, 10]"
    fn = nest(arrays, "i2 j11 k10", "out[i, j] += x[i, k] * w[j, k]", "dots")
    text = show(packed(fn, SMALL))
    assert text.partition("        else:")[0] == """\
def f(out: i32[2, 11], x: i32[2, 10], w: i32[11, 10]):
    for q0 in 0..2:
        if q0 < 1:
            alloc q1: private i32[2, 8, 4]
            for q3 in 0..2 (unrolled):
                for q4 in 0..8 (unrolled):
                    for q5 in 0..4 (vector):
                        q1[q3, q4, q5] = 0i32
            for q2 in 0..2:
                for q6 in 0..2 (unrolled):
                    for q7 in 0..8 (unrolled):
                        for q8 in 0..4 (vector):
                            q1[q6, q7, q8] = q1[q6, q7, q8] + x[q6, q2 * 4 + q8] * w[q0 * 8 + q7, q2 * 4 + q8]
            for q9 in 0..2 (unrolled):
                for q10 in 0..8 (unrolled):
                    for q11 in 0..2 (vector):
                        q1[q9, q10, q11] = q1[q9, q10, q11] + x[q9, q11 + 8] * w[q0 * 8 + q10, q11 + 8]
            for q12 in 0..2 (unrolled):
                for q13 in 0..8 (unrolled):
                    out[q12, q0 * 8 + q13] = out[q12, q0 * 8 + q13] + q1[q12, q13, 0] + q1[q12, q13, 1] + q1[q12, q13, 2] + q1[q12, q13, 3]
"""  # noqa: E501


def test_what_is_made_of_sums_is_stored_in_their_place():
    text = """def f(out: i32[2, 11], x: i32[2, 10], w: i32[11, 10], b: i32[11]):
    for i in range(2):
        for j in range(11):
            for k in range(10):
                out[i, j] += x[i, k] * w[j, k]
    for i in range(2):
        for j in range(11):
            out[i, j] = out[i, j] * out[i, j] + b[j]
"""
    done = packed(marked(text, "dots", behind=1), SMALL)
    stores = [line.strip() for line in show(done).splitlines() if line.strip().startswith("out[")]
    assert len(done.body) == 1
    assert stores[0] == "out[q12, q0 * 8 + q13] = q1[q12, q13, 0] * q1[q12, q13, 0] + b[q0 * 8 + q13]"


@pytest.mark.parametrize("terms", [1, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("columns", [1, 2, 7, 8, 9])
@pytest.mark.parametrize("rows", [1, 2, 3, 20])
def test_any_sizes(rows, columns, terms):
    arrays = "out: i32[20, 9], x: i32[20, 11], w: i32[9, 11]"
    packed(nest(arrays, f"i{rows} j{columns} k{terms}", "out[i, j] += x[i, k] * w[j, k]", "dots"), SMALL)


def test_batches_have_loops_of_their_own():
    arrays = "out: i64[3, 2, 9], x: i64[3, 2, 7], w: i64[3, 9, 7]"
    fn = nest(arrays, "b3 i2 j9 k7", "out[b, i, j] += w[b, j, k] * x[b, i, k]", "dots")
    assert show(packed(fn, SMALL)).splitlines()[1:3] == ["    for b in 0..3:", "        for q0 in 0..2:"]


def test_sums_start_with_a_constant_that_a_loop_before_has_stored():
    fn = marked(
        """def f(out: i32[2, 9], x: i32[2, 7], w: i32[9, 7]):
    for i in range(2):
        for j in range(9):
            out[i, j] = 5
    for i in range(2):
        for j in range(9):
            for k in range(7):
                out[i, j] += x[i, k] * w[j, k]
""",
        "dots",
    )
    done = show(packed(fn, SMALL))
    assert "out[i, j] = 5" not in done
    assert "= out" not in done
    assert " + 5i32 + " in done


def test_threads_share_the_columns():
    fn = nest("out: i32[1, 64], x: i32[1, 8], w: i32[64, 8]", "i1 j64 k8", "out[i, j] += x[i, k] * w[j, k]", "dots")
    with patch.object(sizes, "SIMD_OPERATIONS", 0):
        assert "parallel" in kinds(packed(fn, replace(SMALL, cores=2)))


def test_floats_differ_by_rounding_alone():
    arrays = "out: f32[2, 9], x: f32[2, 70], w: f32[9, 70]"
    fn = nest(arrays, "i2 j9 k70", "out[i, j] += x[i, k] * w[j, k]", "dots")
    arguments = nests.arguments_for(fn, random.Random(7), 0)
    done = nests.outcome(simplify(pack_products(fn, SMALL)), arguments)["out"]
    np.testing.assert_allclose(done, arguments["out"] + arguments["x"] @ arguments["w"].T, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "reorder", "expected"), [("f32", True, True), ("f32", False, False), ("i8", False, True)]
)
def test_the_pipeline_asks_before_it_reorders(dtype, reorder, expected):
    fn = parse_nest(
        f"""def f(out: {dtype}[2, 70], x: {dtype}[2, 70], w: {dtype}[70, 70]):
    for i in range(2):
        for j in range(70):
            for k in range(70):
                out[i, j] += x[i, k] * w[j, k]
""",
        "dense.py",
    )
    done = ps.optimize(fn, options=ps.Options(reorder_reductions=reorder))
    assert ("mark: dots:S" in str(done.tree)) == expected
    done.verify()
