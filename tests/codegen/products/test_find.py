"""polysched/codegen/products/find.py: marked loops as products of packed matrices or as dot products."""

from __future__ import annotations

import re
from dataclasses import replace
from unittest.mock import patch

import pytest
from fuzz_products import check_products
from hypothesis import given, settings
from hypothesis import strategies as st

from polysched.codegen.products import sizes
from polysched.codegen.products.find import pack_products
from polysched.config.machine import Machine
from polysched.ir.build import binary, var
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, For, Function, If, Store
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from tests.codegen.products.marked import LARGE, SMALL, kinds, marked, packed

CONVOLUTION = """def conv(out: f32[3, 10], data: f32[12], w: f32[3, 3]):
    for f in range(3):
        for x in range(10):
            out[f, x] = 0.0
    for f in range(3):
        for x in range(10):
            for r in range(3):
                out[f, x] += data[x + r] * w[f, r]
"""


def test_a_convolution_is_made_in_tiles_from_blocks_of_packed_columns():
    """The sums start at zero, whose loop goes; the last tile is stored in part, from a copy."""
    assert show(packed(marked(CONVOLUTION), SMALL)) == """\
def conv(out: f32[3, 10], data: f32[12], w: f32[3, 3]):
    for q0 in 0..2:
        alloc q1: private f32[2, 3, 4]
        for q2 in floordiv(q0 * 3, 2)..floordiv((q0 + 1) * 3, 2):
            if q2 < 2:
                for q4 in 0..3:
                    for q3 in 0..4:
                        q1[q2 - floordiv(q0 * 3, 2), q4, q3] = data[q2 * 4 + q3 + q4]
            else:
                for q6 in 0..3:
                    for q5 in 0..2:
                        q1[q2 - floordiv(q0 * 3, 2), q6, q5] = data[q2 * 4 + q5 + q6]
                for q8 in 0..3:
                    for q7 in 2..4:
                        q1[q2 - floordiv(q0 * 3, 2), q8, q7] = 0.0f32
        for q9 in floordiv(q0 * 3, 2)..floordiv((q0 + 1) * 3, 2):
            for q10 in 0..1:
                if q9 < 2:
                    alloc q12: private f32[3, 4]
                    for q14 in 0..3 (unrolled):
                        for q15 in 0..4 (vector):
                            q12[q14, q15] = 0.0f32
                    for q11 in 0..3:
                        for q18 in 0..3 (unrolled):
                            for q19 in 0..4 (vector):
                                q12[q18, q19] = q12[q18, q19] + q1[q9 - floordiv(q0 * 3, 2), q11, q19] * w[q10 * 3 + q18, q11]
                    for q16 in 0..3 (unrolled):
                        for q17 in 0..4 (vector):
                            out[q10 * 3 + q16, q9 * 4 + q17] = q12[q16, q17]
                else:
                    alloc q21: private f32[3, 4]
                    for q23 in 0..3 (unrolled):
                        for q24 in 0..4 (vector):
                            q21[q23, q24] = 0.0f32
                    for q20 in 0..3:
                        for q31 in 0..3 (unrolled):
                            for q32 in 0..4 (vector):
                                q21[q31, q32] = q21[q31, q32] + q1[q9 - floordiv(q0 * 3, 2), q20, q32] * w[q10 * 3 + q31, q20]
                    alloc q22: private f32[3, 4]
                    for q27 in 0..3 (unrolled):
                        for q28 in 0..4 (vector):
                            q22[q27, q28] = q21[q27, q28]
                    for q29 in 0..3 (unrolled):
                        for q30 in 0..2 (vector):
                            out[q10 * 3 + q29, q9 * 4 + q30] = q22[q29, q30]"""  # noqa: E501


def test_other_functions_stay_the_same_object():
    fn = marked(CONVOLUTION, "serial")
    assert pack_products(fn, SMALL) is fn


def product(before: str = "", columns: int = 8) -> str:
    """A nest over an `out` of 8 x 8, after some other statements."""
    return f"""def f(out: f64[8, 8], copy: f64[8, 8], A: f64[8, 5], B: f64[5, 8]):
{before}    for i in range(8):
        for j in range({columns}):
            for k in range(5):
                out[i, j] += A[i, k] * B[k, j]
"""


