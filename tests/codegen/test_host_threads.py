# ruff: noqa: F821, UP037
"""polysched/codegen/parallel/host_threads.py: what a GPU cannot have on threads of the host runs serially."""

from __future__ import annotations

import pytest

import polysched as ps
from polysched import Options, Schedule, f32, nest, size


@nest
def beside(c: f32["n"], a: f32["n", "m"], b: f32["m"], n: size, m: size):
    for i in range(n):
        for j in range(m):
            c[i] += a[i, j]
    for k in range(m):
        b[k] = 2.0 * b[k]


@pytest.mark.parametrize("target", ["cuda", "opencl"])
def test_a_sum_on_threads_beside_a_grid_runs_serially_and_says_so(target):
    schedule = Schedule(beside, options=Options(reorder_reductions=True)).bind("k", "block.x").parallel("j")
    done = ps.optimize(beside, target, schedule=schedule)
    assert "a GPU has no threads of the host: bind it to an axis of the grid" in str(done.declined)
    done.verify(n=3, m=5)


def test_a_copy_of_unknown_length_in_a_grid_is_refused():
    copied = Schedule(beside).cache_read("a", at="i").bind("i", "block.x")
    with pytest.raises(ps.InputError, match=r"would have the array a_c\[m\], and a kernel has room for small arrays"):
        ps.optimize(beside, "cuda", schedule=copied)
    tiled = Schedule(beside).tile("j", sizes=(32,)).cache_read("a", at="j_o").bind("i", "block.x")
    ps.optimize(beside, "cuda", schedule=tiled).verify(n=3, m=40)
