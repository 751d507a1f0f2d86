"""polysched/transform/edits/run/bind.py: loops on blocks and threads, each refused where the kernel would be wrong."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nests import random_nest, var

import polysched as ps
from polysched.ir.node import map_children, substitute
from polysched.ir.nodes import Const, For, Function, Load, Store
from polysched.model.tree.nodes import Wait, marks_in


@ps.nest
def smooth(b: ps.f64["n"], a: ps.f64["n"], n: ps.size):
    for i in range(1, n - 1):
        b[i] = a[i - 1] + a[i] + a[i + 1]


@ps.nest
def rows(c: ps.f64["m", "64"], b: ps.f64["m", "64"], a: ps.f64["m", "64"], m: ps.size, steps: ps.size):
    for r in range(m):
        for t in range(steps):
            for i in range(64):
                b[r, i] = 0.5 * a[r, i]
            for j in range(1, 63):
                a[r, j] = b[r, j - 1] + b[r, j + 1]
            c[r, 0] += a[r, 7]


def test_blocks_around_threads():
    s = ps.Schedule(smooth).tile("i", sizes=(32,))
    assert str(s.bind("i_o", "blockIdx.x").bind("i", "threadIdx.x")) == """\
domain: { S[i] : 0 < i <= -2 + n }
  context: { : n >= 0 }
    mark: map:block.x
      band:
        i_o: [S[i] -> floor((i)/32)] coincident
        mark: map:thread.x
          band:
            i: [S[i] -> i] coincident"""
    assert s.bind("i_o", "block.x").bind("i", "thread.x").tree == s.bind("i", "thread.x").bind("i_o", "block.x").tree


def test_any_number_of_iterations_on_threads_that_take_turns():
    s = ps.Schedule(smooth).bind("i", "threadIdx.x", threads=32)
    assert str(s) == """\
