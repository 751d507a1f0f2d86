"""NumPy is the specification: every pair of dtypes is compared with it."""

from itertools import product

import numpy as np
import pytest

from polysched.frontend.arithmetic import Type, common, fits, promote, weak_bool, weak_float, weak_int
from polysched.ir.dtypes import ALL, f32, f64, i8, u8

EVERY = tuple(ALL.values())


def test_example() -> None:
    assert common(Type(f32), Type(f64)) == Type(f64)
    assert common(Type(f32), weak_float) == Type(f32)
    assert common(Type(i8), weak_float) == Type(f64)
    assert common(weak_int, weak_float) == weak_float


@pytest.mark.parametrize(("left", "right"), list(product(EVERY, EVERY)), ids=str)
def test_two_dtypes(left, right) -> None:
    assert promote(left, right).numpy == np.result_type(left.numpy, right.numpy).name


@pytest.mark.parametrize("dtype", EVERY, ids=str)
def test_a_python_number_adapts(dtype) -> None:
    for weak, number in ((weak_bool, True), (weak_int, 1), (weak_float, 1.0)):
        result = common(Type(dtype), weak)
        assert result.dtype.numpy == np.result_type(dtype.numpy, number).name
        assert not result.weak


def test_range_of_integers() -> None:
    assert [fits(x, i8) for x in (-129, -128, 127, 128)] == [False, True, True, False]
    assert [fits(x, u8) for x in (-1, 0, 255, 256)] == [False, True, True, False]
