"""What the kernels run on: for every kernel data that suit it, whatever the sizes.

    data = initial_data("cholesky", {"n": 40})       a positive definite A, and n
    fresh = copy(data)                               for the next run

No run makes a NaN, an infinity or a denormal number, which are slow on some machines, from these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.polybench import KERNELS
from polysched.ir.interp import evaluate

Data = dict[str, Any]  # arrays, scalars and sizes by name

_PAGE = 4096
_SCALARS = {"alpha": 1.5, "beta": 1.2}


def initial_data(name: str, sizes: Mapping[str, int], seed: int = 0) -> Data:
    """Arguments for a kernel: random fractions but where it needs something else; every array begins a page."""
    rng = np.random.default_rng(seed)
    fn = KERNELS[name].nest.function
    data: Data = {**sizes, **{scalar.name: _SCALARS[scalar.name] for scalar in fn.scalars}}
    for array in fn.arrays:
        shape = tuple(int(evaluate(extent, dict(sizes))) for extent in array.shape)
        data[array.name] = values = _page_aligned(shape, np.dtype(array.dtype.numpy))
        if array.dtype.is_float:
            rng.random(out=values)
    if name in _SUITED:
        _SUITED[name](data, rng)
    return data


def copy(data: Data) -> Data:
    """The same arguments in arrays of their own."""
    return {name: _copied(value) if isinstance(value, np.ndarray) else value for name, value in data.items()}


def restore(into: Data, data: Data, names: frozenset[str]) -> None:
    """Copies the arrays of these names into a copy made before."""
    for name in names:
        np.copyto(into[name], data[name])


def difference(name: str, found: Data, expected: Data) -> str:
    """Where results differ by more than rounding explains, or ""; integers are to be equal.

    What rounding explains is 1e-8 of the largest value of the array.
    """
    for array in KERNELS[name].nest.function.arrays:
        ours, theirs = _determined(name, array.name, found), _determined(name, array.name, expected)
        if theirs.size == 0:
            continue
        if array.dtype.is_float:
            scale = np.max(np.abs(theirs))
            if not np.isfinite(scale):
                return f"{array.name} is not finite in the expected result"
            error = np.max(np.abs(ours - theirs))
            if not error <= 1e-8 * scale:
                return f"{array.name} differs by {error:.1e} where the largest value is {scale:.1e}"
        elif not np.array_equal(ours, theirs):
            return f"{array.name} differs in {np.count_nonzero(ours != theirs)} of {theirs.size} integers"
    return ""


def _determined(name: str, array: str, data: Data) -> np.ndarray:
    """The part of an array that rounding does not decide: no more columns than rows can be independent, and the
    directions that Gram and Schmidt's process finds for the others are those of rounding errors."""
    values: np.ndarray = data[array]
    return values[:, : data["m"]] if (name, array) == ("gramschmidt", "Q") else values


def _positive_definite(matrix: str) -> Callable[[Data, np.random.Generator], None]:
    def suit(data: Data, rng: np.random.Generator) -> None:
        data[matrix][np.diag_indices(data["n"])] += data["n"]

    return suit


def _toeplitz(data: Data, rng: np.random.Generator) -> None:
    """The sum of all r is below 1/2, so that the Toeplitz matrix of 1, r is positive definite."""
    data["r"] *= 0.5 / np.arange(2.0, data["n"] + 2) ** 2


def _distances(data: Data, rng: np.random.Generator) -> None:
    data["path"][:] = rng.integers(1, 1000, data["path"].shape)


def _bases(data: Data, rng: np.random.Generator) -> None:
    data["seq"][:] = rng.integers(0, 4, data["seq"].shape)


def _filter(data: Data, rng: np.random.Generator) -> None:
    data["alpha"] = 0.25


_SUITED: dict[str, Callable[[Data, np.random.Generator], None]] = {
    "cholesky": _positive_definite("A"),
    "lu": _positive_definite("A"),
    "ludcmp": _positive_definite("A"),
    "trisolv": _positive_definite("L"),
    "durbin": _toeplitz,
    "floyd-warshall": _distances,
    "nussinov": _bases,
    "deriche": _filter,
}


def _copied(array: np.ndarray) -> np.ndarray:
    fresh = _page_aligned(array.shape, array.dtype)
    np.copyto(fresh, array)
    return fresh


def _page_aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros; at the same place in a page whoever is measured, so that luck plays no part."""
    size = int(np.prod(shape)) * dtype.itemsize
    memory = np.zeros(size + _PAGE, np.uint8)
    start = -memory.ctypes.data % _PAGE
    return memory[start : start + size].view(dtype).reshape(shape)
