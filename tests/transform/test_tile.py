"""The strategy for CPUs: the loops of permutable bands in blocks."""

from __future__ import annotations

from dataclasses import replace

import nests
import pytest

from polysched.config.options import Options
from polysched.model.tree.nodes import Filter, InOrder
from polysched.model.tree.nodes import walk as nodes
from polysched.model.tree.text import show_tree
from polysched.strategy.cpu import strides, tiles
from tests.transform.scheduled import in_source_order, random_scheduled, scheduled, script_of, tiled, written

FIXED = """
def f(s: f64[1], a: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            s[0] = s[0] * a[i, j]
"""


def test_one_loop_and_loops_in_a_fixed_order_stay():
    for nest in (scheduled(nests.reversed_sweep()), in_source_order(FIXED)):
        assert script_of(nest, tiles, options=Options(tile_sizes=(32,))).edits == []


def test_every_nest_is_tiled():
    nest = scheduled(nests.gemm())
    (sequence,) = (node for node in nodes(tiled(nest, 32)) if isinstance(node, InOrder))
    assert [show_tree(branch).count("/32)") for branch in sequence.children] == [2, 3]
    assert all(isinstance(branch, Filter) for branch in sequence.children)


def test_the_last_size_is_for_loops_that_will_be_simd():
    """gemm's j is; a loop of Seidel's never is."""
    gemm, seidel = scheduled(nests.gemm()), scheduled(nests.seidel_2d())
    inner_j = replace(gemm, tree=written(gemm, strides))
    assert "/256)" in show_tree(tiled(inner_j, 32, 256))
    assert "/256)" not in show_tree(tiled(seidel, 32, 256))


def test_a_size_for_every_loop_is_taken_as_it_is():
    text = show_tree(tiled(scheduled(nests.seidel_2d()), 4, 8, 16))
    assert [text.count(f"/{size})") for size in (4, 8, 16)] == [1, 1, 1]


@pytest.mark.parametrize("seed", range(15))
def test_tiled_random_nests_are_legal_and_compute_the_same_bits(seed):
    nest = random_scheduled(seed)
    nest.assert_holds(tiled(nest, 2, 3))
