"""Which loop of the schedule tree each loop of a kernel came from: `For.origin`, from polysched/codegen/lower.py on."""

import pickle
from collections import Counter

import pytest
from by_hand import matmul

import polysched as ps
from benchmarks.polybench import KERNELS
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, Const, For, Load, Store
from polysched.ir.text import show
from polysched.model.loop_names import named
from polysched.model.tree.nodes import Band
from polysched.model.tree.nodes import walk as walk_tree

GEMM = KERNELS["gemm"].nest
MACHINE = ps.Machine(vector_bytes=64, vector_registers=32, l1=32 << 10, l2=1 << 20)


def loops(done: ps.Compiled) -> list[For]:
    return [node for node in walk(done.kernel.body) if isinstance(node, For)]


def names(done: ps.Compiled) -> set[str]:
    """Those of the loops of the tree, as schedules by hand call them."""
    bands = (node for node in walk_tree(named(done.tree)) if isinstance(node, Band))
    return {member.name for band in bands for member in band.members}


def test_every_loop_of_gemm_in_c_came_from_the_tree():
    """Tiles that are full, those that are not, and loops that fill registers: all are of the tree's loops."""
    done = ps.optimize(GEMM, options=ps.Options(machine=MACHINE))
    assert {loop.origin for loop in loops(done)} == names(done)
    assert Counter(loop.origin for loop in loops(done) if loop.kind != "serial")["i_2"] > 1


def test_every_loop_of_gemm_in_cuda_came_from_the_tree_or_copies_to_shared_memory():
    done = ps.optimize(GEMM, target="cuda", options=ps.Options(tensor="off"))
    made = [loop for loop in loops(done) if not loop.origin]
    stored = {node.array for loop in made for node in walk(loop) if isinstance(node, Store)}
    shared = {n.array.name for n in walk(done.kernel.body) if isinstance(n, Alloc) and n.array.space == "shared"}
    assert stored == shared and len(shared) == 2
    assert {loop.origin for loop in loops(done)} - {""} <= names(done)
    assert {loop.kind for loop in loops(done) if loop.origin} >= {"block.x", "block.y", "thread.x", "thread.y"}


def test_the_names_are_those_of_the_schedule_by_hand():
    schedule = ps.Schedule(matmul).tile("i", "j", sizes=(8, 8), names=("ib", "jb")).parallel("ib")
    done = ps.optimize(matmul, schedule=schedule)
    assert [loop.origin for loop in loops(done)] == ["ib", "jb", "i", "j", "k"]


@ps.nest
def total(s: ps.f64[1], a: ps.f64["n"], n: ps.size):  # noqa: F821
    for i in range(n):
        s[0] += a[i]


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_parts_of_a_sum_are_of_its_loop(target):
    done = ps.optimize(total, target=target, options=ps.Options(reorder_reductions=True))
    sums = [loop for loop in loops(done) if any(isinstance(n, Load) and n.array == "a" for n in walk(loop))]
    assert sums and {loop.origin for loop in sums} == {"i"}


@ps.nest
def batch(C: ps.f32[8, 40, 40], A: ps.f32[8, 40, 40], B: ps.f32[8, 40, 40]):
    for n in range(8):
        for i in range(40):
            for j in range(40):
                for k in range(40):
                    C[n, i, j] += A[n, i, k] * B[n, k, j]


def test_of_a_product_the_loops_over_batches_are_of_the_tree():
    done = ps.optimize(batch, options=ps.Options(machine=MACHINE))
    assert "packed:S" in str(done.tree)
    assert {loop.origin for loop in loops(done)} == {"n", ""}


def test_an_origin_is_no_part_of_what_a_loop_does():
    loop = For("c0", Const(0), Const(4), 1, (), origin="i")
    other = For("c0", Const(0), Const(4), 1, ())
    assert loop == other and hash(loop) == hash(other) and show((loop,)) == show((other,))
    assert pickle.loads(pickle.dumps(loop)).origin == "i"
