"""What operators take and give: arrays of constant shape, whose elements are values of tensor expressions.

x[i, j]         an element, a value of `frontend/tensor`
x.at(i)         the same with broadcasting: leading indices too many are left out, those of unit axes are 0
x.known         the NumPy array, where the graph has it as a constant
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.ir.dtypes import ALL, DType
from polysched.ir.graph.operations import Value

Index = tuple[Any, ...]  # of values and integers
Element = Callable[[Index], Any]

_BY_NUMPY = {dtype.numpy: dtype for dtype in ALL.values()}


def dtype_of(array: np.ndarray | np.dtype[Any]) -> DType:
    """The scalar type of a NumPy array; InputError for one that kernels do not have."""
    name = array.name if isinstance(array, np.dtype) else array.dtype.name
    if name not in _BY_NUMPY:
        raise InputError(f"elements are {name}", hint=f"kernels have {', '.join(_BY_NUMPY)}")
    return _BY_NUMPY[name]


def shape_of(value: Value) -> tuple[int, ...]:
    """The extents of a value of the graph, which are numbers."""
    return tuple(int(str(extent)) for extent in value.type.shape)


def constant(value: Any, dtype: DType) -> te.Value:
    """A number as a value of the type."""
    number = np.asarray(value).astype(dtype.numpy)[()].item()
    return te.call(dtype.name, number)


class Array:
    """An array; `element` gives what stands at an index."""

    def __init__(self, shape: Sequence[int], dtype: DType, element: Element | None, known: np.ndarray | None = None):
        self.shape, self.dtype, self.known = tuple(int(n) for n in shape), dtype, known
        self._element = element

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype.is_float

    def __getitem__(self, index: Any) -> Any:
        index = index if isinstance(index, tuple) else (index,)
        if self.known is not None and self.size == 1:
            return constant(self.known.reshape(()), self.dtype)
        assert self._element is not None
        return self._element(index)

    def at(self, index: Index) -> Any:
        own = index[len(index) - self.rank :]
        return self[tuple(0 if n == 1 else i for n, i in zip(self.shape, own, strict=True))]

    def one(self) -> Any:
        """The element of an array that has one."""
        return self[(0,) * self.rank]
