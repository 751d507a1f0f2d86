"""Parameters with defaults, of nests and of operators, and annotations as type checkers want them."""

import numpy as np
import pytest

import polysched as ps
from polysched.frontend.op.op import parse_op
from polysched.frontend.python import parse_nest
from polysched.ir.text import show


@ps.nest
def scaled(x: ps.f32["n"], n: ps.size, by: ps.f32 = 0.3, times: ps.size = 2):
    for t in range(times):
        for i in range(n):
            x[i] = x[i] * by


def test_a_call_may_leave_out_what_has_a_default():
    done = ps.optimize(scaled)
    x, y = np.ones(3, np.float32), np.ones(3, np.float32)
    done(x=x)
    done(x=y, by=2, times=1)
    assert list(x) == [np.float32(0.3) * np.float32(0.3)] * 3 and list(y) == [2] * 3
    ps.interpret(scaled.function, {"x": y, "n": 3})
    np.testing.assert_array_equal(y, np.float32(2) * x)
    done.verify()


def test_a_default_is_printed():
    assert "by: f32 = 0.3, times: size = 2):" in show(scaled.function)


@ps.op
def boxes(x: ps.f32["N", "4 * K"], weight=(10.0, 10.0, 5.0, 5.0), first=1) -> ps.f32["N", "K"]:
    wx, wy, *_ = weight
    return x[:, first::4] / wy + wx


def test_a_default_without_annotation_is_a_constant_of_the_operator():
    x = np.arange(24, dtype=np.float32).reshape(2, 12)
    out = np.zeros((2, 3), np.float32)
    ps.optimize(boxes)(x=x, out=out)
    np.testing.assert_array_equal(out, boxes(x))
    with pytest.raises(ps.LaunchError, match="has no parameter weight"):
        ps.optimize(boxes)(x=x, out=out, weight=(1.0, 1.0, 1.0, 1.0))


def test_constants_in_shapes_and_in_texts():
    op = parse_op('def f(x: f32["n", "2 * K"], alpha: f64 = 2, K=3): return x[:, K:] * alpha', "f.py")
    assert "f(x: f32[n, 6], alpha: f64 = 2, out: f64[n, 3], n: size)" in str(op.nest)


@ps.op
def windows(x: ps.f32["H", "W"], k: ps.f32[3, 3]) -> ps.f32["H - 2", "W - 2"]:
    return np.einsum("yxrs,rs->yx", np.lib.stride_tricks.sliding_window_view(x, (3, 3)), k)


def test_a_result_may_be_declared_by_an_extent_that_is_negative_for_small_sizes():
    x, k, out = np.ones((5, 4), np.float32), np.ones((3, 3), np.float32), np.zeros((3, 2), np.float32)
    ps.optimize(windows)(x=x, k=k, out=out)
    assert np.all(out == 9)


def test_a_result_of_another_shape_is_refused():
    with pytest.raises(ps.InputError, match=r"is f32\[max\(n - 2, 0\)\], and declared as f32\[n - 1\]"):
        parse_op('def f(x: f32["n"]) -> f32["n - 1"]: return x[2:]', "f.py")


def test_annotated_types_are_those_inside():
    plain = 'def f(a: f64["n + 1", 3], x: f32, n: size): pass'
    checked = "def f(a: Annotated[np.ndarray, ps.f64['n + 1', 3]], x: typing.Annotated[float, f32], n: size): pass"
    assert parse_nest(plain, "f.py") == parse_nest(checked, "f.py")
