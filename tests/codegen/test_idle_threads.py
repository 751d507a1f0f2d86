"""polysched/codegen/parallel/idle_threads.py: parallel loops that never have work for a second thread are serial."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polysched as ps
from polysched.codegen.parallel.idle_threads import without_idle_threads
from polysched.ir.build import add, binary, const, load, store, var
from polysched.ir.dtypes import boolean, f64
from polysched.ir.nodes import Array, Const, For
from tests.nests import loop, nest

n, i = var("n"), var("i")
A = Array("A", f64, (n,))


def kinds(lo, hi, *, step=1, kind="parallel", when=()) -> tuple[str, tuple]:
    body = store(A, (i,), add(load(A, i), const(1.0, f64)))
    (found,) = without_idle_threads(
        nest("f", "n", (A,), replace(loop("i", lo, hi, body, step=step, kind=kind), when=when))
    ).body
    assert isinstance(found, For)
    return found.kind, found.when


@pytest.mark.parametrize("kind", ["parallel", "dynamic"])
def test_one_iteration_starts_no_threads(kind):
    assert kinds(0, 1, kind=kind) == ("serial", ())
    assert kinds(n, add(n, 1), kind=kind) == ("serial", ())
    assert kinds(0, 32, step=32, kind=kind) == ("serial", ())
    assert kinds(0, 33, step=32, kind=kind) == (kind, ())
    assert kinds(0, n, kind=kind) == (kind, ())
    assert kinds(8, 7, step=-1, kind=kind) == ("serial", ())
    assert kinds(8, 0, step=-1, kind=kind) == (kind, ())


def test_what_is_never_worth_it_starts_no_threads():
    large = binary(">=", n, 1000)
    assert kinds(0, n, when=(Const(False, boolean),)) == ("serial", ())
    assert kinds(0, n, when=(large, Const(False, boolean))) == ("serial", ())
    assert kinds(0, n, when=(large,)) == ("parallel", (large,))


def test_other_loops_keep_their_kind():
    assert kinds(0, 1, kind="vector") == ("vector", ())


def test_a_nest_of_few_elements_has_no_region():
    @ps.op
    def doubled(x: ps.f32[8, 10]) -> ps.f32[8, 10]:
        return x * 2

    done = ps.optimize(doubled)
    assert "omp parallel" not in done.source.text
    x = np.arange(80, dtype="f4").reshape(8, 10)
    out = np.zeros_like(x)
    done(x=x, out=out)
    assert np.array_equal(out, x * 2)
