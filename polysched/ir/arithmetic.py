"""What each operator, cast and function does to Python numbers, to the bit as nodes.py states it.

    binary("+", i8)(127, 1)           ->  -128
    cast(f64, f32)(0.1)               ->  0.10000000149011612
    binary("floordiv", i64)(-7, 2)    ->  -4

Integers are Python ints, wrapped after each operation; floats are Python floats, rounded to their dtype after each
operation. (Rounding a float64 result to f32 or f16 equals computing in that type for + - * / and sqrt, since
53 >= 2 * 24 + 2: Figueroa, SIGNUM Newsletter 30(3), 1995.) What C leaves undefined is an error: ValueError for a shift
by the width or more, OverflowError for a float that does not fit the integer it is cast to.
"""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from polysched.ir.dtypes import DType, f64, i8, i16, i32, u8
from polysched.ir.nodes import COMPARISONS, DOT_BYTES, DOT_HALVES

Value = Any  # int, float or bool: what the dtype says


@cache
def unary(op: str, dtype: DType) -> Callable[[Value], Value]:
    """What a Unary does to an operand of `dtype`."""
    if op == "!":
        return operator.not_
    rounded, raw = fit(dtype), _RAW_UNARY[op]
    return lambda x: rounded(raw(x))


@cache
def binary(op: str, dtype: DType) -> Callable[[Value, Value], Value]:
    """What a Binary, but for `&&` and `||`, does to operands of `dtype`; ZeroDivisionError where a division traps."""
    if op in COMPARISONS:
        return COMPARE[op]
    if op in ("min", "max"):
        return UNBOUNDED[op]
    if op in ("<<", ">>"):
        return _shift(op, dtype)
    rounded = fit(dtype)
    raw = UNBOUNDED[op]
    return lambda x, y: rounded(raw(x, y))


def _float_division(x: float, y: float) -> float:
    """Python's, but for a zero divisor, where IEEE 754 has infinities and NaN."""
    if y != 0:
        return x / y
    if x == 0 or math.isnan(x):
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1.0, y)


def _truncdiv(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _dot(first: DType, second: DType) -> Callable[[int, int], int]:
    """The products of the parts of two words, of these types, added."""
    left, right, wrapped = fit(first), fit(second), fit(i32)
    shifts = range(0, 32, first.bits)
    return lambda x, y: int(wrapped(sum(left(x >> shift) * right(y >> shift) for shift in shifts)))


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_RAW_UNARY: dict[str, Callable[[Value], Value]] = {"-": operator.neg, "~": operator.invert}
UNBOUNDED: dict[str, Callable[[Value, Value], Value]] = {  # before a result is brought into its type
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _float_division,
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
    "truncdiv": _truncdiv,
    "truncmod": lambda x, y: x - y * _truncdiv(x, y),
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "min": min,
    "max": max,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


def _shift(op: str, dtype: DType) -> Callable[[int, int], int]:
    rounded, raw = fit(dtype), UNBOUNDED[op]

    def run(x: int, count: int) -> int:
        if not 0 <= count < dtype.bits:
            raise ValueError(f"a shift of {dtype} by {count} is undefined; counts go from 0 to {dtype.bits - 1}")
        return rounded(raw(x, count))

    return run


@cache
def fit(dtype: DType) -> Callable[[Value], Value]:
    """Brings a Python number into the range (integers wrap) and precision of `dtype`."""
    mask, sign = (1 << dtype.bits) - 1, 1 << (dtype.bits - 1)
    match dtype.kind:
        case "i":
            return lambda x: ((x + sign) & mask) - sign
        case "u":
            return lambda x: x & mask
        case "b":
            return bool
        case "f":
            return dtype.nearest
    raise TypeError(f"unknown dtype {dtype}")


@cache
def cast(source: DType, target: DType) -> Callable[[Value], Value]:
    """What a Cast does to a value of `source`."""
    if target.kind == "b":
        return bool
    rounded = fit(target)
    if source.is_float and target.is_integer:

        def truncate(x: float) -> int:
            if not math.isfinite(x) or rounded(int(x)) != int(x):
                raise OverflowError(f"the cast of {x} to {target} is undefined: it does not fit")
            return int(x)

        return truncate
    if source.is_integer and target.is_float:
        to_numpy = getattr(np, source.numpy)  # which rounds once; an integer must not pass through a Python float
        return lambda x: rounded(to_numpy(x))
    return rounded


_DOTS = {DOT_HALVES: (i16, i16), DOT_BYTES: (u8, i8)}

# Arguments of each function of the C library that a Call may name.
_ARITY = {
    **dict.fromkeys(("sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p"), 1),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"), 1),
    **dict.fromkeys(("fabs", "floor", "ceil", "round", "trunc", "rint", "erf", "erfc", "tgamma"), 1),
    **dict.fromkeys(("pow", "atan2", "fmin", "fmax", "fmod", "hypot", "copysign"), 2),
    "fma": 3,
}


@cache
def call(fn: str, arguments: int, dtype: DType) -> Callable[..., Value]:
    """The function in the C library that serves `dtype`; f16 is computed in f32 and rounded."""
    if fn in _DOTS and (arguments, dtype) == (2, i32):
        return _dot(*_DOTS[fn])
    if _ARITY.get(fn) != arguments or not dtype.is_float:
        raise ValueError(f"the interpreter knows no function {fn} of {arguments} arguments that returns {dtype}")
    library = ctypes.CDLL(None)  # libm is part of the Python process
    c_type, c_name = (ctypes.c_double, fn) if dtype == f64 else (ctypes.c_float, fn + "f")
    c_function = library[c_name]
    c_function.restype, c_function.argtypes = c_type, [c_type] * arguments
    rounded = fit(dtype)
    return lambda *args: rounded(c_function(*args))
