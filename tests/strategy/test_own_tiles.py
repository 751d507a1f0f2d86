# ruff: noqa: F821, UP037
"""Tiles made by hand become blocks, threads and points of the grid."""

from __future__ import annotations

import random

import nests
import pytest

import polysched as ps
from polysched.runtime.emulated.emulate import emulate
from tests.emulated import assert_as_interpreted


@ps.nest
def product(A: ps.f32["n", "k"], B: ps.f32["k", "m"], C: ps.f32["n", "m"], n: ps.size, m: ps.size, k: ps.size):
    for i in range(n):
        for j in range(m):
            for l in range(k):  # noqa: E741
                C[i, j] += A[i, l] * B[l, j]


def tiled(rows: int, columns: int) -> ps.Schedule:
    return ps.Schedule(product).tile("i", "j", sizes=(rows, columns), names=("i_b", "j_b"))


def added(schedule: ps.Schedule) -> list[str]:
    """The edits that the mapping made."""
    return [str(edit)[1:] for edit in schedule.map("cuda").history.edits[len(schedule.history.edits) :]]


BOUND = ['bind("j_b", "block.x")', 'bind("i_b", "block.y")']
ON_THREADS = [*BOUND, 'bind("j", "thread.x")', 'bind("i", "thread.y")']


def test_a_tile_is_a_block():
    assert added(tiled(8, 32)) == ON_THREADS


def test_parallel_loops_go_outside_of_a_tiled_sum():
    whole = ps.Schedule(product).tile("i", "j", "l", sizes=(32, 32, 16), names=("i_b", "j_b", "l_c"))
    assert added(whole) == ['reorder("i_b", "j_b", "i", "j", "l_c", "l")', *ON_THREADS]
    assert "__shared__" in ps.optimize(product, "cuda", schedule=whole.map("cuda")).source.text


def test_a_tile_of_a_tile_is_a_thread_of_points():
    threads = tiled(64, 64).tile("i", "j", sizes=(4, 4), names=("i_t", "j_t"))
    order = 'reorder("i_b", "j_b", "i_t", "j_t", "l", "i", "j")'
    on_threads = ['bind("j_t", "thread.x")', 'bind("i_t", "thread.y")']
    assert added(threads) == [order, *BOUND, *on_threads, 'unroll("i")', 'unroll("j")']
    assert added(tiled(128, 128).tile("i", "j", sizes=(16, 16), names=("i_t", "j_t")))[1:] == [*BOUND, *on_threads]


def test_a_loop_without_a_tile_has_a_block_for_each_iteration():
    columns = ps.Schedule(product).tile("j", sizes=(128,), names=("j_b",))
    assert added(columns) == ['bind("j_b", "block.x")', 'bind("i", "block.y")', 'bind("j", "thread.x")']


@ps.nest
def steps(A: ps.f32["T + 1", "n", "n"], T: ps.size, n: ps.size):
    for t in range(T):
        for i in range(1, n - 1):
            for j in range(n):
                A[t + 1, i, j] = A[t, i - 1, j] + A[t, i + 1, j]


def test_time_steps_stay_on_the_host_where_more_loops_are_parallel_inside():
    """j is parallel outside of t, too, i is not."""
    one = ps.Schedule(steps).tile("j", sizes=(32,), names=("j_b",))
    assert added(one) == ['bind("j_b", "block.x")', 'bind("i", "block.y")', 'bind("j", "thread.x")']
    both = ps.Schedule(steps).tile("i", "j", sizes=(8, 32), names=("i_b", "j_b"))
    assert added(both) == ON_THREADS


@ps.nest
def four(a: ps.f32["n", "n", "n", "n"], b: ps.f32["n", "n", "n", "n"], n: ps.size):
    for i in range(n):
        for p in range(n):
            for q in range(n):
                for j in range(n):
                    b[i, p, q, j] = a[i, p, q, j] * 2


def test_tiles_have_axes_before_other_loops():
    edits = added(ps.Schedule(four).tile("i", sizes=(8,), names=("i_b",)).tile("j", sizes=(32,), names=("j_b",)))
    assert edits[1:] == [*BOUND, 'bind("q", "block.z")', 'bind("p", "block.w")', *ON_THREADS[2:]]


def test_turns_made_by_hand_are_no_tiles():
    """cyclic's j_t is no loop around j_g's iterations."""
    turns = ps.Schedule(product).cyclic("j", 16, vector=4, names=("j_t", "j_g"))
    assert 'bind("j_t", "block.y")' not in added(turns)


def test_too_many_threads_are_said():
    done = ps.optimize(product, "cuda", schedule=tiled(64, 64))
    assert done.fallbacks == {"tiles on the grid": "left out, since blocks would have too many threads: 4096 in all"}


@pytest.mark.parametrize(
    "schedule",
    [tiled(64, 64), ps.Schedule(product).tile("i", sizes=(32,), names=("i_b",))],
    ids=["4096 threads", "not along x"],
)
def test_what_makes_no_block_is_mapped_as_if_it_were_no_tile(schedule):
    edits = added(schedule)
    assert 'bind("i_b", "block.y")' not in edits
    assert any("thread.x" in edit for edit in edits)


@pytest.mark.parametrize("seed", range(30))
def test_random_nests_in_tiles_compute_the_same(seed):
    rng = random.Random(seed)
    fn = nests.random_nest(rng)
    schedule = ps.Schedule(fn, "ilp")
    for loop in list(schedule.loops):
        if rng.random() < 0.7:
            schedule = schedule.tile(loop, sizes=(rng.choice([2, 4, 32]),))
    done = ps.optimize(fn, "cuda", schedule=schedule.map("cuda"))
    program = emulate(done.source, fn, done.scop.valid_sizes)
    for size in (1, 5, 7):
        assert_as_interpreted(program, fn, nests.arguments_for(fn, random.Random(size), size))