ZERO = "    for i in range(8):\n        for j in range(8):\n            out[i, j] = 0.0\n"


@pytest.mark.parametrize(
    "before",
    [ZERO, ZERO.replace("0.0", "-0.0"), ZERO.replace("0.0", "2.5"), ZERO.replace("i, j", "j, i")],
)
def test_sums_that_a_loop_before_starts_are_not_loaded(before):
    fn = marked(product(before))
    done = packed(fn, LARGE)
    assert fn.body[0] not in done.body
    assert not loads_sums(done)


def loads_sums(fn: Function) -> bool:
    """Do sums in registers begin with elements of out?"""
    return re.search(r"^ +q\d+\[.*\] = out\[", show(fn), re.MULTILINE) is not None


KEPT = {
    "what out holds": "",
    "a part": ZERO.replace("range(8)", "range(7)", 1),
    "a diagonal": "    for i in range(8):\n        out[i, i] = 0.0\n",
    "a row": "    for i in range(8):\n        out[3, i] = 0.0\n",
    "every second row": ZERO.replace("range(8)", "range(0, 8, 2)", 1),
    "another array": ZERO.replace("out", "copy"),
    "no constant": ZERO.replace("0.0", "copy[i, j]"),
    "a statement between": ZERO + ZERO.replace("out[i, j] = 0.0", "copy[i, j] = out[i, j]"),
}


@pytest.mark.parametrize("name", KEPT)
def test_sums_begin_with_what_out_holds(name):
    fn = marked(product(KEPT[name]))
    done = packed(fn, LARGE)
    assert simplify(fn.body[:-1]) == done.body[: len(fn.body) - 1]
    assert loads_sums(done)


def test_a_start_of_more_than_the_sums_stays():
    assert loads_sums(packed(marked(product(ZERO, columns=7)), LARGE))


BIAS = """
    for f in range(3):
        for x in range(10):
            out[f, x] = max(out[f, x] + b[f], 0.0)
"""


def test_what_is_made_of_sums_is_stored_in_their_place():
    text = CONVOLUTION.replace("3, 3]", "3, 3], b: f32[3]") + BIAS.lstrip("\n")
    done = packed(marked(text, behind=1), SMALL)
    stores = [line.strip() for line in show(done).splitlines() if line.strip().startswith("out[")]
    assert stores == [
        "out[q10 * 3 + q16, q9 * 4 + q17] = max(q12[q16, q17] + b[q10 * 3 + q16], 0.0f32)",
        "out[q10 * 3 + q29, q9 * 4 + q30] = max(q22[q29, q30] + b[q10 * 3 + q29], 0.0f32)",
    ]


def after(*updates: str, loops: str = "i8 j8") -> Function:
    """The product of 8 x 8, and what is then made of its elements; each update in loops of its own."""
    text = product().replace("copy: f64[8, 8]", "copy: f64[8, 8], far: f64[8, 9]")
    for update in updates:
        for k, loop in enumerate(loops.split(), 1):
            text += f"{' ' * 4 * k}for {loop[0]} in range({loop[1:]}):\n"
        text += "".join(f"{' ' * 4 * (len(loops.split()) + 1)}{each}\n" for each in update.split("; "))
    return marked(text, behind=len(updates))


@pytest.mark.parametrize(
    ("updates", "loops"),
    [
        (["out[i, j] *= out[i, j]"], "i8 j8"),
        (["out[j, i] = max(out[j, i], copy[i, j])"], "i8 j8"),
        (["out[i, j] += far[0, j + 1]", "out[i, j] = out[i, j] / 2 - out[i, j] * far[i, i]"], "j8 i8"),
        (["out[i, j] += copy[i, j]; out[i, j] *= copy[i, j]"], "i8 j8"),
        (["out[i, j] = i * out[i, j]", "out[j, i] += B[0, j]", "out[i, j] = 1.0"], "i8 j8"),
    ],
)
def test_all_that_is_made_of_sums_in_turn_goes_with_them(updates, loops):
    done = packed(after(*updates, loops=loops), SMALL)
    stores = [line for line in show(done).splitlines() if re.search(r" out\[.*\] = ", line)]
    assert len(stores) == 2 and len(done.body) == 1  # full tiles of 3 rows, and the last one
    assert loads_sums(done)


