"""The strategy for CPUs: the sum of two loops outside, so that what is inside is parallel."""

from __future__ import annotations

import nests
import pytest

import polysched as ps
from polysched.model.tree.text import show_tree
from polysched.strategy.cpu import wavefronts
from tests.transform.scheduled import (
    Scheduled,
    in_source_order,
    random_scheduled,
    scheduled,
    script_of,
    tiled,
    written,
)


def square(statement: str) -> Scheduled:
    return in_source_order(f"""
def f(a: f64["n", "n"], n: size):
    for i in range(1, n):
        for j in range(1, n - 1):
            {statement}
""")


@pytest.mark.parametrize(
    ("statement", "count"),
    [
        ("a[i, j] = a[i - 1, j] + a[i, j - 1]", 1),
        ("a[i, j] = a[i, j - 1] * 0.5", 0),
        ("a[i, j] = a[i - 1, j] * 0.5", 0),
        ("a[i, j] = a[i - 1, j + 1] + a[i, j - 1]", 0),
    ],
    ids=["both wait", "first is parallel", "second is parallel", "fixed order"],
)
def test_nothing_changes_where_a_loop_is_parallel_or_none_can_be(statement, count):
    assert len(script_of(square(statement), wavefronts).edits) == count


def test_one_loop_has_none():
    assert script_of(scheduled(nests.reversed_sweep()), wavefronts).edits == []


PAIR = """
def f(a: f64["n", "n", "n"], b: f64["n", "n", "n"], n: size):
    for i in range(1, n):
        for j in range(1, n):
            for k in range(1, n):
                a[i, j, k] = a[i, j - 1, k] + a[i, j, k - 1] + b[{before}, n - j, n - k]
        for j in range(1, n):
            for k in range(1, n):
                b[i, j, k] = b[i, j - 1, k] + b[i, j, k - 1] + a[i, n - j, n - k]
"""


def test_a_parallel_loop_outside_is_enough():
    assert script_of(in_source_order(PAIR.format(before="0")), wavefronts).edits == []


def test_each_nest_gets_its_own_below_the_loops_they_share():
    nest = in_source_order(PAIR.format(before="i - 1"))
    tree = written(nest, wavefronts)
    assert show_tree(tree).count("[i, j, k] -> j + k]") == 2
    nest.assert_holds(tree)


def test_only_the_first_band_of_a_nest_is_skewed():
    seidel = scheduled(nests.seidel_2d())
    tiles = tiled(seidel, 4)
    assert [edit.name for edit in script_of(seidel, wavefronts, tree=tiles).edits] == ["wavefront"]
    seidel.assert_holds(written(seidel, wavefronts, tree=tiles))


@pytest.mark.parametrize("seed", range(15))
def test_wavefronts_of_random_nests_are_legal_and_compute_the_same_bits(seed):
    nest = random_scheduled(seed)
    nest.assert_holds(written(nest, wavefronts))


def test_updates_in_any_order_are_no_wavefront():
    """Their distances are of either sign: skewing would not make a loop parallel."""
    total = nests.Array("s", nests.f64, (nests.const(1),))
    a = nests.Array("a", nests.f64, (nests.n, nests.n))
    i, j = nests.var("i"), nests.var("j")
    update = nests.store(total, (0,), nests.add(nests.load(total, 0), nests.load(a, i, j)))
    fn = nests.nest("sum", "n", [total, a], nests.loop("i", 0, nests.n, nests.loop("j", 0, nests.n, update)))
    ps.optimize(fn, options=ps.Options(reorder_reductions=True)).verify()