domain: { S[i] : 0 < i <= -2 + n }
  context: { : n >= 0 }
    mark: map:thread.x
      band:
        i_t: [S[i] -> (i) mod 32] coincident
        band:
          i: [S[i] -> i] coincident"""
    ps.optimize(smooth, "cuda", schedule=s).verify(n=70)


def test_a_cpu_has_no_axes():
    with pytest.raises(ps.InputError) as raised:
        ps.optimize(smooth, schedule=ps.Schedule(smooth).bind("i", "blockIdx.x"))
    what, hint = str(raised.value).splitlines()
    assert what == "the schedule has a loop on block.x, and C has none"
    assert hint == "hint: targets with axes are cuda, opencl, hip"


def test_several_loops_at_once():
    assert str(ps.Schedule(rows).bind("r", "blockIdx.x").bind(("i", "j*"), "threadIdx.x")).count("map:thread.x") == 2


def phases() -> ps.Schedule:
    return ps.Schedule(rows).bind("r", "blockIdx.x").bind("i", "threadIdx.x").bind("j", "threadIdx.x")


def test_a_serial_loop_and_a_sequence_around_threads_are_phases():
    for target in ("cuda", "opencl"):
        done = ps.optimize(rows, target, schedule=phases())
        assert done.rungs["mapping"] == "mapped"
        assert marks_in(done.tree).count(Wait()) == 3
        done.verify(m=3, steps=3)


@ps.nest
def row_by_row(b: ps.f64["m", "8"], a: ps.f64["m", "8"], m: ps.size):
    for r in range(m):
        for i in range(8):
            a[r, i] = 2.0 * a[r, i]
        for j in range(3, 4):
            b[r, j] = a[r, j]


def test_a_loop_of_one_iteration_stays_on_its_thread():
    done = ps.optimize(
        row_by_row, "cuda", schedule=ps.Schedule(row_by_row).bind("r", "block.x").bind(("i", "j"), "thread.x")
    )
    assert done.rungs["mapping"] == "mapped" and "__syncthreads" not in done.source.text
    done.verify(m=3)


def test_without_its_barriers_the_kernel_races(monkeypatch):
    monkeypatch.setattr("polysched.plan.mapped.place_barriers", lambda tree, scop, dependences: tree)
    report = ps.optimize(rows, "cuda", schedule=phases()).check(**arguments(m=2, steps=2))
    assert {finding.kind for finding in report.findings} == {"race"}


def arguments(m: int, steps: int) -> dict[str, Any]:
    return {"m": m, "steps": steps, **{name: np.ones((m, 64)) for name in "abc"}}


def test_threads_do_not_wait_inside_of_their_loops():
    s = ps.Schedule(rows).interchange("r", "t").fuse("i", "j", shift=2)
    with pytest.raises(ps.IllegalSchedule) as raised:
        s.bind("r", "blockIdx.x").bind("i", "threadIdx.x")
    assert str(raised.value).splitlines()[0] == (
        "bind(i, threadIdx.x): flow dependence on b: S0[r=0, t=0, i=0] must run before S1[r=0, t=0, j=1], "
        "but iterations of loop 'i' would run at the same time (m = 1, steps = 1)"
    )


def test_blocks_do_not_wait_for_each_other():
    with pytest.raises(ps.IllegalSchedule) as raised:
        ps.Schedule(rows).bind("r", "blockIdx.y").bind(("i", "j"), "blockIdx.x")
    assert str(raised.value).splitlines()[0] == (
        "bind(i, j, blockIdx.x): flow dependence on b: S0[r=0, t=0, i=0] must run before S1[r=0, t=0, j=1], "
        "but they are not on one thread: block.x separates them in a kernel (m = 1, steps = 1)"
    )


REFUSED = {
    "no such axis": (
        lambda s: s.bind("i", "threadIdx.w"),
        "there is no axis 'threadIdx.w'\n"
        "hint: the axes are: block.x, block.y, block.z, thread.x, thread.y, thread.z, block.w",
    ),
    "no such loop": (lambda s: s.bind("k", "threadIdx.x"), "no loop fits 'k'\nhint: the loops are: i_o, i"),
    "any number of threads": (
        lambda s: s.bind("i_o", "threadIdx.x"),
        "loop 'i_o' has no constant number of iterations, as loops on threads need\n"
        "hint: split it and bind the inner loop, or give a number of threads",
    ),
    "too many threads": (
        lambda s: s.tile("i_o", sizes=(2048,)).bind("i_o", "threadIdx.x"),
        "loop 'i_o' has 2048 iterations, and a block has at most 1024 threads along thread.x\nhint: split it",
    ),
    "too many that take turns": (
        lambda s: s.bind("i", "threadIdx.x", threads=2048),
        "a block has at most 1024 threads along threadIdx.x, not 2048",
    ),
    "too many in all": (
        lambda s: s.tile("i_o", sizes=(64,)).bind("i", "threadIdx.x").bind("i_o", "threadIdx.y"),
        "a block would have 32 x 64 threads, and it has at most 1024",
    ),
    "an axis twice": (
        lambda s: s.bind("i_o", "blockIdx.x").bind("i", "blockIdx.x"),
        "loop 'i' is inside of loop 'i_o', and both would be on block.x\n"
        "hint: the axes are: block.x, block.y, block.z, thread.x, thread.y, thread.z, block.w",
    ),
    "a fourth axis without a third": (
        lambda s: s.bind("i_o", "block.w"),
        "loop 'i_o' would be on block.w, and no loop right inside of it is on block.z\n"
        "hint: bind that one to block.z first: it shares its axis",
    ),
    "threads around blocks": (
        lambda s: s.tile("i_o", sizes=(4,)).bind("i", "blockIdx.x").bind("i_o", "threadIdx.x"),
        "loop 'i', on block.x, would be inside of loop 'i_o', on thread.x\n"
        "hint: blocks are made of threads: reorder them",
    ),
    "blocks inside of threads": (
        lambda s: s.tile("i_o", sizes=(4,)).bind("i_o", "threadIdx.x").bind("i", "blockIdx.x"),
        "loop 'i', on block.x, would be inside of loop 'i_o', on thread.x\n"
        "hint: blocks are made of threads: reorder them",
    ),
    "twice": (
        lambda s: s.bind("i", "threadIdx.x").bind("i", "threadIdx.y"),
        "loop 'i' is marked map already\nhint: edit loops before they are marked",
    ),
    "blocks that take turns": (
        lambda s: s.bind("i", "blockIdx.x", threads=4),
        "a loop cannot be on 4 threads of blockIdx.x\nhint: they are for loops on threads",
    ),
}


@pytest.mark.parametrize(("edit", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_grid(edit, message):
    with pytest.raises(ps.InputError) as raised:
        edit(ps.Schedule(smooth).tile("i", sizes=(32,)))
    assert str(raised.value) == message


# --- whatever is legal runs without races


def batched(fn: Function) -> Function:
    """The nest for each b of m, on arrays of its own; n is 4."""

    def each(node: Any) -> Any:
        node = map_children(node, each)
        return replace(node, index=(var("b"), *node.index)) if isinstance(node, Load | Store) else node

    body = tuple(map(each, substitute(fn.body, {"n": Const(4)})))
    arrays = tuple(replace(a, shape=(var("m"), *substitute(a.shape, {"n": Const(4)}))) for a in fn.arrays)
    names = (*(s.name for s in fn.scalars), *(a.name for a in arrays))
    return replace(fn, sizes=("m",), arrays=arrays, params=("m", *names), body=(For("b", Const(0), var("m"), 1, body),))


def randomly_bound(s: ps.Schedule, rng: random.Random) -> ps.Schedule:
    for _ in range(12):
        name, axis = rng.choice(s.loops), rng.choice(("threadIdx.x", "threadIdx.x", "threadIdx.y"))
        try:
            s = s.tile(name, sizes=(rng.choice((2, 3)),)) if rng.random() < 0.2 else s.bind(name, axis)
        except (ps.IllegalSchedule, ps.InputError):
            continue
    return s


@pytest.mark.parametrize("seed", [0, 24, 40, 58])  # of those that have barriers
def test_what_is_legal_on_random_nests_runs_without_a_race(seed):
    rng = random.Random(seed)
    fn = batched(random_nest(rng, statements=4))
    s = randomly_bound(ps.Schedule(fn).bind("b", "blockIdx.x"), rng)
    ps.optimize(fn, rng.choice(("cuda", "opencl")), schedule=s).verify(m=2)
