"""polysched/frontend/tensor/value.py and functions.py: operators and functions of scalar values."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import polysched as ps
from polysched.ir.dtypes import ALL

n = ps.var("n")
DTYPES = [dtype for dtype in ALL.values() if dtype not in (ps.f16, ps.boolean)]
X = {dtype: ps.placeholder((n,), dtype, f"x_{dtype}")[0] for dtype in ALL.values()}
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.eq]


def test_what_operators_make():
    x, i = X[ps.f32], ps.var("i")
    assert str((x * 2 + i).expr) == "x_f32[0] * 2.0f32 + f32(i)"
    assert str((1 / x - x**2).expr) == "1.0f32 / x_f32[0] - x_f32[0] * x_f32[0]"
    assert str(((i + 1) // 2 % n).expr) == "floormod(floordiv(i + 1, 2), n)"
    assert str(((i >= 0) & ~(i > n)).expr) == "i >= 0 && !(i > n)"
    assert str((-X[ps.i8] << 1 | 3 ^ X[ps.i8]).expr) == "-x_i8[0] << 1i8 | 3i8 ^ x_i8[0]"
    assert str(abs(x - np.float32(0.5)).expr) == "fabs(x_f32[0] - 0.5f32)"
    assert str((np.float64(0.5) * x).expr) == "0.5 * f64(x_f32[0])"
    assert str((x > 0).astype(ps.i32).expr) == "i32(x_f32[0] > 0.0f32)"


def test_what_functions_make():
    x, y = X[ps.f32], X[ps.f64]
    assert str(ps.maximum(ps.exp(x), y).expr) == "max(f64(exp(x_f32[0])), x_f64[0])"
    assert str(ps.select(x > 0, x, 0).expr) == "x_f32[0] > 0.0f32 ? x_f32[0] : 0.0f32"
    assert str(ps.call("atan2", x, 1).expr) == "atan2(x_f32[0], 1.0f32)"
    assert str(ps.all_of(x > 0, x < 1, y > 2).expr) == "x_f32[0] > 0.0f32 && x_f32[0] < 1.0f32 && x_f64[0] > 2.0"
    assert str(ps.any_of(x > 0).expr) == "x_f32[0] > 0.0f32"


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_dtypes_are_numpy_s(op):
    for left in DTYPES:
        for right in DTYPES:
            wanted = op(np.ones(1, left.numpy), np.ones(1, right.numpy)).dtype.name
            found = op(X[left], X[right]).dtype.numpy
            integers = left.is_integer and right.is_integer
            assert found == wanted or (op is operator.truediv and integers and found == "float64"), (left, right)
        for weak in (1, 1.5, True):
            wanted = op(np.ones(1, left.numpy), weak).dtype.name
            assert op(X[left], weak).dtype.numpy == wanted, (left, weak)


def test_a_value_has_no_truth_and_no_hash():
    x = X[ps.f32]
    with pytest.raises(ps.InputError, match="is not known before the kernel runs"):
        assert 0 < x < 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    with pytest.raises(TypeError, match="not iterable"):
        iter(ps.placeholder((n,), ps.f32, "A"))
    assert n.expr == ps.var("n").expr


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: X[ps.f32] // 2, "'//' needs integers, not an f32; write floor(x / y)"),
        (lambda: X[ps.boolean] + X[ps.boolean], "'+' cannot be applied to bools; convert them, as in int(x)"),
        (lambda: X[ps.i8] + 300, "300 does not fit in i8; use a wider dtype"),
        (
            lambda: ps.select(X[ps.f32], 1, 2),
            "the condition of a select must be a bool, and 'x_f32[0]' is f32; compare it, as in x != 0",
        ),
        (
            lambda: ps.call("foo", X[ps.f32]),
            "'foo' is not a function that a nest can call; there are abs, min, max, C's functions of floats such as "
            "sqrt, exp or pow, and casts such as ps.f32",
        ),
        (lambda: X[ps.f32] + "1", "str is no scalar; use numbers, elements, indices and sizes"),
        (
            lambda: ps.var("x", ps.f32) + ps.var("x"),
            "two different things are named x: a scalar and a size; rename one of them",
        ),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(ps.InputError) as error:
        make()
    assert f"{error.value.message}; {error.value.hint}" == message
    assert error.value.loc is not None
    assert error.value.loc.file == __file__
