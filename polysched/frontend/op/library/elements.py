"""Functions of elements: of each, or of all as whether they are close.

isfinite(x)     ->     np.abs(x) < np.inf
"""

from __future__ import annotations

import math
from typing import Any

import numpy

np: Any = numpy  # its types know no sizes, which stand for numbers here


def isfinite(x: Any) -> Any:
    return np.abs(x) < np.inf


def isinf(x: Any) -> Any:
    return np.abs(x) == np.inf


def isposinf(x: Any) -> Any:
    return x == np.inf


def isneginf(x: Any) -> Any:
    return x == -np.inf


def signbit(x: Any) -> Any:
    return np.copysign(1.0, x) < 0


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08) -> Any:
    return (a == b) | (np.isfinite(b) & (np.abs(a - b) <= atol + rtol * np.abs(b)))


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08) -> Any:
    return np.all(np.isclose(a, b, rtol, atol))


def array_equal(a1: Any, a2: Any) -> Any:
    return np.all(a1 == a2) if np.shape(a1) == np.shape(a2) else np.full((), False)


def nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if x.dtype.kind != "f":
        return np.copy(x)[()]
    high = np.finfo(x.dtype).max if posinf is None else posinf
    low = np.finfo(x.dtype).min if neginf is None else neginf
    return np.where(np.isnan(x), nan, np.where(x == np.inf, high, np.where(x == -np.inf, low, x)))[()]


def heaviside(x1: Any, x2: Any) -> Any:
    return np.where(x1 == 0, x2, np.where(x1 > 0, 1.0, np.where(x1 < 0, 0.0, x1)))[()]


def logaddexp(x1: Any, x2: Any) -> Any:
    return np.where(x1 == x2, x1 + math.log(2), np.maximum(x1, x2) + np.log1p(np.exp(-np.abs(x1 - x2))))[()]


def sinc(x: Any) -> Any:
    y = np.pi * np.where(x == 0, 1.0e-20, x)
    return np.sin(y) / y


def deg2rad(x: Any) -> Any:
    return x * (np.pi / 180)


def rad2deg(x: Any) -> Any:
    return x * (180 / np.pi)


radians, degrees = deg2rad, rad2deg


def round(a: Any, decimals: int = 0) -> Any:
    if a.dtype.kind != "f":
        return np.copy(a)[()]
    if decimals == 0:
        return np.rint(a)
    if decimals > 0:
        return np.rint(a * 10.0**decimals) / 10.0**decimals
    return np.rint(a / 10.0**-decimals) * 10.0**-decimals


around = round


def divmod(x1: Any, x2: Any) -> Any:
    return x1 // x2, x1 % x2


def polyval(p: Any, x: Any) -> Any:
    y = np.zeros_like(x)
    for factor in p:
        y = y * x + factor
    return y


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    assert len(condlist) == len(choicelist), "there must be a choice for each condition"
    result = default
    for k in reversed(range(len(condlist))):
        result = np.where(condlist[k], choicelist[k], result)
    return result
