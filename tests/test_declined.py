"""`Compiled.declined`: what the schedule asks of loops and the kernel does not do."""

from __future__ import annotations

import pickle

import pytest
from by_hand import matmul

import polysched as ps
from polysched.codegen.gpu.planes import fold_planes
from polysched.codegen.gpu.sums.reduce import reduce_on_gpu
from polysched.codegen.parallel.privatize import privatize
from polysched.ir.build import add, binary
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array, Const, For, Function, Load, Store, Var
from polysched.support.trace import Declined, record

TOO_LITTLE = "at no size there is enough work for threads"


@ps.nest
def small(A: ps.f64[8, 8], B: ps.f64[8, 8]) -> None:
    for i in range(8):
        for j in range(8):
            B[i, j] = A[i, j] + 1.0


@ps.nest
def large(n: ps.size, A: ps.f64["n", "n"], B: ps.f64["n", "n"]) -> None:
    for i in range(n):
        for j in range(n):
            B[i, j] = A[i, j] + 1.0


def test_threads_that_pay_at_no_size_are_declined():
    done = ps.optimize(small, schedule=ps.Schedule(small).parallel("i"))
    assert done.declined == (Declined("parallel", "i", TOO_LITTLE),)
    assert f"declined: i is not parallel: {TOO_LITTLE}" in done.explain().splitlines()
    assert pickle.loads(pickle.dumps(done)).declined == done.declined


def test_threads_and_lanes_of_a_cpu_are_declined_on_a_gpu():
    done = ps.optimize(large, "cuda", schedule=ps.Schedule(large).bind("i", "block.x").vectorize("j"))
    assert done.declined == (Declined("vector", "j", "CUDA runs loops on axes of a grid; bind it to one"),)
    assert str(done.declined[0]).startswith("j is not SIMD: CUDA")


def test_a_schedule_for_cpus_alone_is_refused_on_a_gpu():
    with pytest.raises(ps.InputError, match="no loop on an axis of a grid, and CUDA would run it on one") as caught:
        ps.optimize(large, "cuda", schedule=ps.Schedule(large).parallel("i").vectorize("j"))
    assert caught.value.hint.startswith('bind a loop, as in bind("i", "block.x")')


@ps.nest
def up_to_the_row(C: ps.f64["n", "n"], A: ps.f64["n", "n"], B: ps.f64["n", "n"], n: ps.size):
    for i in range(n):
        for j in range(n):
            for k in range(i):
                C[i, j] += A[i, k] * B[k, j]


@ps.nest
def triangle(C: ps.f64["n", "n"], n: ps.size):
    for i in range(n):
        for j in range(i):
            C[i, j] *= 2.0


def in_chunks(nest: ps.Nest, size: int) -> ps.Schedule:
    tiled = ps.Schedule(nest).tile("i", "j", sizes=(16, 16)).tile("k", sizes=(size,), names=("k_c",))
    schedule = tiled.reorder("i_o", "j_o", "i", "j", "k_c", "k")
    for name, axis in {"i_o": "block.y", "j_o": "block.x", "i": "thread.y", "j": "thread.x"}.items():
        schedule = schedule.bind(name, axis)
    return schedule


def test_chunks_of_which_nothing_is_copied():
    def found(nest: ps.Nest, size: int) -> list[tuple[str, str, str]]:
        done = ps.optimize(nest, "cuda", schedule=in_chunks(nest, size))
        return [(each.mark, each.loop, each.reason) for each in done.declined]

    assert not found(matmul, 16)
    too_long = "it has no chunks of constant length, of at most 64"
    assert found(matmul, 128) == [("copied in chunks", "k", too_long)]
    uneven = "the loops of its threads differ from one to the other"
    assert found(up_to_the_row, 16) == [("copied in chunks", "k", uneven)]


def lines_of_the_kernel(done: ps.Compiled) -> list[str]:
    return [line.strip() for line in done.explain().partition("in the kernel")[2].splitlines()]


def test_threads_in_threads_are_declined_where_rows_differ():
    done = ps.optimize(triangle, schedule=ps.Schedule(triangle).collapse("i", "j"))
    assert done.declined == (Declined("parallel", "j", "it is inside of loop 'i', which has the threads"),)
    assert {"i: on threads", "j"} <= {*lines_of_the_kernel(done)}


def test_threads_in_threads_with_the_same_bounds_everywhere_share_both_loops():
    done = ps.optimize(large, schedule=ps.Schedule(large).parallel("i").parallel("j"))
    assert done.declined == ()
    assert {"i: on threads", "j: on threads"} <= {*lines_of_the_kernel(done)}
    assert done.source.text.count("for (") == 1


@pytest.mark.parametrize("mark", ["parallel", "vectorize"])
def test_loops_of_one_iteration_are_declined(mark):
    tiled = ps.Schedule(large).tile("j", sizes=(1,))
    done = ps.optimize(large, schedule=getattr(tiled, mark)("j"))
    kind = {"parallel": "parallel", "vectorize": "vector"}[mark]
    assert done.declined == (Declined(kind, "j", "it runs once at most"),)
    assert not {"j: on threads", "j: SIMD"} & {*lines_of_the_kernel(done)}


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_nothing_is_declined_where_the_kernel_does_all_of_it(target):
    assert ps.optimize(large, target).declined == ()


def declined(fn: Function, lower) -> tuple[Declined, ...]:
    with record() as events:
        lower(fn)
    return tuple(event.value for event in events)


N = Var("n")
SUM = Array("s", f64, ())
X = Array("x", f64, (N,))


def over(var: str, kind: str, *body, reduces=(), hi=N) -> For:
    return For(var, Const(0), hi, 1, body, kind, reduces=reduces, origin=var.upper())


def function(*body) -> Function:
    return Function("f", ("n",), (SUM, X), body)


def product() -> Store:
    """s = x[i] - s is no sum."""
    return Store("s", (), binary("-", Load("x", (Var("i"),), f64), Load("s", (), f64)))


def test_a_sum_on_threads_or_lanes_that_is_none():
    for kind in ("parallel", "vector"):
        fn = function(over("i", kind, product(), reduces=("s",)))
        why = "its body is more than sums of which parts can be made"
        assert declined(fn, privatize) == (Declined(kind, "I", why),)


def test_a_piece_of_a_loop_that_reads_the_sum_alone():
    fn = function(over("i", "parallel", Store("x", (Var("i"),), Load("s", (), f64)), reduces=("s",)))
    (found,) = declined(fn, privatize)
    assert (found.mark, found.loop) == ("parallel", "I")


def test_a_sum_on_blocks_that_is_none():
    fn = function(over("i", "block.x", product(), reduces=("s",)))
    (found,) = declined(fn, lambda it: reduce_on_gpu(it, shuffles=True))
    assert (found.mark, found.loop) == ("block.x", "I")


def test_a_fourth_axis_around_one_whose_ends_move():
    inner = over("j", "block.z", Store("x", (Var("j"),), Const(0.0, f64)), hi=add(Var("i"), 1))
    (found,) = declined(function(over("i", "block.w", inner)), fold_planes)
    assert (found.mark, found.loop) == ("block.w", "I")
