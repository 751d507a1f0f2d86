"""Elements in other orders, beside each other, and again.

roll(x, 1, 0)       ->     x[np.arange(n) - 1]
pad(x, 1, "edge")   ->     x[np.clip(np.arange(-1, n + 1), 0, n - 1)]
"""

from __future__ import annotations

from typing import Any

import numpy

np: Any = numpy  # its types know no sizes, which stand for numbers here


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
