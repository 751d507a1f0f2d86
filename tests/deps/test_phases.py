"""polysched/deps/phases.py: what orders the threads of a block, and which arrays belong to a block."""

# mypy: ignore-errors
# ruff: noqa: F821, UP037

from __future__ import annotations

import pytest

import polysched as ps
from polysched.deps.phases import between_threads, is_kernel, left_to_threads
from polysched.model.tree.nodes import Tree, walk
from polysched.support import isl


@ps.nest
def rows(b: ps.f64["m", 64], a: ps.f64["m", 64], m: ps.size):
    for r in range(m):
        for i in range(64):
            b[r, i] = 0.5 * a[r, i]
        for j in range(1, 63):
            a[r, j] = b[r, j - 1] + b[r, j + 1]


TO_THE_RIGHT = isl.UnionMap("[m] -> { S0[r, i] -> S1[r, i + 1] : 0 <= r < m and 0 <= i < 62 }")
AMONG_THEM = isl.UnionMap("[m] -> { S0[r, i] -> S0[r, i + 1] : 0 <= r < m and 0 <= i < 63 }")
WITH_ITSELF = isl.UnionMap("[m] -> { S0[r, i] -> S1[r, i] : 0 <= r < m and 0 < i < 63 }")


def kernel(s: ps.Schedule) -> Tree:
    return next(node for node in walk(s.tree) if is_kernel(node))


def both_on_threads() -> ps.Schedule:
    return ps.Schedule(rows).bind("r", "blockIdx.x").bind(("i", "j"), "threadIdx.x")


def test_pairs_between_threads():
    both, first = kernel(both_on_threads()), kernel(ps.Schedule(rows).bind("r", "blockIdx.x").bind("i", "threadIdx.x"))
    assert between_threads(both, TO_THE_RIGHT).is_equal(TO_THE_RIGHT)
    assert between_threads(both, WITH_ITSELF).is_empty()
    assert between_threads(first, WITH_ITSELF).is_equal(WITH_ITSELF)
    none = kernel(ps.Schedule(rows).bind("r", "blockIdx.x"))
    assert between_threads(none, TO_THE_RIGHT).is_empty()


def test_a_sequence_orders_threads_if_it_is_around_their_loops():
    pairs = TO_THE_RIGHT.union(AMONG_THEM)
    assert left_to_threads(kernel(both_on_threads()), pairs).is_equal(AMONG_THEM)
    fused = ps.Schedule(rows).fuse("i", "j").bind("r", "blockIdx.x")
    assert left_to_threads(kernel(fused), isl.UnionMap("{ S0[r, i] -> S1[r, i] }")).is_empty()


@ps.nest
def smooth(b: ps.f64["n"], a: ps.f64["n"], n: ps.size):
    for i in range(1, n - 1):
        b[i] = a[i - 1] + a[i] + a[i + 1]


def in_tiles() -> ps.Schedule:
    return ps.Schedule(smooth).tile("i", sizes=(128,), names=("far",)).tile("i", sizes=(32,))


def test_an_array_of_a_block_belongs_to_no_thread():
    with pytest.raises(ps.IllegalSchedule) as raised:
        in_tiles().bind("i", "threadIdx.x").cache_read("a", at="i", scope="shared")
    assert str(raised.value).splitlines()[0] == (
        "cache_read(a, at=i): S[i=1] uses 'a_c', shared by a block, which belongs to a loop on threads (n = 3)"
    )


def test_an_array_of_a_block_belongs_to_one_block():
    with pytest.raises(ps.IllegalSchedule) as raised:
        in_tiles().cache_read("a", at="far", scope="shared").bind(("i_o", "a0"), "blockIdx.x")
    assert str(raised.value).splitlines()[0] == (
        "bind(i_o, a0, blockIdx.x): S[i=1] uses 'a_c', shared by a block, "
        "which belongs to a loop around one on blocks (n = 3)"
    )


@ps.nest
def norm(s: ps.f64[1], a: ps.f64["n"], n: ps.size):
    for i in range(n):
        s[0] += a[i] * a[i]


def test_an_array_of_a_block_belongs_to_no_loop_that_its_threads_add_up():
    """Each of 256 threads has iterations of a loop on blocks that reduces: they would meet in the array, and wait."""
    total = ps.Schedule(norm, options=ps.Options(reorder_reductions=True)).bind("i", "blockIdx.x")
    with pytest.raises(ps.IllegalSchedule) as raised:
        total.cache_read("a", at="i", scope="shared")
    assert str(raised.value).splitlines()[0] == (
        "cache_read(a, at=i): S[i=0] uses 'a_c', shared by a block, "
        "which belongs to a loop whose threads add up (n = 1)"
    )
    ps.optimize(norm, "cuda", schedule=total.cache_read("a", at="i")).verify(n=3)


def test_an_array_of_a_thread_is_not_handed_to_another():
    with pytest.raises(ps.IllegalSchedule) as raised:
        in_tiles().bind("i_o", "blockIdx.x").bind("i", "threadIdx.x").cache_read("a", at="i_o")
    assert str(raised.value).splitlines()[0] == (
        "cache_read(a, at=i_o): flow dependence on a_c: load_a[far=0, i_o=0, a0=0] must run before S[i=1], "
        "but they are not on one thread: thread.x separates them in a kernel (n = 3)"
    )
