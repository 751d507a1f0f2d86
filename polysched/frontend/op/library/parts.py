"""Arrays put together and taken apart, elements chosen and in other orders, arrays changed in place.

hstack([x, y])            ->     np.concatenate([x, y], 1)
take(x, indices, axis=1)  ->     x[:, indices]
roll(x, 1, 0)             ->     x[np.arange(n) - 1]
pad(x, 1, "edge")         ->     x[np.clip(np.arange(-1, n + 1), 0, n - 1)]
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
    if isinstance(indices_or_sections, int):
        assert ary.shape[axis] % indices_or_sections == 0, "the parts must be equal"
    return np.array_split(ary, indices_or_sections, axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    extent, cuts = ary.shape[axis], indices_or_sections
    if isinstance(cuts, int):
        cuts = tuple([extent // cuts * k + min(k, extent % cuts) for k in range(1, cuts)])
    before, bounds = (slice(None),) * (axis % ary.ndim), (0, *cuts, extent)
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
    others = np.ix_(*[np.arange(n) for n in arr.shape])
    return arr[(*others[:at], indices, *others[at + 1 :])]


def ix_(*args: Any) -> Any:
    count = len(args)
    return tuple([np.reshape(args[k], (1,) * k + (-1,) + (1,) * (count - k - 1)) for k in range(count)])


def fill(a: Any, value: Any) -> None:
    a[...] = value


def fill_diagonal(a: Any, val: Any) -> None:
    along = np.arange(min(a.shape))
    a[(along,) * a.ndim] = val


def copyto(dst: Any, src: Any, where: Any = True) -> None:
    dst[...] = src if where is True else np.where(where, src, dst)


def fliplr(m: Any) -> Any:
    return np.flip(m, 1)


def flipud(m: Any) -> Any:
    return np.flip(m, 0)


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    turned = k % 4
    if turned == 0:
        return np.copy(m)
    if turned == 2:
        return np.flip(m, axes)
    if turned == 1:
        return np.swapaxes(np.flip(m, axes[1]), axes[0], axes[1])
    return np.flip(np.swapaxes(m, axes[0], axes[1]), axes[1])


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    place = start % (a.ndim + 1)
    return np.moveaxis(a, axis, place - 1 if axis % a.ndim < place else place)


def matrix_transpose(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def atleast_1d(a: Any) -> Any:
    return np.reshape(a, 1) if np.ndim(a) == 0 else a


def atleast_2d(a: Any) -> Any:
    return np.atleast_1d(a)[None, :] if np.ndim(a) < 2 else a


def atleast_3d(a: Any) -> Any:
    return np.atleast_2d(a)[:, :, None] if np.ndim(a) < 3 else a


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.roll(np.ravel(a), shift, 0).reshape(a.shape)
    shifts = shift if isinstance(shift, tuple) else (shift,)
    axes = axis if isinstance(axis, tuple) else (axis,)
    times = max(len(shifts), len(axes))
    for by, k in zip(shifts * (times // len(shifts)), axes * (times // len(axes)), strict=True):
        extent = a.shape[k]
        if by in (-1, 1):  # negative indices count from the end
            source = np.arange(extent) - (1 if by == 1 else extent - 1)
        else:  # it may be more than once around
            source = (np.arange(extent) - by) % extent
        a = a[(slice(None),) * (k % a.ndim) + (source,)]
    return np.copy(a)


def tile(A: Any, reps: Any) -> Any:
    times = reps if isinstance(reps, tuple) else (reps,)
    result = A[(None,) * max(len(times) - A.ndim, 0)]
    for k in range(len(times)):
        axis = result.ndim - len(times) + k
        if times[k] != 1:
            result = np.concatenate([result] * times[k], axis)
    return np.copy(result)


def repeat(a: Any, repeats: int, axis: Any = None) -> Any:
    if axis is None:
        return np.repeat(np.ravel(a), repeats, 0)
    at = axis % a.ndim
    spread = np.broadcast_to(np.expand_dims(a, at + 1), (*a.shape[: at + 1], repeats, *a.shape[at + 1 :]))
    return spread.reshape((*a.shape[:at], a.shape[at] * repeats, *a.shape[at + 1 :])).copy()


def pad(array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    if mode == "constant":
        return np.pad(array, pad_width, constant_values=constant_values)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise NotImplementedError("pad has the modes 'constant', 'edge', 'reflect', 'symmetric' and 'wrap'")
    for k, (before, after) in enumerate(_pad_widths(pad_width, array.ndim)):
        n = array.shape[k]
        place = np.arange(-before, n + after)
        if mode == "edge":
            source = np.minimum(np.maximum(place, 0), n - 1)
        elif mode == "wrap":
            source = place % n
        elif mode == "symmetric":
            source = np.minimum(place % (2 * n), 2 * n - 1 - place % (2 * n))
        else:
            around = max(2 * n - 2, 1)
            source = np.minimum(place % around, 2 * n - 2 - place % around)
        array = array[(slice(None),) * k + (source,)]
    return array


def _pad_widths(given: Any, rank: int) -> Any:
    """(before, after) for each axis."""
    entries = given if isinstance(given, tuple | list) else (given, given)
    pairs = tuple(entries) if isinstance(entries[0], tuple | list) else (tuple(entries),)
    return tuple([pairs[k % len(pairs)] for k in range(rank)])
