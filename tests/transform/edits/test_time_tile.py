"""transform/edits/values/time_tiles: several steps of a stencil in blocks that need no other block as long."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nests import arguments_for, assert_same_outcome, loop, nest

import polysched as ps
from polysched import IllegalSchedule, InputError, Schedule
from polysched.codegen.lower import lower
from polysched.deps.arrivals import told_apart
from polysched.deps.dataflow import dependences
from polysched.deps.legality import require_legal
from polysched.deps.values import first_wrong_value
from polysched.ir.build import add, const, load, mul, store, var
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array, Function
from polysched.model.scop import Scop
from polysched.support import isl
from polysched.transform.edits.base.loops import loop as loop_of
from polysched.transform.edits.base.loops import nested
from polysched.transform.edits.values.time_tiles import time_tile
from polysched.transform.edits.values.time_tiles.halo import Halos, Reach, halos, reaches_of
from polysched.transform.edits.values.time_tiles.nest import Tiled
from polysched.transform.edits.values.time_tiles.parts import Parts
from polysched.transform.edits.values.time_tiles.stencil import stencil_of
from polysched.transform.edits.values.time_tiles.tiles import Tiles


@ps.nest
def heat(A: ps.f64["n"], B: ps.f64["n"], T: ps.size, n: ps.size):
    for t in range(T):
        for i in range(1, n - 1):
            B[i] = 0.5 * A[i] + 0.25 * (A[i - 1] + A[i + 1])
        for i in range(1, n - 1):
            A[i] = 0.5 * B[i] + 0.25 * (B[i - 1] + B[i + 1])


@ps.nest
def jacobi(A: ps.f32["n", "m"], B: ps.f32["n", "m"], T: ps.size, n: ps.size, m: ps.size):
    for t in range(T):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])


def lowered(schedule: Schedule) -> Function:
    return lower(schedule.draft.nested, schedule.draft.scop)


def require_same(fn: Function, schedule: Schedule, steps: list[int], sizes: list[int]) -> None:
    kernel = lowered(schedule)
    for n in sizes:
        for T in steps:
            arguments = arguments_for(fn, random.Random(n), n) | {"T": T}
            assert_same_outcome(fn, kernel, arguments)


def test_a_block_loads_a_halo_runs_the_steps_and_stores_its_own_elements():
    schedule = Schedule(heat).time_tile("t", sizes=(8,), steps=2, rows=1)
    text = str(schedule.draft.nested)
    assert {"load_A", "S0_at", "S1_at", "store_A", "store_B", "begin_A", "end_A"} < {
        s.name for s in schedule.draft.scop.statements
    }
    small = next(a for a in schedule.draft.scop.arrays if a.name == "A_s")
    assert small.shape == (const(16),) and small.space == "shared"  # 8, and 2 for each of two steps on each side
    assert text
    require_same(heat.function, schedule, [0, 1, 2, 3, 5], [1, 2, 3, 9, 20])


# --- the halo


def a_reach(steps: int, low: int, high: int, writer: str = "S", reader: str = "S") -> Reach:
    return Reach(writer, reader, steps, ((low, high),))


def sides_of(reaches: list[Reach], names: str) -> list[tuple[int, dict[str, int]]]:
    found = halos([replace(heat_statement(), name=name) for name in names], reaches, 1)
    return [(side.slope, dict(side.last)) for side in found.sides[0]]


def heat_statement() -> Any:
    return Schedule(heat).draft.scop.statements[0]


def test_a_step_adds_what_the_longest_way_back_to_it_does():
    assert sides_of([a_reach(1, 2, 1)], "S") == [(2, {"S": 0}), (1, {"S": 0})]
    both = [a_reach(0, 1, 1, "S", "R"), a_reach(1, 1, 1, "R", "S")]
    assert sides_of(both, "SR") == [(2, {"S": 1, "R": 0})] * 2


def test_what_is_read_of_two_steps_before_adds_half_as_much():
    assert sides_of([a_reach(2, 2, 0)], "S") == [(1, {"S": 0}), (0, {"S": 0})]


def test_what_grows_within_a_step_has_no_bound():
    with pytest.raises(
        IllegalSchedule, match="the halo of a tile has no bound: S needs what S writes in the same step"
    ):
        sides_of([a_reach(0, 1, 0)], "S")


# --- the values, by the dataflow before and after


def parts_of(nest_: Any, sizes: tuple[int, ...], steps: int, less: int = 0) -> tuple[Schedule, Tiled]:
    """The nest in time tiles, of halos that are so much smaller than they must be."""
    schedule = Schedule(nest_)
    place = loop_of(schedule.draft.nested, "t")
    stencil = stencil_of(schedule.draft, place, len(sizes), "")
    reaches = reaches_of(stencil.flow, stencil.places, steps, schedule.draft.scop.context)
    around = halos(stencil.statements, reaches, len(sizes))
    low, high = around.sides[0]
    around = Halos(((replace(low, slope=low.slope - less), high), *around.sides[1:]))
    names = ("t_o", "t_p", "x_b", "y_b")[: 2 + len(sizes)]
    tiled = Tiled(schedule.draft, place, Parts(Tiles(stencil, around, sizes, steps), names, "shared"), 1)
    return schedule, tiled


@pytest.mark.parametrize("less", [0, 1])
def test_each_read_gets_the_value_that_it_had_and_would_not_with_a_smaller_halo(less):
    schedule, tiled = parts_of(heat, (8,), 2, less)
    scop, tree = tiled.scop, nested(tiled.tree)
    origin = isl.union_map(part.origin for part in tiled.parts.steps if part.origin is not None)
    old = told_apart(schedule.draft.scop, schedule.draft.nested)
    wrong = first_wrong_value(old, told_apart(scop, tree), origin)
    assert (wrong is None) == (less == 0)
    if wrong is not None:
        assert "would get from" in str(wrong)


@pytest.mark.parametrize(("of", "sizes"), [(heat, (8,)), (jacobi, (4, 6))], ids=["heat", "jacobi"])
def test_the_exact_dependences_are_kept_by_the_tree_that_simpler_ones_were_asked_of(of, sizes):
    _, tiled = parts_of(of, sizes, 2)
    apart: Scop = told_apart(tiled.scop, nested(tiled.tree))
    require_legal(nested(tiled.tree), dependences(apart), tiled.scop)
    require_legal(nested(tiled.tree), tiled.dependences, tiled.scop)


# --- on a GPU


@pytest.mark.parametrize("target", ["cuda", "opencl"])
def test_blocks_of_a_plane_on_a_grid(target):
    schedule = Schedule(jacobi).time_tile("t", sizes=(6, 10), steps=2, rows=4)
    for axis, on in (("x", "y"), ("y", "x")):
        schedule = schedule.bind(f"{axis}_b*", f"block.{on}").bind(f"{axis}_t*", f"thread.{on}")
    done = ps.optimize(jacobi, target, schedule=schedule)
    assert [kernel.note.partition(";")[0] for kernel in done.source.kernels][1] == "blocks of 18 x 4 threads"
    assert "equal to the interpreted nest" in str(done.verify(T=5, n=9, m=23))


def test_of_an_array_of_the_nest_only_what_is_used_is_copied():
    @ps.nest
    def inside(A: ps.f64["n"], T: ps.size, n: ps.size):
        C = np.empty((n,), np.float64)
        for i in range(1, n - 1):
            C[i] = A[i]
        for t in range(T):
            for i in range(2, n - 2):
                A[i] = C[i - 1] + C[i + 1]
            for i in range(2, n - 2):
                C[i] = 0.5 * A[i]

    schedule = Schedule(inside).time_tile("t", sizes=(4,), steps=2, rows=1)
    schedule = schedule.bind("x_b*", "block.x").bind("x_t*", "thread.x")
    ps.optimize(inside, "cuda", schedule=schedule).verify(T=3, n=11)  # and finds no read of what is not written


def test_an_array_of_the_nest_that_is_not_written_before_the_loop_has_no_buffers():
    @ps.nest
    def late(A: ps.f64["n"], T: ps.size, n: ps.size):
        C = np.empty((n,), np.float64)
        for t in range(T):
            for i in range(1, n - 1):
                if t == 0:
                    C[i] = A[i]
            for i in range(1, n - 1):
                C[i] = 0.5 * C[i]
            for i in range(1, n - 1):
                A[i] = C[i]

    with pytest.raises(IllegalSchedule, match="buffers of 'C' would be filled with elements that nothing has written"):
        Schedule(late).time_tile("t", sizes=(4,), steps=2)


def test_the_last_of_steps_that_are_no_multiple_leaves_what_the_nest_does():
    schedule = Schedule(jacobi).time_tile("t", sizes=(4, 5), steps=3, rows=2)
    require_same(jacobi.function, schedule, [0, 1, 2, 3, 4, 5, 6, 7], [1, 3, 7])


# --- refusals


def test_what_a_loop_around_another_one_is_not():
    @ps.nest
    def inner(A: ps.f64["n"], B: ps.f64["n"], T: ps.size, n: ps.size):
        for s in range(T):
            for t in range(T):
                for i in range(1, n - 1):
                    B[i] = A[i - 1] + A[i + 1]
                for i in range(1, n - 1):
                    A[i] = B[i]

    with pytest.raises(InputError, match="loop 't' is inside of s"):
        Schedule(inner).time_tile("t", sizes=(8,), steps=2)


def test_sizes_are_those_of_the_arrays_that_are_written():
    with pytest.raises(InputError, match="S0 writes 'B', of 2 dimensions, and there are 1 sizes"):
        Schedule(jacobi).time_tile("t", sizes=(8,), steps=2)
    with pytest.raises(InputError, match="a tile has positive sizes and steps"):
        Schedule(heat).time_tile("t", sizes=(8,), steps=0)


def test_a_sweep_in_place_needs_its_own_step():
    @ps.nest
    def seidel(A: ps.f64["n"], T: ps.size, n: ps.size):
        for t in range(T):
            for i in range(1, n - 1):
                A[i] = 0.5 * (A[i - 1] + A[i + 1])

    with pytest.raises(IllegalSchedule, match="in one step, whose instances run at once"):
        Schedule(seidel).time_tile("t", sizes=(8,), steps=2)


def test_what_is_read_anywhere_is_no_halo():
    @ps.nest
    def turned(A: ps.f64["n"], B: ps.f64["n"], T: ps.size, n: ps.size):
        for t in range(T):
            for i in range(n):
                B[i] = A[n - 1 - i]
            for i in range(n):
                A[i] = B[i]

    with pytest.raises(IllegalSchedule, match="at any distance"):
        Schedule(turned).time_tile("t", sizes=(8,), steps=2)


# --- random ones


def random_stencil(rng: random.Random) -> Function:
    """A few sweeps over one or two dimensions, of one of a few arrays each, some of them in place or over edges."""
    dims = rng.choice([1, 1, 2])
    sizes, names = ["T", "n", "m"][: 1 + dims], "ABC"[: rng.choice([1, 2, 2, 3])]
    arrays = [Array(name, f64, tuple(var(size) for size in sizes[1:])) for name in names]
    named = dict(zip(names, arrays, strict=True))
    sweeps = []
    for k in range(rng.choice([1, 2, 2, 3])):
        target, margin = rng.choice(names), rng.choice([1, 2])
        index = [var(f"{axis}{k}") for axis in "ij"[:dims]]
        shifted = [add(x, rng.choice([0, 0, 0, 1, -1])) for x in index]
        terms = []
        for _ in range(rng.choice([1, 2, 3])):
            name = rng.choice(names)
            at = [add(x, rng.randint(-margin, margin)) for x in index]
            terms.append(mul(rng.choice([0.5, 0.25, 2.0]), load(named[name], *(shifted if name == target else at))))
        value = terms[0]
        for term in terms[1:]:
            value = add(value, term)
        body = store(named[target], shifted, value)
        for x, size in zip(reversed(index), reversed(sizes[1:]), strict=True):
            lo, hi = (1, 2) if rng.random() < 0.1 else (margin, add(var(size), -margin))
            body = (
                loop(x.name, lo, hi, body)
                if rng.random() < 0.9
                else loop(x.name, margin, add(var(size), -2 * margin), body)
            )
        sweeps.append(body)
    steps = loop("t", rng.choice([0, 0, 1]), var("T"), *sweeps)
    around = [_outside(rng, arrays, sizes[1:], k) for k in range(2)]
    before, after = (some if rng.random() < 0.3 else [] for some in around)
    return nest("stencil", " ".join(sizes), arrays, *before, steps, *after)


def _outside(rng: random.Random, arrays: list[Array], sizes: list[str], k: int) -> list[Any]:
    """A sweep in place, one element after the other."""
    array, index = rng.choice(arrays), [var(f"{axis}_{k}") for axis in "ij"[: len(sizes)]]
    body = store(array, index, add(load(array, *index), load(array, add(index[0], -1), *index[1:])))
    for x, size in zip(reversed(index), reversed(sizes), strict=True):
        body = loop(x.name, 1, var(size), body)
    return [body]


def check_random_stencil(seed: int) -> bool:
    """In time tiles it computes the same; False if it is refused."""
    rng = random.Random(seed)
    fn = random_stencil(rng)
    dims = len(fn.sizes) - 1
    try:
        schedule = Schedule(fn).time_tile(
            "t", sizes=tuple(rng.randint(1, 5) for _ in range(dims)), steps=rng.randint(1, 4), rows=rng.randint(1, 3)
        )
    except (IllegalSchedule, InputError):
        return False
    kernel = lowered(schedule)
    for n in (4, 5, 9) if dims == 2 else (4, 7, 13):
        for T in (0, 1, 2, 3, 6):
            arguments = arguments_for(fn, rng, n)
            for array in fn.arrays:
                arguments[array.name] = np.resize(arguments[array.name], tuple(n + k + 1 for k in range(dims)))
            arguments |= {size: n + k + 1 for k, size in enumerate(fn.sizes[1:])} | {"T": T}
            assert_same_outcome(fn, kernel, arguments)
    return True


def test_random_stencils_compute_the_same():
    made = sum(check_random_stencil(seed) for seed in range(12))
    assert made >= 3


@pytest.mark.slow
def test_many_random_stencils_compute_the_same():
    made = sum(check_random_stencil(seed) for seed in range(12, 400))
    assert made >= 90


def test_the_module_is_the_one_that_is_registered():
    assert time_tile.time_tile.__name__ == "time_tile"
