"""polysched/codegen/products/words.py: two or four terms of narrow integers at a time."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import nests
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polysched as ps
from polysched.codegen.products.find import pack_products
from polysched.codegen.products.words import first_term, in_words, words_of
from polysched.config.machine import Machine
from polysched.ir.dtypes import ALL
from polysched.ir.interp import interpret
from polysched.ir.node import walk
from polysched.ir.nodes import DOT_HALVES, Call, Function, Select
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from tests.codegen.products.marked import nest, packed
from tests.transform.test_products import found_in

AVX2 = Machine(vector_bytes=32, vector_registers=6, l2=1024)  # tiles of 3 x 8
VNNI = replace(AVX2, instructions=("vpdpbusd",))


def matrices(
    rows: int, columns: int, terms: int, left: str = "i8", right: str = "i8", total: str = "i32", kind: str = "packed"
) -> Function:
    arrays = f"C: {total}[{rows}, {columns}], A: {left}[{rows}, {terms}], B: {right}[{terms}, {columns}]"
    update = f"C[i, j] += {total}(A[i, k]) * {total}(B[k, j])"
    return nest(arrays, f"i{rows} j{columns} k{terms}", update, kind)


def has_pairs(fn: Function) -> bool:
    return any(isinstance(node, Call) and node.fn == DOT_HALVES for node in walk(packed(fn, AVX2).body))


def test_both_factors_are_copied_two_terms_to_a_word():
    """Rows lie term by term, and are copied so."""
    assert show(packed(matrices(3, 8, 10), AVX2)) == """\
def f(C: i32[3, 8], A: i8[3, 10], B: i8[10, 8]):
    alloc q0: private i32[1, 3, 5]
    for q1 in 0..1:
        for q2 in 0..3:
            for q3 in 0..5:
                q0[q1, q2, q3] = i32(A[q1 * 3 + q2, q3]) & 65535i32 | i32(A[q1 * 3 + q2, q3 + 5]) * 65536i32
    alloc q5: private i32[1, 5, 8]
    for q6 in 0..1:
        for q8 in 0..5:
            for q7 in 0..8:
                q5[q6, q8, q7] = i32(B[q8, q6 * 8 + q7]) & 65535i32 | i32(B[q8 + 5, q6 * 8 + q7]) * 65536i32
    for q9 in 0..1:
        for q10 in 0..1:
            alloc q12: private i32[3, 8]
            for q14 in 0..3 (unrolled):
                for q15 in 0..8 (vector):
                    q12[q14, q15] = C[q10 * 3 + q14, q9 * 8 + q15]
            for q11 in 0..5:
                for q18 in 0..3 (unrolled):
                    for q19 in 0..8 (vector):
                        q12[q18, q19] = q12[q18, q19] + dot.i16(q0[q10, q18, q11], q5[q9, q11, q19])
            for q16 in 0..3 (unrolled):
                for q17 in 0..8 (vector):
                    C[q10 * 3 + q16, q9 * 8 + q17] = q12[q16, q17]"""


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("i8", "i8", True),
        ("u8", "i8", True),
        ("u8", "u8", True),
        ("i16", "i16", True),
        ("i8", "i16", True),
        ("u16", "i8", False),  # 40000 is no i16
        ("i8", "i32", False),
        ("i32", "i32", False),
    ],
)
def test_factors_that_fit_into_a_half(left, right, expected):
    assert has_pairs(matrices(4, 9, 6, left, right)) == expected


@pytest.mark.parametrize("total", ["i64", "u32", "i16"])
def test_sums_of_other_types_are_not_in_pairs(total):
    assert not has_pairs(matrices(4, 9, 6, total=total))


@pytest.mark.parametrize(
    ("factor", "expected"),
    [
        ("(i32(A[i, k]) - i32(z))", True),  # -255 .. 383
        ("(i32(A[i, k]) * 256)", True),  # -32768 .. 32512
        ("(i32(A[i, k]) * 257)", False),
        ("i32(i8(D[i, k]))", True),
        ("(i32(A[i, k]) if i < k else 40000)", False),
        ("(D[i, k] & 255)", True),
        ("i32(F[i, k])", False),
        ("i32(i16(F[i, k]))", True),
        ("i32(i)", False),  # nothing is known of it here
    ],
)
def test_what_is_computed_of_an_element_may_fit_too(factor, expected):
    arrays = "C: i32[4, 9], A: i8[4, 6], B: i8[6, 9], D: i32[4, 6], F: f32[4, 6], z: u8"
    assert has_pairs(nest(arrays, "i4 j9 k6", f"C[i, j] += {factor} * i32(B[k, j])")) == expected


def test_narrow_vectors_have_no_such_instruction():
    fn = matrices(4, 9, 6)
    assert not any(isinstance(node, Call) for node in walk(packed(fn, Machine(vector_bytes=16)).body))


def test_an_odd_term_is_alone_in_its_word():
    text = show(packed(matrices(3, 8, 7), AVX2))
    assert "| (q3 + 4 < 7 ? i32(A[q1 * 3 + q2, q3 + 4]) : 0i32) * 65536i32" in text


@pytest.mark.parametrize(
    ("loops", "halved"),
    [("k7", {"k": 4}), ("c3 r7", {"c": 3, "r": 4}), ("c4 r7", {"c": 2, "r": 7}), ("c4 r6", {"c": 4, "r": 3})],
)
def test_the_loop_that_is_half_as_long(loops, halved):
    """An even one leaves no half empty."""
    names = [loop[0] for loop in loops.split()]
    shape, place = ", ".join(loop[1:] for loop in loops.split()), ", ".join(names)
    arrays = f"C: i32[4, 9], A: i8[4, {shape}], B: i8[{shape}, 9]"
    found = found_in(arrays, f"i4 j9 {loops}", f"C[i, j] += i32(A[i, {place}]) * i32(B[{place}, j])")
    assert found is not None and (words := words_of(found, AVX2))
    assert in_words(found, words).terms.extents == halved


GUARDED = "i32(data[c, x + r - 1] if 0 <= x + r - 1 and x + r - 1 < 9 else 0)"


@pytest.mark.parametrize(("channels", "selects"), [(2, False), (3, True)])
def test_zeros_around_data_are_stored_before_them_where_both_terms_have_them_alike(channels, selects):
    arrays = f"out: i32[4, 9], data: i8[{channels}, 9], weight: i8[4, {channels}, 3]"
    done = packed(nest(arrays, f"f4 x9 c{channels} r3", f"out[f, x] += {GUARDED} * i32(weight[f, c, r])"), AVX2)
    assert any(isinstance(node, Select) for node in walk(done.body)) == selects


def test_a_term_that_only_one_factor_knows():
    arrays = "C: i32[4, 9], A: i8[4, 3], B: i8[3, 5, 9]"
    assert has_pairs(nest(arrays, "i4 j9 k3 l5", "C[i, j] += i32(A[i, k]) * i32(B[k, l, j])"))


def test_a_word_is_told_from_other_bits():
    found = found_in("C: i32[4, 9], A: i8[4, 6], B: i8[6, 9]", "i4 j9 k6", "C[i, j] += i32(A[i, k]) * i32(B[k, j])")
    assert found is not None and (words := words_of(found, AVX2)) and first_term(found.row) == found.row
    assert first_term(in_words(found, words).row) == found.row


def test_four_bytes_to_a_word_and_rows_that_are_shifted():
    """Signed bytes on both sides: 128 is added to those of rows, and its sums over columns are taken off."""
    assert show(packed(matrices(3, 8, 8), VNNI)) == """\
