"""Operators with weights from outside: calls with and without them, on every target, by hand, from the cache."""

# ruff: noqa: F821 - operators are not ordinary Python: annotations name sizes by texts

import pickle

import numpy as np
import pytest
from op_programs import run_nest

import polysched as ps
from polysched.errors import LaunchError
from polysched.frontend.op.op import Op

RNG = np.random.default_rng(0)
W, X = RNG.random((16, 12), np.float32), RNG.random((5, 16), np.float32)


@ps.op
def dense(x: ps.f32["n", 16]):
    return x @ W


def with_a_parameter() -> Op:
    def dense(x: ps.f32["n", 16], W: ps.f32[16, 12]):
        return x @ W

    return ps.op(dense)


def run(op: Op, **named: np.ndarray) -> np.ndarray:
    out = np.full((5, 12), 77, np.float32)
    ps.optimize(op)(x=X, out=out, **named)
    return out


def test_an_array_is_a_parameter_with_a_default():
    assert repr(dense) == "<Op dense(x: f32[n, 16], W: f32[16, 12] = ..., out: f32[n, 12], n: size)>"
    assert str(dense.ssa).startswith("graph dense(%x: f32[n, 16], %W: f32[16, 12]):\n    %v0 = MatMul(%x, %W)")
    np.testing.assert_allclose(run(dense), X @ W, rtol=1e-6)
    np.testing.assert_allclose(run_nest(dense, {"x": X}, {"n": 5})["out"], X @ W, rtol=1e-6)


@pytest.mark.parametrize("target", ["c", "cuda", "opencl"])
def test_the_kernel_is_that_of_a_parameter(target):
    done = ps.optimize(dense, target)
    assert done.source.text == ps.optimize(with_a_parameter(), target).source.text
    out = np.empty((5, 12), np.float32)
    done.program(x=X, out=out)
    np.testing.assert_allclose(out, X @ W, rtol=1e-6)
    assert "equal to the interpreted nest" in str(done.verify(n=3))


def test_a_call_may_hand_another_array():
    np.testing.assert_allclose(run(dense, W=2 * W), X @ (2 * W), rtol=1e-6)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (W.astype(np.float64), r"W must be a numpy array f32\[16, 12\], not float64 .*; convert it"),
        (W[:, 1:].copy(), r"W is f32\[16, 12\], with n = 5 of shape \(16, 12\), not \(16, 11\)"),
        (W[0], r"not float32 of shape \(12,\): 1 dimensions instead of 2"),
    ],
)
def test_another_array_must_fit(other, message):
    with pytest.raises(LaunchError, match=message):
        run(dense, W=other)


def test_what_a_call_must_give_is_said():
    with pytest.raises(LaunchError, match="dense needs x, out too; it takes x, W, out, n"):
        ps.optimize(dense)(W=W)


def test_an_array_is_what_it_was_when_the_operator_was_made():
    weights = W.copy()

    def product(x: ps.f32["n", 16]):
        return x @ weights

    op = ps.op(product)
    weights[:] = 0
    np.testing.assert_allclose(run(op), X @ W, rtol=1e-6)
    assert not op(X).any()  # which Python runs
    assert not dict(op.nest.defaults)["weights"].array.flags.writeable


def test_schedules_by_hand():
    done = ps.optimize(dense, schedule=ps.Schedule(dense).parallel("i"))
    out = np.empty((5, 12), np.float32)
    done(x=X, out=out)
    np.testing.assert_allclose(out, X @ W, rtol=1e-6)


def test_operators_and_results_travel_with_their_arrays():
    op, done = pickle.loads(pickle.dumps((dense, ps.optimize(dense))))
    assert op.nest == dense.nest
    out = np.empty((5, 12), np.float32)
    done(x=X, out=out)
    np.testing.assert_allclose(out, X @ W, rtol=1e-6)
