"""Calls in operators: functions of the user's, constants from outside, results that go to an array."""

# ruff: noqa: F821 - operators are not ordinary Python: annotations name sizes by texts

import numpy as np
import pytest
from op_programs import agree, run_nest

import polysched as ps
from polysched.errors import InputError
from polysched.frontend.op.library import LIBRARY
from polysched.frontend.op.op import parse_op

EPS = 1e-5
KERNEL = np.array([0.25, 0.5, 0.25], np.float32)


def normalized(x, axis=-1, *, eps=EPS):
    centred = x - x.mean(axis=axis, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=axis, keepdims=True) + eps)


def scale(x, by):
    x *= by


def refused(x):
    return np.sort(x)


def endless(x):
    return endless(x)


@ps.op
def doubled(x: ps.f32["n"]):
    return 2 * x


@ps.op
def calls(x: ps.f32["n", 4], w: ps.f32["n"]):
    y = normalized(x, eps=1e-3)
    scale(y, w[:, None])
    return y, doubled(w)


@ps.op
def smooth(x: ps.f32["n"]):
    padded = np.pad(x, 1)
    return sum(KERNEL[k] * padded[k : len(x) + k] for k in range(3))


def test_bodies_of_functions_are_read_where_they_are_called():
    given = {"x": np.arange(12, dtype=np.float32).reshape(3, 4), "w": np.array([1, 2, 3], np.float32)}
    found = run_nest(calls, given, {"n": 3})
    for name, expected in zip(calls.results, calls(given["x"].copy(), given["w"]), strict=True):
        assert found[name].dtype == expected.dtype
        assert np.allclose(found[name], expected, rtol=1e-5)


def test_small_arrays_from_outside_are_constants():
    x = np.arange(5, dtype=np.float32) ** 2
    assert np.allclose(run_nest(smooth, {"x": x}, {"n": 5})["out"], smooth(x))
    assert "+ 0.25f32 * padded[i] + 0.5f32 * padded[i + 1] + " in str(smooth.nest)


def test_a_function_that_cannot_be_read_is_refused_where_it_stands():
    def f(x: ps.f32["n"]):
        return refused(x)

    with pytest.raises(InputError) as caught:
        ps.op(f)
    assert caught.value.loc.text.strip() == "return np.sort(x)"
    assert caught.value.message == "the function 'np.sort' is not supported in an operator"


def test_a_function_that_calls_itself_is_refused():
    def f(x: ps.f32["n"]):
        return endless(x)

    with pytest.raises(InputError) as caught:
        ps.op(f)
    assert caught.value.message == "'endless' calls itself without end"
    assert caught.value.hint == "write a loop over a known range"


def test_out_takes_the_result():
    op = agree("def f(x: ps.f64['n'], y: ps.f64['n']):\n    np.multiply(x, 2, out=y)", x=np.arange(5.0), y=np.ones(5))
    assert str(op.nest.body[0]) == "for i in 0..n:\n    y[i] = x[i] * 2.0"


def test_numbers_of_sizes_are_weak_as_those_of_python():
    op = parse_op("def f(x: ps.f32['n']):\n    return x * (1.0 / x.shape[0]) - x.sum() / len(x)", "f.py")
    assert str(op.ssa.body.results[0].type) == "f32[n]"


def test_raised_where_the_code_raises():
    text = "def f(x: ps.f32[3]):\n    if len(x) != 4:\n        raise ValueError(f'want 4, got {len(x)}')\n    return x"
    with pytest.raises(InputError) as caught:
        parse_op(text, "f.py")
    assert caught.value.message == "want 4, got 3" and caught.value.loc.line == 3


# --- the library: each function is NumPy's where NumPy runs it

A, B = np.array([[3.0, -1, 2], [0, 5, -4]]), np.array([1.0, 2, 3])
NANS = np.array([[1.0, np.nan, 3], [4, 5, np.nan]])
SAME = {
    "isfinite": (NANS,),
    "isinf": (np.array([np.inf, -np.inf, np.nan, 1]),),
    "signbit": (A,),
    "isclose": (A, A + 1e-9),
    "nan_to_num": (NANS,),
    "heaviside": (A, 0.5),
    "logaddexp": (A, 1.0),
    "sinc": (A,),
    "deg2rad": (A,),
    "round": (A * 1.26, 1),
    "eye": (3, 4, 1),
    "linspace": (0, 1, 5),
    "tri": (3, 4, -1),
    "tril": (A, 1),
    "triu": (A,),
    "indices": ((2, 3),),
    "diag": (B, 1),
    "trace": (A,),
    "rot90": (A, 3),
    "rollaxis": (np.ones((2, 3, 4)), 2),
    "roll": (A, 2, 1),
    "tile": (A, (2, 2)),
    "repeat": (A, 2, 1),
    "pad": (A, 2, "reflect"),
    "hstack": ([A, A],),
    "vstack": ([B, A],),
    "dstack": ([A, A],),
    "take": (A, [0, 1], 1),
    "take_along_axis": (A, np.array([[0], [2]]), 1),
    "ptp": (A, 1),
    "count_nonzero": (A,),
    "nansum": (NANS, 0),
    "nanmean": (NANS, 1),
    "nanvar": (NANS,),
    "nanargmax": (NANS, 1),
    "average": (A, 1, B),
    "diff": (A,),
    "trapezoid": (A,),
    "cross": (A, B),
    "kron": (A, A),
    "convolve": (B, B),
    "correlate": (B, B, "full"),
    "polyval": ([1.0, 2], B),
    "append": (A, B),
    "select": ([A > 0, A < -2], [A, -A], 7),
    "block": ([[A, A], [A, A]],),
    "clip": (A, 0, 2),
    "meshgrid": (B, B),
    "ix_": (np.arange(2), np.arange(3)),
    "array_equal": (A, A),
    "norm": (A,),
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.filterwarnings("ignore")
def test_the_library_is_numpy(name):
    own, theirs = LIBRARY[name](*SAME[name]), getattr(np.linalg if name == "norm" else np, name)(*SAME[name])
    for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (own, theirs)), strict=True):
        assert np.allclose(one, other, equal_nan=True) and np.shape(one) == np.shape(other)