def f(C: i32[3, 8], A: i8[3, 8], B: i8[8, 8]):
    alloc q0: private i32[1, 3, 2]
    for q1 in 0..1:
        for q2 in 0..3:
            for q3 in 0..2:
                q0[q1, q2, q3] = i32(A[q1 * 3 + q2, q3]) + 128i32 & 255i32 | (i32(A[q1 * 3 + q2, q3 + 2]) + 128i32 & 255i32) * 256i32 | (i32(A[q1 * 3 + q2, q3 + 4]) + 128i32 & 255i32) * 65536i32 | (i32(A[q1 * 3 + q2, q3 + 6]) + 128i32) * 16777216i32
    alloc q5: private i32[1, 2, 8]
    for q6 in 0..1:
        for q8 in 0..2:
            for q7 in 0..8:
                q5[q6, q8, q7] = i32(B[q8, q6 * 8 + q7]) & 255i32 | (i32(B[q8 + 2, q6 * 8 + q7]) & 255i32) * 256i32 | (i32(B[q8 + 4, q6 * 8 + q7]) & 255i32) * 65536i32 | i32(B[q8 + 6, q6 * 8 + q7]) * 16777216i32
    alloc q9: private i32[1, 8]
    for q10 in 0..1:
        alloc q12: private i32[8]
        for q14 in 0..8 (vector):
            q12[q14] = 0i32
        for q11 in 0..2:
            for q13 in 0..8 (vector):
                q12[q13] = q12[q13] + dot.u8.i8(-2139062144i32, q5[q10, q11, q13])
        for q15 in 0..8 (vector):
            q9[q10, q15] = q12[q15]
    for q16 in 0..1:
        for q17 in 0..1:
            alloc q19: private i32[3, 8]
            for q21 in 0..3 (unrolled):
                for q22 in 0..8 (vector):
                    q19[q21, q22] = C[q17 * 3 + q21, q16 * 8 + q22] - q9[q16, q22]
            for q18 in 0..2:
                for q25 in 0..3 (unrolled):
                    for q26 in 0..8 (vector):
                        q19[q25, q26] = q19[q25, q26] + dot.u8.i8(q0[q17, q25, q18], q5[q16, q18, q26])
            for q23 in 0..3 (unrolled):
                for q24 in 0..8 (vector):
                    C[q17 * 3 + q23, q16 * 8 + q24] = q19[q23, q24]"""  # noqa: E501


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("u8", "i8", ("vpdpbusd", True, 0)),
        ("i8", "u8", ("vpdpbusd", False, 0)),
        ("i8", "i8", ("vpdpbusd", True, 128)),
        ("u8", "u8", ("vpdpbusd", False, -128)),
        ("i16", "i8", ("vpmaddwd", True, 0)),
        ("i16", "i16", ("vpmaddwd", True, 0)),
        ("u16", "i8", None),
    ],
)
def test_by_which_instruction(left, right, expected):
    arrays = f"C: i32[4, 9], A: {left}[4, 6], B: {right}[6, 9]"
    found = found_in(arrays, "i4 j9 k6", "C[i, j] += i32(A[i, k]) * i32(B[k, j])")
    words = words_of(found, VNNI)
    assert (words and (words.dot.name, words.row_first, words.shift)) == expected


def test_what_lies_in_both_ranges_is_not_shifted():
    arrays, update = "C: i32[4, 9], A: i8[4, 6], B: i8[6, 9]", "C[i, j] += i32(A[i, k]) * (i32(B[k, j]) & 127)"
    found = found_in(arrays, "i4 j9 k6", update)
    assert words_of(found, VNNI).shift == 0


@pytest.mark.parametrize("left", ["i8", "u8", "i16"])
@pytest.mark.parametrize("right", ["i8", "u8", "i16"])
@pytest.mark.parametrize("terms", [6, 7, 8])
@pytest.mark.parametrize("machine", [AVX2, VNNI])
def test_the_largest_values_keep_every_bit(left, right, terms, machine):
    """Two products of -32768 by itself are 2^31, which wraps, in pairs as alone."""
    fn = matrices(4, 9, terms, left, right)
    done = simplify(pack_products(fn, machine))
    for a, b, c in product(ends(left), ends(right), ends("i32")):
        arguments = {
            "A": np.full((4, terms), a, ALL[left].numpy),
            "B": np.full((terms, 9), b, ALL[right].numpy),
            "C": np.full((4, 9), c, np.int32),
        }
        nests.assert_same_outcome(fn, done, arguments)


def ends(dtype: str) -> tuple[int, int]:
    limits = np.iinfo(ALL[dtype].numpy)
    return int(limits.min), int(limits.max)


@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(
    st.tuples(*[st.integers(2, 9)] * 3),
    st.tuples(*[st.sampled_from(["i8", "u8", "i16"])] * 2),
    st.sampled_from([AVX2, VNNI]),
    st.integers(0, 99),
)
def test_any_values_keep_every_bit(sizes, types, machine, seed):
    rows, columns, terms = sizes
    fn, rng = matrices(rows, columns, terms, *types), np.random.default_rng(seed)
    shapes = {"C": (rows, columns), "A": (rows, terms), "B": (terms, columns)}
    arguments = {
        array.name: rng.integers(*ends(array.dtype.name), shapes[array.name], array.dtype.numpy, endpoint=True)
        for array in fn.arrays
    }
    left, right = (arguments[name].astype(np.int64) for name in "AB")
    expected = (arguments["C"] + left @ right).astype(np.int32)
    interpret(simplify(pack_products(fn, machine)), arguments)
    np.testing.assert_array_equal(arguments["C"], expected)


@pytest.mark.parametrize("types", [("u8", "i8"), ("i8", "u8"), ("i8", "i8"), ("u8", "u8"), ("i16", "i16")])
def test_the_kernel_in_c(types):
    """The least values meet where they are both terms of a word."""
    fn, rng = matrices(33, 50, 71, *types, kind="serial"), np.random.default_rng(0)
    a = rng.integers(*ends(types[0]), (33, 71), ALL[types[0]].numpy, endpoint=True)
    b = rng.integers(*ends(types[1]), (71, 50), ALL[types[1]].numpy, endpoint=True)
    a[:9], b[:, :9] = ends(types[0])[0], ends(types[1])[0]
    expected = (7 + a.astype(np.int64) @ b).astype(np.int32)
    wide = Machine(vector_bytes=64, vector_registers=32, cores=2)
    for machine in (Machine(), wide, replace(wide, instructions=("vpdpbusd",)), Machine(instructions=("vpdpbusd",))):
        done = ps.optimize(fn, options=ps.Options(machine=machine))
        assert "add_dots_" in done.source.text
        c = np.full((33, 50), 7, np.int32)
        done(A=a, B=b, C=c)
        np.testing.assert_array_equal(c, expected)
