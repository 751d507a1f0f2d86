"""What is done to each element alone: `clip`, `relu`."""

from __future__ import annotations

from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.ir.dtypes import ALL, DType
from polysched.ir.nodes import Function


def clip(*, N: int, a_min: float, a_max: float, dtype: str = "float32") -> Function:
    """out[i, j] = data[i, j], or the bound that it is beyond, of N by N elements."""
    kind = dtype_of(dtype)
    if kind.is_integer and not (float(a_min).is_integer() and float(a_max).is_integer()):
        raise InputError(f"clip: bounds {a_min} and {a_max} are no integers, as {dtype} has them")
    low, high = (int(bound) if kind.is_integer else float(bound) for bound in (a_min, a_max))
    data = te.placeholder((N, N), kind, "data")
    out = te.compute((N, N), lambda i, j: te.minimum(te.maximum(data[i, j], low), high), "out")
    return te.function("clip", [data], [out])


def relu(*, m: int, n: int, dtype: str = "float32") -> Function:
    """out[i, j] = data[i, j] where it is positive, else 0."""
    data = te.placeholder((m, n), dtype_of(dtype), "data")
    out = te.compute((m, n), lambda i, j: te.maximum(data[i, j], 0), "out")
    return te.function("relu", [data], [out])


def dtype_of(name: str) -> DType:
    """The dtype of NumPy's name, as "float16"; InputError if there is none."""
    by_numpy = {dtype.numpy: dtype for dtype in ALL.values()}
    if name not in by_numpy:
        raise InputError(f"dtype is {name!r}, but is one of {', '.join(by_numpy)}")
    return by_numpy[name]