@pytest.mark.parametrize(
    ("update", "loops"),
    [
        ("out[i, j] += 1.0", "i8 j7"),
        ("out[i, i] += 1.0", "i8"),
        ("out[i, j] += out[i, 0]", "i8 j8"),
        ("out[i, j] += out[j, i]", "i8 j8"),
        ("out[i, j] += 1.0", "i8 j8 k2"),
        ("out[j, j] += far[i, j]", "i8 j8"),
        ("out[i, j] += 1.0; copy[i, j] += 1.0", "i8 j8"),
        ("copy[i, j] = out[i, j]", "i8 j7"),
        ("copy[0, j] = out[i, j]", "i8 j8"),
        ("copy[i, i] = out[i, j]", "i8 j8"),
        ("copy[i, j] = out[i, j] + copy[j, i]", "i8 j8"),
        ("copy[i, j] = out[i, j] * out[0, 0]", "i8 j8"),
        ("copy[i, j] = out[i, j]; out[i, j] = copy[j, i]", "i8 j8"),
        ("far[i, j + 1] = out[i, j]", "i8 j8"),
    ],
)
def test_loops_behind_that_do_something_else_stay(update, loops):
    """A part, a diagonal, what reads other elements, several times each, some of them, the last one of several."""
    fn = after(update, loops=loops)
    assert simplify(fn.body[-1]) == packed(fn, LARGE).body[-1]


def test_what_lies_across_columns_that_are_several_loops_is_read_in_its_own():
    """Its place would be a remainder in each lane; what lies as the result is found with it."""

    def made(value: str) -> Function:
        text = """def f(out: f32[4, 3, 4], w: f32[4, 5], x: f32[5, 3, 4], p: f32[4], r: f32[4, 3, 4], wide: f32[3, 5]):
    for f in range(4):
        for y in range(3):
            for x0 in range(4):
                for k in range(5):
                    out[f, y, x0] += w[f, k] * x[k, y, x0]
    for f in range(4):
        for y in range(3):
            for x0 in range(4):
                out[f, y, x0] += """
        return marked(f"{text}{value}\n", behind=1)

    for value, goes in (("r[f, y, x0] + p[f]", True), ("p[x0]", False), ("wide[y, x0]", False), ("r[x0, y, f]", False)):
        done = packed(made(value), LARGE)
        assert len(done.body) == (3 if goes else 4), value


ELSEWHERE = """def conv(out: f32[3, 2, 5], narrow: i8[3, 2, 5], turned: f32[2, 5, 3], w: f32[3, 3], data: f32[3, 2, 5]):
    alloc s: f32[3, 2, 5]
    for f in range(3):
        for y in range(2):
            for x in range(5):
                s[f, y, x] = 0.0
    for f in range(3):
        for y in range(2):
            for x in range(5):
                for r in range(3):
                    s[f, y, x] += data[r, y, x] * w[f, r]
"""


def elsewhere(*updates: str) -> Function:
    """The product, in an array of its own, and what is then made of its elements; each in loops of its own."""
    text = ELSEWHERE.replace("    alloc s: f32[3, 2, 5]\n", "")
    for update in updates:
        text += "    for f in range(3):\n        for y in range(2):\n            for x in range(5):\n"
        text += f"                {update}\n"
    fn = marked(text.replace("data:", "s: f32[3, 2, 5], data:"), behind=len(updates))
    (s,) = (array for array in fn.arrays if array.name == "s")
    arrays = tuple(array for array in fn.arrays if array is not s)
    return replace(fn, arrays=arrays, params=(), body=(Alloc(replace(s, space="private")), *fn.body))


def stores_of(fn: Function) -> list[str]:
    """The values that are stored to parameters, in full tiles and the last one."""
    names = {array.name for array in fn.arrays}
    stores = [node for node in walk(fn.body) if isinstance(node, Store) and node.array in names]
    return [re.sub(r"q\d+\[[^]]*\]", "sum", f"{store.array} = {show(store.value)}") for store in stores]


