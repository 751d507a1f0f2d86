"""polysched/transform/analysis/unify.py: which loops are rows, columns and terms, by where accesses move.

Whatever is unified is held against all instances at small sizes: which loops move what, lines, and that terms are all.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from random_sums import BATCH, CONV, CUBE, Sum, is_product, loops_of, random_sum, require

from polysched import Options, Schedule
from polysched.frontend.python import parse_nest
from polysched.model.extract import extract
from polysched.model.instructions.mma import M16N8K8_F64, M16N8K16
from polysched.transform.analysis.unify import Unified, unify


def test_a_product_of_matrices():
    """i moves C and A, j moves C and B, k moves A and B."""
    assert Sum().unified() == Unified(rows=0, columns=1, terms=2)
    assert Sum(loops=(CUBE[2], CUBE[0], CUBE[1])).unified() == Unified(rows=1, columns=2, terms=0)


@pytest.mark.parametrize(("A", "shape_of_A"), [("i, k", "n, l"), ("k, i", "l, n")])
@pytest.mark.parametrize(("B", "shape_of_B"), [("k, j", "l, m"), ("j, k", "m, l")])
def test_transposes(A, shape_of_A, B, shape_of_B):
    one = Sum(A=A, B=B, shape_of_A=shape_of_A, shape_of_B=shape_of_B)
    assert one.roles() == "ijk"
    assert Sum(A=B, B=A, shape_of_A=shape_of_B, shape_of_B=shape_of_A).roles() == "ijk"
    turned = Sum(C="j, i", A=A, B=B, shape_of_C="m, n", shape_of_A=shape_of_A, shape_of_B=shape_of_B)
    assert turned.roles() == "ijk"  # columns are the innermost of both


@pytest.mark.parametrize(
    ("given", "roles"),
    [
        (Sum("b, i, j", "b, i, k", "b, k, j", BATCH, "p, n, m", "p, n, l", "p, l, m"), "ijk"),
        (Sum("b, i, j", "b, i, k", "k, j", BATCH, "p, n, m", "p, n, l", "l, m"), "ijk"),
        (Sum("i, b, j", "i, b, k", "b, j, k", BATCH, "n, p, m", "n, p, l", "p, m, l"), "ijk"),
        (CONV, "xoc"),
        (replace(CONV, A="y + r, 2*x + s, c", shape_of_A="n + 2, 2*m + 2, l"), "yoc"),
        (Sum(A="i, k", B="j, k", shape_of_B="m, l", loops=(("i", "n"), ("j", "n"), ("k", "l"))), "ijk"),
        (Sum(A="i + 1, k", shape_of_A="n + 1, l"), "ijk"),
        (Sum(B="k, j + 16", shape_of_B="l, m + 16"), "ijk"),
        (Sum(A="k, i + 8", shape_of_A="l, n + 8"), "ijk"),
        (Sum(B="k, j + 8*b", loops=BATCH, shape_of_B="l, m + 8*p", C="b, i, j", shape_of_C="p, n, m"), "ijk"),
        (Sum(shape_of_A="n + 5, l", shape_of_B="l, m + 3"), "ijk"),
        (Sum(C="2*i, j + 3", shape_of_C="2*n, m + 3"), "ijk"),
        (Sum(C="i, i + j", shape_of_C="n, n + m"), "ijk"),
        (Sum(loops=(("i", "n"), ("j", "i + 1"), ("k", "l")), shape_of_B="l, n", shape_of_C="n, n"), "ijk"),
        (Sum("i, j", "i, k", "k, j", (("i", "12"), ("j", "m"), ("k", "8")), "12, m", "12, 8", "8, m"), "ijk"),
        (Sum(loops=(("i", "5, n"), ("j", "m"), ("k", "l"))), "ijk"),
        (Sum(loops=(("i", "n"), ("j", "m"), ("k", "2*l")), shape_of_A="n, 2*l", shape_of_B="2*l, m"), "ijk"),
    ],
    ids=[
        "batched", "one matrix for all", "planes in the middle", "convolution", "strides along x", "symmetric",
        "rows further down", "two lines further", "a line further, turned", "planes of whole lines",
        "rows and columns that are not read",
        "sums anywhere", "sums along a diagonal", "a triangle of sums",
        "constants", "rows from the fifth on", "terms by an expression",
    ],
)  # fmt: skip
def test_what_is_unified(given, roles):
    assert given.roles() == roles
    require(given, Unified(*map("".join(name for name, _ in given.loops).index, roles)))


@pytest.mark.parametrize(
    "given",
    [
        Sum(A="2*i, k", shape_of_A="2*n, l"),
        replace(CONV, A="2*y + r, 2*x + s, c", shape_of_A="2*n + 2, 2*m + 2, l"),
        replace(CONV, A="y + r, x + s, 2*c", shape_of_A="n + 2, m + 2, 2*l"),
        Sum(A="i, 2*k", shape_of_A="n, 2*l"),
        Sum(A="i, k + 1", shape_of_A="n, l + 1"),
        Sum(A="i, l - 1 - k"),
        Sum(A="n - 1 - i, k"),
        Sum(A="i, k", shape_of_A="n, 2*l"),
        Sum(B="k, j", shape_of_B="l + 1, m"),
        Sum(loops=(("i", "n"), ("j", "m"), ("k", "1, l"))),
        Sum(loops=(("i", "n"), ("j", "m"), ("k", "0, l, 2"))),
        Sum(B="k, j + 4", shape_of_B="l, m + 4"),
        Sum(B="k, j + n", shape_of_B="l, m + n"),
        Sum(B="k, j + 4*b", loops=BATCH, shape_of_B="l, m + 4*p", C="b, i, j", shape_of_C="p, n, m"),
        Sum(loops=(("i", "n"), ("j", "m"), ("k", "i + 1")), shape_of_A="n, n", shape_of_B="n, m"),
        Sum("b, i", "b, i, k", "b, k", (("b", "l"), ("k", "b + 1"), ("i", "n")), "l, n", "l, n, l", "l, l"),
        Sum("b, i, j", "b, i, k", "b, k, j", (("b", "l"), ("k", "b + 1"), *CUBE[:2]), "l, n, m", "l, n, l", "l, l, m"),
        Sum("i, j", "i, k", "k, b, j", (*CUBE, ("b", "k + 1")), "n, m", "n, l", "l, l, m"),
        Sum(A="i, k, 0", shape_of_A="n, l, 1"),
        Sum(A="k", shape_of_A="l"),
        Sum(A="i", shape_of_A="n"),
        Sum(A="i + k, 0", shape_of_A="n + l, 1"),
        Sum(A="i, i + k", shape_of_A="n, n + l"),
        Sum(A="i // 2, k"),
        Sum(A="i, j", shape_of_A="n, m"),
    ],
    ids=[
        "every other row", "strides", "strides of terms", "every other term", "terms from the second on",
        "terms backwards", "rows backwards", "an array longer than the loop", "and the other one", "a loop from 1",
        "a step",
        "half a line further", "a size further", "planes of half lines", "a triangle of terms",
        "a vector", "terms up to a loop around", "terms that a loop inside depends on",
        "columns of one element", "no rows", "no terms", "a diagonal", "skewed", "quotients", "no terms in common",
    ],
)  # fmt: skip
def test_what_is_not(given):
    assert given.roles() is None


@pytest.mark.parametrize(
    "given",
    [
        Sum(types=("f32", "f32", "f32"), update="C[{C}] += A[{A}] * B[{B}]"),
        Sum(types=("f16", "f16", "f16"), update="C[{C}] += A[{A}] * B[{B}]"),
        Sum(update="C[{C}] += f32(A[{A}] * B[{B}])"),
        Sum(types=("f16", "f16", "f64"), update="C[{C}] += f64(A[{A}]) * f64(B[{B}])"),
        Sum(types=("f32", "f16", "f32")),
        Sum(update="C[{C}] = max(C[{C}], f32(A[{A}]) * f32(B[{B}]))"),
        Sum(update="C[{C}] -= f32(A[{A}]) * f32(B[{B}])"),
        Sum(update="C[{C}] += 2.0 * f32(A[{A}]) * f32(B[{B}])"),
        Sum(update="C[{C}] = f32(A[{A}]) * f32(B[{B}])"),
        Sum(update="C[{C}] = C[{C} + 1] + f32(A[{A}]) * f32(B[{B}])", shape_of_C="n, m + 1"),
        Sum(update="C[{C}] += f32(f16(C[0, 0])) * f32(B[{B}])"),
        Sum(update="C[{C}] += f32(A[{A}])"),
    ],
    ids=[
        "f32", "f16 in all", "products in f16", "sums in f64", "one of f32", "max", "minus", "scaled", "no sum",
        "of another element", "of itself", "of one factor",
    ],
)  # fmt: skip
def test_other_updates(given):
    assert given.roles() is None


@pytest.mark.parametrize(
    "edit",
    [
        lambda s: s.reverse("i"),
        lambda s: s.skew("j", "i"),
        lambda s: s.shift("S", "j", 1),
        lambda s: s.tile("i", sizes=(16,)),
        lambda s: s.tile("k", sizes=(16,)),
    ],
    ids=["reversed", "skewed", "shifted", "tiles of rows", "tiles of terms"],
)
def test_loops_that_are_no_iterators_as_they_are(edit):
    scop = extract(parse_nest(Sum().text(), "product.py"))
    schedule = Schedule(parse_nest(Sum().text(), "product.py"), options=Options(reorder_reductions=True))
    assert unify(scop.statements[0], scop, loops_of(schedule.tree), M16N8K16) == Unified(0, 1, 2)
    assert unify(scop.statements[0], scop, loops_of(edit(schedule).tree), M16N8K16) is None


DOUBLES = Sum(types=("f64", "f64", "f64"), update="C[{C}] += A[{A}] * B[{B}]")


@pytest.mark.parametrize(
    ("given", "is_taken"),
    [
        (DOUBLES, True),
        (replace(DOUBLES, update="C[{C}] += alpha * A[{A}] * B[{B}]"), True),
        (replace(DOUBLES, update="C[{C}] += A[{A}] * (B[{B}] * 2.0)"), True),
        (replace(DOUBLES, B="k, j + 2", shape_of_B="l, m + 2"), True),
        (replace(DOUBLES, B="k, j + 1", shape_of_B="l, m + 1"), False),
        (replace(DOUBLES, update="C[{C}] += alpha * (A[{A}] * B[{B}])"), False),
        (replace(DOUBLES, update="C[{C}] += (A[{A}] + alpha) * B[{B}]"), False),
        (replace(DOUBLES, update="C[{C}] += i * A[{A}] * B[{B}]"), False),
        (replace(DOUBLES, types=("f32", "f64", "f64"), update="C[{C}] += f64(A[{A}]) * B[{B}]"), False),
        (Sum(), False),
    ],
    ids=[
        "doubles", "a scaled factor", "and the other one", "a line further", "half a line further", "a scaled product",
        "a term more", "scaled by a row", "a factor of f32", "halves",
    ],
)  # fmt: skip
def test_doubles(given, is_taken):
    assert given.unified(M16N8K8_F64) == (Unified(0, 1, 2) if is_taken else None)


def test_planes_of_half_lines_are_refused_only_along_the_last_dimension():
    assert Sum(A="i + 3*b, k", loops=BATCH, shape_of_A="n + 3*p, l", C="b, i, j", shape_of_C="p, n, m").roles() == "ijk"


@pytest.mark.parametrize("first", range(0, 300, 30))
def test_products_are_unified_and_nothing_else(first):
    taken = 0
    for seed in range(first, first + 30):
        given = random_sum(random.Random(seed))
        found = given.unified()
        if found is not None:
            require(given, found)
            taken += 1
        assert (found is not None) == is_product(given), given
    assert 5 <= taken <= 25
