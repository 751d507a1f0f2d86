"""Loops of one iteration and dimensions of one element are left out, and nothing else changes."""

from __future__ import annotations

import numpy as np

import polysched as ps
from polysched.ir.nodes import Function
from polysched.operators.examples import gemm
from polysched.prelude.units import without_units


def outer_sum() -> Function:
    n = ps.var("n")
    a, b = ps.placeholder((1, n), ps.f32, "a"), ps.placeholder((n, 1), ps.f32, "b")
    k = ps.reduce_axis(1, "k")
    out = ps.compute((n, 1, n), lambda i, u, j: ps.sum(a[k, j] * b[i, k], axis=k) + b[i, u], "out")
    return ps.function("outer_sum", [a, b], [out])


def test_loops_and_dimensions_of_one_are_left_out():
    assert str(outer_sum()) == """\
def outer_sum(a: f32[1, n], b: f32[n, 1], out: f32[n, 1, n], n: size):
    for i in 0..n:
        for u in 0..1:
            for j in 0..n:
                out[i, u, j] = 0.0f32
                for k in 0..1:
                    out[i, u, j] = out[i, u, j] + a[k, j] * b[i, k]
                out[i, u, j] = out[i, u, j] + b[i, u]"""
    assert str(without_units(outer_sum())) == """\
def outer_sum(a: f32[n], b: f32[n], out: f32[n, n], n: size):
    for i in 0..n:
        for j in 0..n:
            out[i, j] = 0.0f32
            out[i, j] = out[i, j] + a[j] * b[i]
            out[i, j] = out[i, j] + b[i]"""


def test_a_call_takes_the_arrays_as_they_were_given():
    a, b = np.arange(3, dtype=np.float32).reshape(1, 3), np.ones((3, 1), np.float32)
    out = np.empty((3, 1, 3), np.float32)
    ps.optimize(outer_sum())(a=a, b=b, out=out)
    np.testing.assert_array_equal(out, (a * b + b)[:, None, :])


def test_a_dimension_that_is_read_elsewhere_stays():
    i = ps.placeholder((1,), ps.i64, "i")
    a = ps.placeholder((1, 4), ps.f32, "a")
    fn = ps.function("gather", [a, i], [ps.compute((4,), lambda j: a[i[0], j], "out")])
    assert str(without_units(fn)).splitlines()[0] == "def gather(a: f32[1, 4], i: i64[1], out: f32[4]):"


def test_one_element_keeps_its_dimension():
    a = ps.placeholder((1, 1), ps.f32, "a")
    fn = ps.function("one", [a], [ps.compute((1, 1), lambda i, j: a[i, j], "out")])
    assert str(without_units(fn)) == "def one(a: f32[1], out: f32[1]):\n    out[0] = a[0]"


def test_a_loop_over_a_block_with_temporaries_stays():
    @ps.nest
    def last(out: ps.f32[4]):
        for _ in range(1):
            x = out[0] + 1.0
            out[1] = x * x

    assert without_units(last.function) is last.function


def test_nothing_to_leave_out_gives_the_same_object():
    assert without_units(gemm.function) is gemm.function
