"""polysched/transform/edits/base/reduces.py: what marked loops reduce is read from the tree."""

from __future__ import annotations

import pytest
from by_hand import matmul

from polysched import Edit, IllegalSchedule, InputError, Options, Schedule, f64, nest, optimize, size

FREE = Options(reorder_reductions=True)


@nest
def rows(y: f64["n"], A: f64["n", "m"], x: f64["m"], n: size, m: size):
    for i in range(n):
        for j in range(m):
            y[i] += A[i, j] * x[j]


@nest
def total(s: f64[1], a: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            s[0] += a[i, j]


@nest
def averages(y: f64["n"], A: f64["n", "m"], n: size, m: size):
    for i in range(n):
        y[i] = 0.0
        for j in range(m):
            y[i] += A[i, j]


@nest
def of_rows_and_all(s: f64[1], y: f64["n"], A: f64["n", "m"], n: size, m: size):
    for i in range(n):
        for j in range(m):
            s[0] += A[i, j]
            y[i] += A[i, j]


def on_a_grid(nest, threads: int = 32, **axes: str) -> Schedule:
    schedule = Schedule(nest, options=FREE)
    for loop, axis in axes.items():
        schedule = schedule.bind(loop, axis, threads=None if axis.startswith("block") else threads)
    return schedule


def marks(schedule: Schedule) -> list[str]:
    return [line.partition("mark: ")[2] for line in str(schedule).splitlines() if "mark: " in line]


def test_a_loop_reduces_what_its_iterations_update():
    assert marks(Schedule(matmul, options=FREE).parallel("k")) == ["parallel:C"]
    assert marks(Schedule(matmul, options=FREE).parallel("i")) == ["parallel"]


def test_edits_after_the_mark_change_what_it_reduces():
    cached = Schedule(matmul, options=FREE).parallel("k").cache_write("C", at="j")
    assert marks(cached) == ["storage:C_c", "parallel:C_c"]
    optimize(matmul, schedule=cached).verify()


def test_of_edits_at_once_the_last_tree_tells():
    edits = [Edit.of("parallel", "k"), Edit.of("interchange", "i", "j"), Edit.of("vectorize", "k")]
    with pytest.raises(Exception, match="loop 'k' is marked parallel already"):
        Schedule(matmul, options=FREE).apply(edits)
    assert marks(Schedule(matmul, options=FREE).apply(edits[:2])) == ["parallel:C"]


@pytest.mark.parametrize("target", ["cuda", "opencl"])
@pytest.mark.parametrize(
    ("nest", "axes", "marked"),
    [
        (rows, {"i": "blockIdx.x", "j": "threadIdx.x"}, ["map:block.x", "map:thread.x:y"]),
        (total, {"i": "blockIdx.x"}, ["map:block.x:s"]),
        (total, {"i": "blockIdx.x", "j": "threadIdx.x"}, ["map:block.x:s", "map:thread.x:s"]),
    ],
)
def test_sums_on_blocks_and_threads(nest, axes, marked, target):
    schedule = on_a_grid(nest, **axes)
    assert marks(schedule) == marked
    optimize(nest, target, schedule=schedule).verify(**dict.fromkeys(nest.function.sizes, 37))


@pytest.mark.parametrize(("threads", "size"), [(16, 32), (33, 64), (512, 512)])
@pytest.mark.parametrize(
    ("nest", "axes"),
    [
        (rows, {"i": "blockIdx.x", "j": "threadIdx.x"}),
        (total, {"i": "threadIdx.x"}),
        (total, {"i": "blockIdx.x", "j": "threadIdx.x"}),
        (averages, {"i": "blockIdx.x", "j": "threadIdx.x"}),
    ],
)
def test_so_many_threads_add_up_as_are_asked_for(nest, axes, threads, size):
    schedule = on_a_grid(nest, threads, **axes)
    done = optimize(nest, "cuda", schedule=schedule)
    assert f"blocks of {size} threads" in done.explain() and not done.declined
    for n in (1, 37, 70):
        done.verify(**dict.fromkeys(nest.function.sizes, n))


def test_more_threads_than_a_block_has_are_refused():
    rows_of_4 = Schedule(rows, options=FREE).tile("i", sizes=(4,)).bind("i_o", "blockIdx.x").bind("i", "threadIdx.y")
    with pytest.raises(InputError, match="a block would have 512 x 4 threads"):
        rows_of_4.bind("j", "threadIdx.x", threads=300)


def test_rows_of_threads_add_up():
    schedule = Schedule(rows, options=FREE).tile("i", sizes=(4,)).bind("i_o", "blockIdx.x").bind("i", "threadIdx.y")
    optimize(rows, "cuda", schedule=schedule.bind("j", "threadIdx.x", threads=32)).verify(n=7, m=70)


@nest
def means(y: f64["n"], A: f64["n", "m"], q: size, n: size, m: size):
    for i in range(n):
        if i < q:
            y[i] = 0.0
        for j in range(m):
            y[i] += A[i, j]


@nest
def two_sums(y: f64["n"], z: f64["n"], A: f64["n", "m"], n: size, m: size):
    for i in range(n):
        y[i] = 0.0
        z[i] = 0.0
        for j in range(m):
            y[i] += A[i, j]
            z[i] += A[i, j] * A[i, j]


def in_warps(nest, rows):
    schedule = Schedule(nest, options=FREE).tile("i", sizes=(rows,)).bind("i_o", "block.x").bind("i", "thread.y")
    return schedule.bind("j", "thread.x")


def test_rows_have_a_warp_each_and_begin_in_it():
    schedule = in_warps(averages, 8)
    assert marks(schedule) == ["map:block.x", "map:thread.y", "map:thread.x:y"]
    done = optimize(averages, "cuda", schedule=schedule)
    assert done.source.kernels[0].note == "blocks of 32 x 8 threads; lanes of a warp are added up by shuffles"
    done.verify(n=11, m=70)


def test_columns_have_blocks_inside_of_threads():
    schedule = Schedule(rows, options=FREE).tile("i", sizes=(128,)).bind("i_o", "block.x").bind("i", "thread.x")
    optimize(rows, "cuda", schedule=schedule.bind("j", "block.y")).verify(n=11, m=300)
    with pytest.raises(InputError, match="a block would have 512 x 4 threads"):
        wide = Schedule(rows, options=FREE).tile("i", sizes=(512,)).bind("i_o", "block.x").bind("i", "thread.x")
        wide.bind("j", "block.y")


@pytest.mark.parametrize(("nest", "size"), [(means, 8), (two_sums, 8), (rows, 64)])
def test_what_a_warp_cannot_add_up_is_no_loop_on_threads(nest, size):
    with pytest.raises(InputError, match=r"no constant number of iterations|a block would have 32 x 64 threads"):
        in_warps(nest, size)


def test_rows_have_a_block_each_and_begin_and_end_in_it():
    done = optimize(averages, "cuda", schedule=on_a_grid(averages, i="blockIdx.x", j="threadIdx.x"))
    done.verify(n=11, m=70)


REFUSED = {
    "where sums are not free": (
        lambda: Schedule(rows).bind("i", "blockIdx.x").bind("j", "threadIdx.x", threads=32),
        "if sums may be in any order, schedule with Options(reorder_reductions=True)",
    ),
    "on other threads": (
        lambda: on_a_grid(rows, i="blockIdx.x", j="threadIdx.y"), 'bind("j", "threadIdx.x", threads=32)'
    ),
    "on blocks inside of others": (
        lambda: on_a_grid(rows, i="blockIdx.x", j="blockIdx.y"), 'bind("j", "threadIdx.x", threads=32)'
    ),
    "to other arrays than those around": (
        lambda: on_a_grid(of_rows_and_all, i="blockIdx.x", j="threadIdx.x"), ""
    ),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "hint"), REFUSED.values(), ids=REFUSED)
def test_other_loops_of_a_kernel_do_not_add_up(edit, hint):
    with pytest.raises(IllegalSchedule, match=r"flow dependence on [sy]") as raised:
        edit()
    assert raised.value.hint == hint
