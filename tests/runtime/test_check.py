"""polysched/runtime/emulated/check.py: kernels of ours under the checker, on the arguments of the nest."""

from __future__ import annotations

import numpy as np
import pytest

from polysched.codegen.emit.cuda import emit_cuda
from polysched.codegen.emit.opencl import emit_opencl
from polysched.errors import LaunchError
from polysched.ir.build import add, const, load, mul, store, sub, var
from polysched.ir.dtypes import f64, i64
from polysched.ir.nodes import Alloc, Array, Barrier
from polysched.runtime.emulated.check import check
from tests.nests import loop, nest

n, i, j = var("n"), var("i"), var("j")
V = Array("V", i64, (n,))


@pytest.fixture(params=[emit_cuda, emit_opencl], ids=["cuda", "opencl"])
def emit(request):
    return request.param


def reversed_by(*between):
    """V reversed by a block of 64 threads, through memory that they share."""
    tile = Array("tile", i64, (const(64),), space="shared")
    body = (
        Alloc(tile),
        loop("i", 0, 64, store(tile, (i,), load(V, i)), kind="thread.x"),
        *between,
        loop("j", 0, 64, store(V, (j,), load(tile, sub(63, j))), kind="thread.x"),
    )
    return nest("rotate", "n", [V], loop("b", 0, 1, *body, kind="block.x"))


def test_what_is_right_is_silent(emit):
    fn = reversed_by(Barrier())
    out = np.arange(64)
    report = check(emit(fn), fn)(V=out)
    assert out.tolist() == list(range(63, -1, -1))
    assert report.is_silent
    assert [(t.array, t.does, t.shared, t.requests, t.cost, t.least) for t in report.traffic] == [
        ("V", "reads", False, 2, 16, 16),
        ("tile", "writes", True, 4 // 2, 4, 4),  # 32 lanes of 8 bytes: two cycles
        ("V", "writes", False, 2, 16, 16),
        ("tile", "reads", True, 2, 4, 4),
    ]


def test_a_barrier_that_is_missing(emit):
    fn = reversed_by()
    report = check(emit(fn), fn)(V=np.arange(64))
    assert {(f.kind, f.array) for f in report.findings} == {("race", "tile"), ("uninitialized", "tile")}
    (race,) = (f for f in report.findings if f.kind == "race")
    assert race.what.startswith("tile[") and {place.does for place in race.places} == {"reads", "writes"}
    assert all("tile[" in place.text for place in race.places)


def test_a_running_sum_races_between_blocks(emit):
    """Right, if the first block runs first."""
    body = loop("i", 1, n, store(V, (i,), add(load(V, i), load(V, sub(i, 1)))), kind="block.x")
    fn = nest("scan", "n", [V], body)
    (finding,) = check(emit(fn), fn)(V=np.ones(4, np.int64)).findings
    assert (finding.kind, finding.what[:4], finding.count) == ("race between blocks", "V[1]", 2)


def test_elements_are_named_by_their_indices(emit):
    place = add(mul(i, n), add(j, 1))
    flat = Array("D", f64, (mul(n, n),))
    inner = loop("j", 0, n, store(flat, (place,), const(0.0, f64)), kind="thread.x")
    fn = nest("shift", "n", [flat], loop("i", 0, n, inner))
    (finding,) = check(emit(fn), fn)(D=np.ones(36), n=6).findings
    assert finding.what == "D[36], but it has 36 elements"


def test_temporaries_hold_nothing_at_first(emit):
    buffer = Array("buffer", i64, (n,))
    fill = loop("i", 1, n, store(buffer, (i,), load(V, i)), kind="thread.x")
    use = loop("j", 0, n, store(V, (j,), load(buffer, j)), kind="thread.x")
    fn = nest("through", "n", [V], Alloc(buffer), fill, use)
    (finding,) = check(emit(fn), fn)(V=np.ones(8, np.int64)).findings
    assert (finding.kind, finding.what) == (
        "uninitialized",
        "a temporary of 64 bytes, bytes 0 to 7 of 64, which nothing has written",
    )


def test_launches_are_in_order(emit):
    two = (loop(name, 0, n, store(V, (var(name),), sub(load(V, sub(sub(n, 1), var(name))), 1)), kind="thread.x")
           for name in ("i", "j"))  # fmt: skip
    once = nest("once", "n", [V], next(two))
    assert {f.kind for f in check(emit(once), once)(V=np.ones(8, np.int64)).findings} == {"race"}
    ahead = loop("i", 0, n, store(V, (i,), i), kind="thread.x")
    fn = nest("twice", "n", [V], ahead, loop("j", 0, n, store(V, (j,), add(load(V, j), 1)), kind="block.x"))
    assert check(emit(fn), fn)(V=np.ones(8, np.int64)).is_silent


def test_arguments_are_checked_first():
    fn = reversed_by(Barrier())
    with pytest.raises(LaunchError, match=r"V must be a numpy array i64\[n\], not float64 of shape \(3,\)"):
        check(emit_cuda(fn), fn)(V=np.zeros(3))
