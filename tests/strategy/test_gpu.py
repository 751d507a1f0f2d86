"""The default strategy for GPUs as a script."""

# ruff: noqa: F821, UP037

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from scripts import check_changed, check_script

import polysched as ps
from benchmarks.polybench import KERNELS
from polysched.model.tree.nodes import Tree
from polysched.operators import conv2d_nchw
from polysched.transform.edits.base.registry import EDITS
from polysched.transform.edits.run.bind import bind

MACHINE = ps.Machine(vector_bytes=64, vector_registers=32, l1=32 << 10, l2=1 << 20, l3=32 << 20, cores=2)
OPTIONS = ps.Options(machine=MACHINE)
REORDERED = ps.Options(machine=MACHINE, reorder_reductions=True)


def test_the_script_of_a_product():
    options = replace(OPTIONS, tensor="off")
    script = str(ps.Schedule.auto(KERNELS["syrk"].nest, "cuda", options=options).history)
    assert script.split("\n    .")[1:] == [
        'fuse("i", "i_2")',
        'fuse("j", "j_2")',
        'tile("j", sizes=(128,), names=("j_b",))',
        'cyclic("j", 16, vector=2, names=("j_t", "j_g"))',
        'tile("i", sizes=(64,), names=("i_b",))',
        'tile("i", sizes=(8,), names=("i_t",))',
        'tile("k", sizes=(16,), names=("k_c",))',
        'reorder("i_b", "j_b", "i_t", "j_t", "i", "j_g", "j")',
        'distribute("i", before="S1")',
        'reorder("k_c", "k", "i_2", "j_g_2", "j_2")',
        'bind("j_b", "block.x")',
        'bind("i_b", "block.y")',
        'bind("j_t", "thread.x")',
        'bind("i_t", "thread.y")',
        'unroll("i")',
        'unroll("j_g")',
        'unroll("j")',
        'unroll("i_2")',
        'unroll("j_g_2")',
        'unroll("j_2")\n)',
    ]


@pytest.mark.parametrize(
    ("kernel", "target"),
    [
        ("trmm", "opencl"),
        ("fdtd-2d", "cuda"),
        ("floyd-warshall", "hip"),
        pytest.param("ludcmp", "cuda", marks=pytest.mark.slow),
    ],
)
def test_its_text_is_the_automatic_one(kernel, target):
    nest = KERNELS[kernel].nest
    found = ps.optimize(nest, target, options=OPTIONS)
    assert not isinstance(found.schedule.history.start, Tree)
    assert ps.optimize(nest, target, schedule=found.schedule).source.text == found.source.text


@pytest.mark.parametrize(
    ("kernel", "edit"),
    {
        "gemver": '.bind("j_2", "block.y")',  # columns: four threads for each
        "gesummv": '.bind("j", "thread.x")',  # rows: a warp for each
        "mvt": '.bind("j", "thread.x")',
    }.items(),
)
def test_threads_that_add_up(kernel, edit):
    done = ps.optimize(KERNELS[kernel].nest, "cuda", options=REORDERED)
    assert edit in map(str, done.schedule.history.edits)
    assert ps.optimize(KERNELS[kernel].nest, "cuda", schedule=done.schedule).source.text == done.source.text


def test_four_parallel_loops_and_skewed_sums():
    conv = conv2d_nchw(batch=2, in_channel=16, in_size=14, num_filter=16, kernel=3, padding=1)
    done = ps.optimize(conv, "cuda", options=OPTIONS)
    assert {".skew", ".bind"} <= {str(edit).split("(")[0] for edit in done.schedule.history.edits}
    assert ps.optimize(conv, "cuda", schedule=done.schedule).source.text == done.source.text


def test_a_decision_changes_the_text_and_no_result():
    nest = KERNELS["gemm"].nest
    done = ps.optimize(nest, "cuda", options=replace(OPTIONS, tensor="off"))
    keys = [each.key for each in done.schedule.decisions]
    assert {"threads.i", "points.j", "chunk.k"} <= set(keys) and len(keys) == len(set(keys))
    schedule = done.schedule.decide("threads.i", 4).decide("points.j", 2).decide("chunk.k", 8).without("points.i")
    other = ps.optimize(nest, "cuda", schedule=schedule)
    assert other.source.text != done.source.text
    other.verify(ni=11, nj=70, nk=19)
    with pytest.raises(ps.InputError, match=r"threads\.i cannot be 2048: .* room in a block, for 64 along it"):
        done.schedule.decide("threads.i", 2048)


