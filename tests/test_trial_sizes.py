"""polysched/check/trials/sizes.py: sizes worth running a nest with."""

from __future__ import annotations

import nests

import polysched as ps
from polysched.check.trials.sizes import ladders, small_sizes, work
from polysched.ir.build import mul, store
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array
from polysched.operators.examples import stencil

GEMM = ps.optimize(nests.gemm())
STENCIL = ps.optimize(stencil)


def test_small_sizes_are_alike_but_once():
    assert list(small_sizes(GEMM.scop, {}, 2000)) == [
        {"ni": 1, "nj": 1, "nk": 1},
        {"ni": 2, "nj": 2, "nk": 2},
        {"ni": 3, "nj": 3, "nk": 3},
        {"ni": 7, "nj": 8, "nk": 9},
        {"ni": 0, "nj": 3, "nk": 3},
        {"ni": 3, "nj": 0, "nk": 3},
        {"ni": 3, "nj": 3, "nk": 0},
    ]


def test_fixed_sizes_stay():
    assert list(small_sizes(GEMM.scop, {"ni": 5, "nj": 5, "nk": 5}, 2000)) == [{"ni": 5, "nj": 5, "nk": 5}]
    assert list(small_sizes(STENCIL.scop, {"N": -1}, 2000)) == []


def test_ladders_ascend():
    alike, ni, *others = ladders(GEMM.nest, GEMM.scop, {}, over=17**3 * 4)
    assert [sizes["nk"] for sizes in alike] == [17, 34, 66, 130]
    assert ni == [{"ni": ni, "nj": small, "nk": small} for ni, small in ((34, 3), (130, 3), (130, 7))]
    assert len(others) == 2
    works = [work(GEMM.nest, GEMM.scop, sizes) for sizes in alike]
    assert works == sorted(works)


def test_one_size_has_one_ladder_and_none_that_are_fixed():
    assert [len(steps) for steps in ladders(STENCIL.nest, STENCIL.scop, {}, over=0)] == [9]
    assert ladders(STENCIL.nest, STENCIL.scop, {"N": 400}) == [[{"N": 400}]]


def test_work_counts_accesses_and_elements():
    n = 10
    assert work(STENCIL.nest, STENCIL.scop, {"N": n}) == 4 * n * n + (n + 1) * (n + 2)  # three reads and a write


def test_what_an_instance_runs_in_loops_of_its_own_counts():
    """The bounds are products of sizes, so that all the loops are one statement."""
    i, j, n, m = map(nests.var, "ijnm")
    square = Array("a", f64, (mul(n, m), mul(n, m)))
    inner = nests.loop("j", i, mul(n, m), store(square, (i, j), 1.0))
    scop = ps.optimize(nests.nest("f", "n m", (square,), nests.loop("i", 0, mul(n, m), inner))).scop
    found = ((1, 1), (2, 2), (3, 3), (7, 8), (0, 3), (3, 0))
    assert list(small_sizes(scop, {}, 10_000)) == [{"n": k, "m": m} for k, m in found]