def test_what_is_made_of_sums_elsewhere_is_stored_there_and_the_sums_have_no_array():
    done = packed(elsewhere("narrow[f, y, x] = i8(max(s[f, y, x], 0.0) * 2.0)"), SMALL)
    assert stores_of(done) == 2 * ["narrow = i8(max(sum, 0.0f32) * 2.0f32)"]
    assert "s[" not in show(done)


@pytest.mark.parametrize(
    ("updates", "stored"),
    [
        (["s[f, y, x] *= 2.0", "narrow[f, y, x] = i8(s[f, y, x])"], ["narrow = i8(sum)"]),
        (["narrow[f, y, x] = i8(s[f, y, x])", "out[f, y, x] = s[f, y, x]"], ["narrow = i8(sum)", "out = sum"]),
        (["out[f, y, x] = s[f, y, x]", "out[f, y, x] = out[f, y, x] * s[f, y, x]"], ["out = sum", "out = out * sum"]),
        (["turned[y, x, f] = abs(s[f, y, x])"], ["turned = fabs(sum)"]),
        (["turned[y, x, f] += s[f, y, x]", "out[f, y, x] = s[f, y, x]"], ["turned = turned + sum", "out = sum"]),
    ],
)
def test_several_stores_of_a_sum_go_with_it_in_turn(updates, stored):
    """Also in another layout, where a tile is stored column by column if all is stored there."""
    done = packed(elsewhere(*updates), SMALL)
    assert [re.sub(r"\[[^]]*\]", "", text) for text in stores_of(done)] == 2 * stored
    assert "s[" not in show(done)


def test_sums_that_are_read_again_are_stored():
    fn = elsewhere("narrow[f, y, x] = i8(s[f, y, x])", "out[f, y, x] = s[f, 0, x]")
    done = packed(fn, SMALL)
    assert simplify(fn.body[-1]) == done.body[-1]
    assert stores_of(done)[:2] == 2 * ["narrow = i8(sum)"]
    assert isinstance(done.body[0], Alloc)


def test_loops_in_a_branch_are_found():
    fn = marked(product())
    (loop,) = fn.body
    inside = replace(fn, sizes=("n",), body=(If(binary("<", var("n"), 3), (loop,)),))
    done = pack_products(inside, LARGE)
    assert isinstance(done.body[0], If)
    assert "packed" not in kinds(done)
    assert "unrolled" in kinds(done)


def test_a_mark_on_other_loops_is_a_fault_of_ours():
    fn = marked(product().replace("+= A", "-= A"))
    with pytest.raises(AssertionError, match=r"^the loop i runs no sum of products$"):
        pack_products(fn, LARGE)


@pytest.mark.parametrize("parallel", [True, False])
def test_threads_share_the_work_if_they_may(parallel):
    with patch.object(sizes, "SIMD_OPERATIONS", 0):
        done = pack_products(marked(product()), Machine(cores=2), parallel=parallel)
    assert ("parallel" in kinds(done)) == parallel


def test_little_work_stays_on_one_thread():
    assert "parallel" not in kinds(pack_products(marked(product()), Machine(cores=2)))


def test_threads_are_never_inside_of_others():
    with patch.object(sizes, "SIMD_OPERATIONS", 0):
        done = pack_products(marked(product()), replace(SMALL, cores=3))

    def deepest(stmt) -> int:
        own = isinstance(stmt, For) and stmt.kind == "parallel"
        return own + max((deepest(inner) for inner in getattr(stmt, "body", ())), default=0)

    assert max(map(deepest, done.body)) == 1


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 10**6))
def test_random_products_keep_every_bit(seed):
    check_products(seed, in_c=False)


@pytest.mark.parametrize("seed", [*range(10), 6683])
def test_random_products_keep_every_bit_in_c_and_do_not_race(seed):
    """6683: gcc 12 stores zeros around data after the data, where it vectorizes a loop around short lines."""
    check_products(seed, in_c=True)