@ps.nest
def product(C: ps.f32["n", "m"], A: ps.f32["n", "q"], B: ps.f32["q", "m"], n: ps.size, m: ps.size, q: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(q):
                C[i, j] += A[i, k] * B[k, j]


@ps.nest
def quotients(C: ps.i32["n", "m"], A: ps.i32["n", "q"], B: ps.i32["q", "m"], n: ps.size, m: ps.size, q: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(q):
                C[i, j] += A[i, k] // B[k, j]


@ps.nest
def weighted(
    C: ps.f32["n", "m"],
    A: ps.f32["n", "q"],
    B: ps.f32["q", "m"],
    w: ps.f32["p"],
    at: ps.i32["q"],
    n: ps.size,
    m: ps.size,
    q: ps.size,
    p: ps.size,
):
    for i in range(n):
        for j in range(m):
            for k in range(q):
                C[i, j] += A[i, k] * B[k, j] * w[at[k]]


@ps.nest
def chosen(C: ps.f32["n", "m"], A: ps.f32["n", "q"], B: ps.f32["q", "m"], n: ps.size, m: ps.size, q: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(q):
                if A[i, k] > 0.0:
                    C[i, j] += A[i, k] * B[k, j]


@pytest.mark.parametrize(
    ("nest", "copied"),
    [(quotients, "A, B"), (weighted, "A, B, at"), (chosen, "")],
    ids=["what may trap", "an index that is data", "a condition on data"],
)
def test_a_thread_has_one_point_where_it_may_not_update_beyond_the_nest(nest, copied):
    """With several, which copies for all of them would have to serve, it would lose the copies, too."""
    done = ps.optimize(nest, "cuda", options=OPTIONS)
    (kernel,) = done.source.kernels
    assert kernel.note.startswith("blocks of 32 x 8 threads" + (f"; {copied} copied" if copied else ""))
    assert not any(each.key.startswith("points.") and each.value > 1 for each in done.schedule.decisions)
    done.verify(n=9, m=40, q=7, **({"p": 5} if nest is weighted else {}))


def test_sums_of_a_product_without_copies_are_in_registers():
    done = ps.optimize(product, "cuda", options=replace(OPTIONS, shared_memory=False))
    assert done.source.kernels[0].note == "blocks of 16 x 8 threads; 64 elements of C in registers"
    done.verify(n=9, m=40, q=7)


def test_a_nest_of_which_an_edit_is_refused_is_on_no_grid(monkeypatch):
    def refuses_one(draft, loops, axis, threads=None):
        if loops.startswith("i_2"):
            raise ps.InputError("no")
        return bind(draft, loops, axis, threads)

    monkeypatch.setitem(EDITS, "bind", replace(EDITS["bind"], apply=refuses_one))
    nest = KERNELS["trmm"].nest
    found = ps.optimize(nest, "cuda", options=OPTIONS)
    assert found.fallbacks == {"grid of i_2": "left out, since no"}
    assert '.bind("i_b"' in found.schedule.script and "i_2" not in found.schedule.script
    found.verify(m=7, n=9)
    assert ps.optimize(nest, "cuda", schedule=found.schedule).source.text == found.source.text


def test_what_edits_of_data_were_made_before_stays():
    mapped = ps.Schedule(KERNELS["gemm"].nest).assume("ni >= 8").map("cuda")
    assert ".bind" in mapped.script and '.assume("ni >= 8")' in mapped.script


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["gemm", "jacobi-1d"])
def test_one_line_less_is_legal_or_refused_by_name(kernel):
    assert check_changed(KERNELS[kernel].nest.function, random.Random(kernel), "cuda") is not None


@pytest.mark.slow
def test_random_nests_one_line_less():
    assert {True, False} <= {check_script(seed, "cuda") for seed in range(19)}


@ps.nest
def of_rows(A: ps.f32[130, 4096], x: ps.f32[4096], y: ps.f32[130]) -> None:
    for i in range(130):
        for j in range(4096):
            y[i] += A[i, j] * x[j]


@pytest.mark.parametrize(("gpu", "axes"), [(ps.A100, 3), (ps.H100, 2)])
def test_fewer_rows_than_multiprocessors_have_a_block_each(gpu, axes):
    schedule = ps.Schedule.auto(of_rows, "cuda", options=ps.Options(gpu=gpu, reorder_reductions=True))
    assert schedule.script.count(".bind") == axes and f"gpu=ps.{gpu!r}" in schedule.script
    assert ps.Schedule.from_json(of_rows, schedule.to_json()).history == schedule.history


@pytest.mark.parametrize("wrong", [{"arch": "90"}, {"multiprocessors": 0}, {"multiprocessors": True}])
def test_what_is_no_gpu(wrong):
    with pytest.raises(ps.InputError, match=next(iter(wrong))):
        ps.Gpu(**wrong)
