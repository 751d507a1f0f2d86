"""Reductions of some axes, or all: sum, prod, max, min, any, all, argmax, argmin.

    reduce(in_shape=(32, 24), axis=1, type="sum")        out[i] = sum over k of data[i, k]

`argmax` and `argmin` are of one axis, or of all, and give i32; `any` and `all` are of bools.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.frontend.tensor import Value
from polysched.ir.dtypes import i32
from polysched.ir.nodes import Function
from polysched.operators.elementwise import Numeric, dtype_of
from polysched.operators.parameters import operator


@operator()
def reduce(
    *,
    in_shape: Sequence[int],
    type: Literal["sum", "prod", "max", "min", "any", "all", "argmax", "argmin"],
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    dtype: Numeric | Literal["bool"] = "float32",
) -> Function:
    """The nest of `data` and `out`; with `keepdims`, reduced axes stay with an extent of 1, and of all axes without it
    one element is left, an array of shape (1,)."""
    if (dtype == "bool") != (type in ("any", "all")):
        wanted = "of numbers" if dtype == "bool" else "'bool'"
        raise InputError(f"dtype is {dtype!r}, and must be {wanted} for {type}")
    rank = len(in_shape)
    if not rank:
        raise InputError("in_shape is [], and must have one axis at least")
    given = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    if any(not -rank <= k < rank for k in given):
        raise InputError(f"axis is {axis}, and must be from {-rank} to {rank - 1} for the shape {list(in_shape)}")
    reduced = sorted({k % rank for k in given})
    if not reduced or len(reduced) < len(given):
        raise InputError(f"axis is {axis}, and must be null or one or more axes, each of them once")
    if type.startswith("arg") and 1 < len(reduced) < rank:
        raise InputError(f"axis is {axis}, and must be null or one axis for {type}")
    data = te.placeholder(in_shape, dtype_of(dtype), "data")
    axes = {k: te.reduce_axis(in_shape[k], f"k{k}") for k in reduced}
    kept = [k for k in range(rank) if k not in axes]
    shape = [1 if k in axes else extent for k, extent in enumerate(in_shape) if keepdims or k not in axes] or [1]

    def element(*index: Value) -> Value:
        places = {k: index[k if keepdims else kept.index(k)] for k in kept}
        term = data[tuple(axes[k] if k in axes else places[k] for k in range(rank))]
        total: Value = getattr(te, type)(term, axis=tuple(axes.values()))
        return total.astype(i32) if type.startswith("arg") else total

    out = te.compute(shape, element, "out")
    return te.function("reduce", [data], [out])
