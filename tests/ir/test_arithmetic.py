"""Every operation against numpy, and by value where a rounding or a wrap is easily got wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from polysched.ir import arithmetic
from polysched.ir.build import add, binary, const
from polysched.ir.dtypes import DType, boolean, f16, f32, f64, i8, i32, i64, u8, u64
from polysched.ir.interp import evaluate
from polysched.ir.nodes import DOT_BYTES, DOT_HALVES, Binary, Call, Cast, Expr, Unary


@pytest.mark.parametrize("dtype", [i8, u8])
@pytest.mark.parametrize("op", ["+", "-", "*", "&", "|", "^", "min", "max", "==", "!=", "<", "<=", ">", ">="])
def test_integer_operator_equals_numpys(op: str, dtype: DType) -> None:
    x, y = _all_pairs(dtype)
    numpys = {
        "+": np.add,
        "-": np.subtract,
        "*": np.multiply,
        "&": np.bitwise_and,
        "|": np.bitwise_or,
        "^": np.bitwise_xor,
        "min": np.minimum,
        "max": np.maximum,
        "==": np.equal,
        "!=": np.not_equal,
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
    }
    assert _results(op, dtype, x, y) == numpys[op](x, y).tolist()


@pytest.mark.parametrize("dtype", [i8, u8])
def test_divisions(dtype: DType) -> None:
    x, y = _all_pairs(dtype)
    x, y = x[y != 0], y[y != 0]
    with np.errstate(all="ignore"):  # -128 / -1 wraps to -128
        assert _results("floordiv", dtype, x, y) == np.floor_divide(x, y).tolist()
        assert _results("floormod", dtype, x, y) == np.mod(x, y).tolist()
    truncated = np.trunc(x.astype(float) / y).astype(np.int64)
    assert _results("truncdiv", dtype, x, y) == truncated.astype(dtype.numpy).tolist()
    assert _results("truncmod", dtype, x, y) == np.fmod(x, y).tolist()


def _all_pairs(dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    limits = np.iinfo(dtype.numpy)
    values = np.arange(limits.min, limits.max + 1, 5, dtype=dtype.numpy)
    values = np.unique(np.concatenate([values, np.array([0, 1, 2, 3, 127], dtype.numpy), values[-1:] * 0 - 1]))
    x, y = np.meshgrid(values, values)
    return x.ravel(), y.ravel()


def _results(op: str, dtype: DType, x: np.ndarray, y: np.ndarray) -> list[Any]:
    return [arithmetic.binary(op, dtype)(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (binary("<<", const(1, i8), const(7, i8)), -128),
        (binary(">>", const(-3, i8), const(1, i8)), -2),
        (binary(">>", const(253, u8), const(1, u8)), 126),
        (Unary("-", const(-128, i8)), -128),
        (Unary("-", const(1, u8)), 255),
        (Unary("~", const(0, u8)), 255),
        (Unary("!", const(False, boolean)), True),
        (add(const(2**63 - 1, i64), 1), -(2**63)),
        (Cast(const(300), i8), 44),
        (Cast(const(-1), u64), 2**64 - 1),
        (Cast(const(-2.9, f64), i64), -2),
        (Cast(const(2), boolean), True),
        (Cast(const(True, boolean), f64), 1.0),
        (Cast(const(2**53 + 2**29 + 1), f32), float(2**53 + 2**30)),  # once rounded; twice would give 2**53
        (Cast(const(0.1, f64), f32), float(np.float32(0.1))),
        (Cast(const(1e300, f64), f32), math.inf),
        (Cast(const(70000), f16), math.inf),
        (binary("/", const(1.0, f64), const(-0.0, f64)), -math.inf),
        (binary("min", const(0.0, f64), const(-0.0, f64)), 0.0),  # b < a ? b : a
        (binary("max", const(1.0, f64), const(math.nan, f64)), 1.0),
    ],
)
def test_value(expr: Expr, value: Any) -> None:
    assert repr(evaluate(expr, {})) == repr(value)


@pytest.mark.parametrize("dtype", [f16, f32, f64])
@pytest.mark.parametrize("op", ["+", "-", "*", "/"])
def test_float_operator_equals_numpys(op: str, dtype: DType) -> None:
    rng = np.random.default_rng(0)
    special = [0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, float(np.finfo(dtype.numpy).tiny) / 8]
    x, y = (np.concatenate([rng.permutation(special * 8), rng.normal(size=300)]).astype(dtype.numpy) for _ in "xy")
    with np.errstate(all="ignore"):
        expected = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[op](x, y)
    for a, b, result in zip(x.tolist(), y.tolist(), expected.tolist(), strict=True):
        assert repr(evaluate(Binary(op, const(a, dtype), const(b, dtype)), {})) == repr(result), f"{a} {op} {b}"


def test_functions_of_the_c_library() -> None:
    for value in (0.0, 0.3, 2.0, 1e10):
        assert evaluate(Call("sqrt", (const(value, f64),), f64), {}) == math.sqrt(value)
        assert evaluate(Call("sqrt", (const(value, f32),), f32), {}) == np.sqrt(np.float32(value))
        assert evaluate(Call("exp", (const(-value, f64),), f64), {}) == pytest.approx(math.exp(-value))
    assert math.isnan(evaluate(Call("sqrt", (const(-1.0, f64),), f64), {}))
    assert evaluate(Call("pow", (const(2.0, f32), const(10.0, f32)), f32), {}) == 1024.0
    assert evaluate(Call("fma", (const(2.0, f64), const(3.0, f64), const(4.0, f64)), f64), {}) == 10.0
    with pytest.raises(ValueError, match="knows no function erf of 2 arguments"):
        evaluate(Call("erf", (const(2.0, f64), const(3.0, f64)), f64), {})
    with pytest.raises(ValueError, match="knows no function system"):
        evaluate(Call("system", (const(2.0, f64),), f64), {})


def test_products_of_halves() -> None:
    """Halves are signed, and their sum wraps."""
    least = -(1 << 31) + (1 << 15)  # in both halves -32768
    for a, b, value in [(0x20003, 0x50007, 31), (-0x1FFFD, 0x50007, 11), (least, least, -(1 << 31))]:
        assert evaluate(Call(DOT_HALVES, (const(a, i32), const(b, i32)), i32), {}) == value


def test_products_of_bytes() -> None:
    """The first word's are unsigned, the second one's signed."""
    ones = 0x01010101
    for a, b, value in [(0x04030201, ones, 10), (-1, ones, 1020), (-1, -1, -1020), (0x80, 0x80, -(1 << 14))]:
        assert evaluate(Call(DOT_BYTES, (const(a, i32), const(b, i32)), i32), {}) == value


@pytest.mark.parametrize("op", ["floordiv", "floormod", "truncdiv", "truncmod"])
def test_division_by_zero_traps(op: str) -> None:
    with pytest.raises(ZeroDivisionError):
        evaluate(binary(op, 1, 0), {})


def test_what_c_leaves_undefined() -> None:
    with pytest.raises(ValueError, match="a shift of i8 by 8 is undefined; counts go from 0 to 7"):
        evaluate(binary("<<", const(1, i8), const(8, i8)), {})
    for value in (1e10, math.nan, -math.inf):
        with pytest.raises(OverflowError, match="to i32 is undefined: it does not fit"):
            evaluate(Cast(const(value, f64), i32), {})
