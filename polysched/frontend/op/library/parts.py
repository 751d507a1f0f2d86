"""Arrays put together and taken apart, elements chosen, arrays changed in place.

hstack([x, y])            ->     np.concatenate([x, y], 1)
take(x, indices, axis=1)  ->     x[:, indices]
"""

from __future__ import annotations

from typing import Any

import numpy

np: Any = numpy  # its types know no sizes, which stand for numbers here


def vstack(tup: Any) -> Any:
    return np.concatenate([np.atleast_2d(a) for a in tup])


def hstack(tup: Any) -> Any:
    arrays = [np.atleast_1d(a) for a in tup]
    return np.concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


def dstack(tup: Any) -> Any:
    return np.concatenate([np.atleast_3d(a) for a in tup], 2)


def column_stack(tup: Any) -> Any:
    return np.concatenate([a[:, None] if a.ndim == 1 else a for a in tup], 1)


def block(arrays: Any) -> Any:
    return _joined(arrays, _depth(arrays))


def _joined(arrays: Any, depth: int) -> Any:
    return np.concatenate([_joined(one, depth - 1) for one in arrays], -depth) if depth else np.copy(arrays)


def _depth(arrays: Any) -> int:
    return 1 + _depth(arrays[0]) if isinstance(arrays, tuple | list) else 0


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    return np.concatenate([arr, values], axis)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    extent, cuts = ary.shape[axis], indices_or_sections
    if isinstance(cuts, int):
        assert extent % cuts == 0, "the parts must be equal"
        cuts = tuple([extent // cuts * k for k in range(1, cuts)])
    return _cut(ary, (0, *cuts, extent), axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    extent, cuts = ary.shape[axis], indices_or_sections
    if isinstance(cuts, int):
        cuts = tuple([extent // cuts * k + min(k, extent % cuts) for k in range(1, cuts)])
    return _cut(ary, (0, *cuts, extent), axis)


def _cut(ary: Any, bounds: Any, axis: int) -> Any:
    before = (slice(None),) * (axis % ary.ndim)
    return tuple([ary[(*before, slice(bounds[k], bounds[k + 1]))] for k in range(len(bounds) - 1)])


def clip(a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    result = a if low is None else np.maximum(a, low)
    return result if high is None else np.minimum(result, high)


def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    if axis is None:
        return np.take(np.ravel(a), indices, 0, mode=mode)
    extent = a.shape[axis]
    if mode == "wrap":
        indices = indices % extent
    if mode == "clip":
        indices = np.minimum(np.maximum(indices, 0), extent - 1)
    return a[(slice(None),) * (axis % a.ndim) + (indices,)]


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        return np.take_along_axis(np.ravel(arr), indices, 0)
    at = axis % arr.ndim
    others = tuple([np.arange(arr.shape[k]).reshape(_along(arr, k)) for k in range(arr.ndim)])
    return arr[(*others[:at], indices, *others[at + 1 :])]


def _along(arr: Any, axis: int) -> Any:
    return tuple([arr.shape[k] if k == axis else 1 for k in range(arr.ndim)])


def ix_(*args: Any) -> Any:
    count = len(args)
    return tuple([np.reshape(args[k], (1,) * k + (-1,) + (1,) * (count - k - 1)) for k in range(count)])


def fill(a: Any, value: Any) -> None:
    a[...] = value


def fill_diagonal(a: Any, val: Any) -> None:
    along = np.arange(min(a.shape))
    a[(along,) * a.ndim] = val


def copyto(dst: Any, src: Any, where: Any = True) -> None:
    if where is True:
        dst[...] = src
    else:
        dst[...] = np.where(where, src, dst)
