"""What is done to each element alone: `clip`, `relu`."""

from __future__ import annotations

from typing import Literal

import numpy as np

from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.ir.dtypes import ALL, DType
from polysched.ir.nodes import Function
from polysched.operators.parameters import operator

Numeric = Literal[
    "float64", "float32", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"
]


@operator()
def clip(*, N: int, a_min: float, a_max: float, dtype: Numeric = "float32") -> Function:
    """out[i, j] = data[i, j], or the bound that it is beyond, of N by N elements."""
    kind = dtype_of(dtype)
    low, high = (_bound(name, value, kind) for name, value in (("a_min", a_min), ("a_max", a_max)))
    data = te.placeholder((N, N), kind, "data")
    out = te.compute((N, N), lambda i, j: te.minimum(te.maximum(data[i, j], low), high), "out")
    return te.function("clip", [data], [out])


@operator()
def relu(*, m: int, n: int, dtype: Numeric = "float32") -> Function:
    """out[i, j] = data[i, j] where it is positive, else 0."""
    data = te.placeholder((m, n), dtype_of(dtype), "data")
    out = te.compute((m, n), lambda i, j: te.maximum(data[i, j], 0), "out")
    return te.function("relu", [data], [out])


def _bound(name: str, value: float, dtype: DType) -> float:
    if not dtype.is_integer:
        return float(value)
    limits = np.iinfo(dtype.numpy)
    if not float(value).is_integer() or not limits.min <= value <= limits.max:
        whole = f"a whole number from {limits.min} to {limits.max}"
        raise InputError(f"{name} is {value}, and must be {whole}, which {dtype} has")
    return int(value)


def dtype_of(name: str) -> DType:
    """The dtype of NumPy's name, as "float16"."""
    return {dtype.numpy: dtype for dtype in ALL.values()}[name]
