"""Functions of elements, reductions, differences, and sums of products.

isfinite(x)             ->     np.abs(x) < np.inf
nansum(x)               ->     np.sum(x, where=~np.isnan(x))
correlate(x, v)         ->     np.einsum("ij,j->i", sliding_window_view(x, len(v)), v)
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


def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.sum(a != 0, axis=axis, keepdims=keepdims)


def nansum(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.sum(a, axis=axis, keepdims=keepdims, where=~np.isnan(a))


def nanprod(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.prod(a, axis=axis, keepdims=keepdims, where=~np.isnan(a))


def nanmean(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.mean(a, axis=axis, keepdims=keepdims, where=~np.isnan(a))


def nanvar(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    known = ~np.isnan(a)
    centred = a - np.mean(a, axis=axis, keepdims=True, where=known)
    total = np.sum(centred * centred, axis=axis, keepdims=keepdims, where=known)
    return (total / (np.sum(known, axis=axis, keepdims=keepdims) - ddof)).astype(total.dtype)


def nanstd(a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    return np.sqrt(np.nanvar(a, axis=axis, ddof=ddof, keepdims=keepdims))


def nanargmax(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.argmax(np.where(np.isnan(a), -np.inf, a), axis=axis, keepdims=keepdims)


def nanargmin(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.argmin(np.where(np.isnan(a), np.inf, a), axis=axis, keepdims=keepdims)


def average(a: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Any:
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    if np.ndim(weights) != np.ndim(a):
        weights = np.expand_dims(weights, tuple([k for k in range(a.ndim) if k != axis % a.ndim]))
    weights = np.broadcast_to(weights, a.shape)
    return np.sum(a * weights, axis=axis, keepdims=keepdims) / np.sum(weights, axis=axis, keepdims=keepdims)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = x if x.dtype.kind == "f" else x.astype(float)
    is_matrix = np.ndim(x) == 2 if axis is None else isinstance(axis, tuple)
    if ord == "fro" or ord is None or (ord == 2 and not is_matrix):
        return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))
    if is_matrix or ord not in (0, 1, np.inf, -np.inf):
        raise NotImplementedError("norm has ord=None, and 0, 1, 2, inf and -inf of vectors")
    if ord == 0:
        return np.sum((x != 0).astype(x.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    if ord > 0:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims)
    return np.min(np.abs(x), axis=axis, keepdims=keepdims)


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    before = (slice(None),) * (axis % a.ndim)
    for _ in range(n):
        after, prior = a[(*before, slice(1, None))], a[(*before, slice(None, -1))]
        a = after ^ prior if a.dtype == np.bool_ else after - prior
    return a


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    before = (slice(None),) * (axis % y.ndim)
    widths = dx if x is None else np.diff(x)
    return np.sum(widths * (y[(*before, slice(1, None))] + y[(*before, slice(None, -1))]) / 2.0, axis=axis)


def cross(a: Any, b: Any) -> Any:
    assert a.shape[-1] == 3 and b.shape[-1] == 3, "cross products are of vectors of 3"
    a0, a1, a2, b0, b1, b2 = a[..., 0], a[..., 1], a[..., 2], b[..., 0], b[..., 1], b[..., 2]
    return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)


def kron(a: Any, b: Any) -> Any:
    rank = max(np.ndim(a), np.ndim(b))
    a, b = a[(None,) * (rank - np.ndim(a))], b[(None,) * (rank - np.ndim(b))]
    left = a.reshape(sum([(n, 1) for n in a.shape], ()))
    right = b.reshape(sum([(1, n) for n in b.shape], ()))
    return (left * right).reshape(tuple([n * m for n, m in zip(a.shape, b.shape, strict=True)]))


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    return np.correlate(a, v[::-1], mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    taps = v.shape[0]
    if mode == "full":
        a = np.pad(a, taps - 1)
    elif mode == "same":
        a = np.pad(a, (taps // 2, (taps - 1) // 2))
    return np.einsum("ij,j->i", np.lib.stride_tricks.sliding_window_view(a, taps), v)
