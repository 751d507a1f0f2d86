"""Arrays of numbers, and parts of matrices.

eye(3)          ->     (np.arange(3)[:, None] == np.arange(3)).astype(float)
tril(x)         ->     np.where(np.arange(n)[:, None] >= np.arange(m), x, 0)
"""

from __future__ import annotations

from typing import Any

import numpy

np: Any = numpy  # its types know no sizes, which stand for numbers here


def linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None) -> Any:
    parts = max(num - 1, 1) if endpoint else num
    places = np.arange(num)
    result = places * ((stop - start) / parts) + start
    if endpoint:
        result = np.where((places == num - 1) & (places > 0), np.float64(stop), result)
    return result if dtype is None else result.astype(dtype)


def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = float) -> Any:
    return (np.arange(k, k + N)[:, None] == np.arange(N if M is None else M)).astype(dtype)


def identity(n: Any, dtype: Any = float) -> Any:
    return np.eye(n, dtype=dtype)


def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = float) -> Any:
    return (np.arange(k, k + N)[:, None] >= np.arange(N if M is None else M)).astype(dtype)


def tril(m: Any, k: int = 0) -> Any:
    return np.where(np.tri(*m.shape[-2:], k=k, dtype=bool), m, np.zeros(1, m.dtype))


def triu(m: Any, k: int = 0) -> Any:
    return np.where(np.tri(*m.shape[-2:], k=k - 1, dtype=bool), np.zeros(1, m.dtype), m)


def indices(dimensions: Any) -> Any:
    return np.stack(np.meshgrid(*[np.arange(n) for n in dimensions], indexing="ij"))


def meshgrid(*xi: Any, indexing: str = "xy") -> Any:
    count = len(xi)
    place = (1, 0, *range(2, count)) if indexing == "xy" and count > 1 else tuple(range(count))  # its own inverse
    shape = tuple([np.size(xi[k]) for k in place])
    others = tuple([tuple([i for i in range(count) if i != place[k]]) for k in range(count)])
    return tuple([np.broadcast_to(np.expand_dims(np.ravel(xi[k]), others[k]), shape).copy() for k in range(count)])


def diag(v: Any, k: int = 0) -> Any:
    if v.ndim == 2:
        return np.diagonal(v, k)
    down, right = max(-k, 0), max(k, 0)
    padded = np.pad(v, (right, down))
    return np.where(np.eye(v.shape[0] + abs(k), k=k, dtype=bool), padded, np.zeros(1, v.dtype))


def trace(a: Any, offset: int = 0) -> Any:
    return np.sum(np.diagonal(a, offset), axis=-1)
