"""strategy/stencils: which stencils run several steps in a kernel, and in which tiles."""

from __future__ import annotations

from math import prod

import pytest

import polysched as ps
from benchmarks.gpu_static.stencils import STENCILS, in_floats
from benchmarks.polybench import KERNELS
from polysched.config.heuristics import stencils as rules
from polysched.config.target import LIMITS, TARGETS
from polysched.ir.nodes import Function
from polysched.operators.examples import seidel_2d
from polysched.strategy.stencils.price import Choice, Prices
from polysched.strategy.stencils.time_tiles import prices_of
from polysched.transform.edits.base.loops import loops

CUDA = TARGETS["cuda"].shared
TILED = [(name, double) for name, double in STENCILS.items() if name != "heat-3d"]


def chosen(fn: Function, shared: int = CUDA) -> tuple[Prices, Choice]:
    draft = ps.Schedule(fn, "ilp").draft
    prices = prices_of(draft, loops(draft.nested)[0], shared)
    best = prices.best
    assert best is not None
    return prices, best


@pytest.mark.parametrize(("name", "double"), TILED, ids=[name for name, _ in TILED])
@pytest.mark.parametrize("is_double", [False, True], ids=["f32", "f64"])
def test_few_passes_over_memory_few_launches_and_little_work_twice(name, double, is_double):
    fn = double if is_double else in_floats(double)
    prices, best = chosen(fn)
    assert prices.bytes_of(best.sizes, best.steps) <= 0.35 * prices.untiled_bytes
    assert prices.redundant(best.sizes, best.steps) <= rules.REDUNDANT
    assert best.steps >= 4
    assert prices.untiled / best.seconds >= (2.5 if name != "9-point" else 1.9)


@pytest.mark.parametrize("shared", [LIMITS.shared, CUDA])
def test_boxes_fit_what_a_block_has(shared):
    prices, best = chosen(STENCILS["fdtd-2d"], shared)
    box = prices.sized(best.sizes, best.steps)
    assert 3 * 8 * prod(box) <= min(shared, rules.TILE_BYTES)
    assert box[1] * (box[0] // best.rows) <= LIMITS.block


def test_the_figures_of_a_tile():
    prices, _ = chosen(in_floats(STENCILS["jacobi-2d"]))
    assert prices.sized((48, 48), 4) == (64, 64)  # two elements for each step and side
    assert prices.untiled_bytes == 16  # two sweeps, which read an array and write the other
    assert prices.bytes_of((48, 48), 4) == 4 * (64 * 64 + 48 * 48) / (48 * 48 * 4)
    computed = sum((48 + 2 * around) ** 2 for around in range(8))  # by a sweep, from the last to the first
    assert prices.redundant((48, 48), 4) == pytest.approx(1 - 8 * 48 * 48 / computed)


def test_boxes_of_three_dimensions_are_mostly_halo():
    draft = ps.Schedule(STENCILS["heat-3d"], "ilp").draft
    assert prices_of(draft, loops(draft.nested)[0], CUDA).best is None


def script_of(fn: object, target: str = "cuda", **options: bool) -> str:
    return ps.optimize(fn, target, options=ps.Options(**options)).schedule.script


def test_the_script_has_the_edit_and_axes_for_its_loops():
    auto = ps.Schedule.auto(STENCILS["jacobi-1d"], "cuda")
    assert [str(edit) for edit in auto.history.edits] == [
        '.time_tile("t", sizes=(992,), steps=8, rows=1)',
        '.bind("x_b*", "block.x")',
        '.bind("x_t*", "thread.x")',
    ]
    assert [decision.key for decision in auto.decisions] == ["time_steps.t"]


def test_other_steps_and_none_are_answers_to_the_decision():
    auto = ps.Schedule.auto(STENCILS["jacobi-1d"], "cuda")
    assert '.time_tile("t", sizes=(1012,), steps=3, rows=1)' in auto.decide("time_steps.t", 3).script
    with pytest.raises(ps.InputError, match="no block has room for time tiles of 300 steps of loop 't'"):
        auto.decide("time_steps.t", 300)
    assert "time_tile" not in auto.without("time_steps.t").script


def test_options_leave_time_tiles_out():
    for option in ("tile", "shared_memory"):
        assert "time_tile" not in script_of(STENCILS["jacobi-1d"], **{option: False})


def test_where_no_element_needs_a_neighbor_there_is_none():
    """A sum of rows is carried by a loop over them."""
    assert "time_tile" not in script_of(KERNELS["atax"].nest, reorder_reductions=True)


def test_a_sweep_in_place_has_none():
    assert "time_tile" not in script_of(seidel_2d)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 9])
@pytest.mark.parametrize(("name", "double"), TILED, ids=[name for name, _ in TILED])
def test_any_sizes_and_steps_are_right(name, double, steps):
    done = ps.optimize(double, "cuda")
    for n in (1, 2, 3, 37, 101):
        sizes = {size: steps if size in ("tsteps", "tmax") else n + k for k, size in enumerate(double.sizes)}
        assert "equal to" in str(done.verify(**sizes))
