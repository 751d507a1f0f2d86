"""Functions of NumPy that make arrays of numbers.

full(emit, (n, 4), 1.5)        %v = Const() {value = 1.5} : f64[n, 4]
arange(emit, 1, n)             %v = BinaryType::Add(%iota, %one) : i64[max(n - 1, 0)]
"""

from __future__ import annotations

import math
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.emit import Emitter, Operand, common_type
from polysched.frontend.op.extents import ceildiv, normal
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.numpy.joining import as_array
from polysched.frontend.op.numpy.operators import binary, cast
from polysched.frontend.op.numpy.passed import extent_of, shape_given
from polysched.ir.build import sub
from polysched.ir.dtypes import DType, f64, i64
from polysched.ir.nodes import Binary, Const, Expr


def full(emit: Emitter, shape: Any, fill_value: Any, dtype: DType | None = None) -> Ref:
    value = fill_value if isinstance(fill_value, bool | int | float | Expr) else as_array(emit, fill_value)
    kind = dtype or common_type([value]).dtype
    if isinstance(value, bool | int | float):
        return emit.array(emit.constant(value, kind, shape_given(shape)))
    return emit.array(emit.broadcast_to(emit.in_dtype(value, kind), shape_given(shape), "an array"))


def zeros(emit: Emitter, shape: Any, dtype: DType = f64) -> Ref:
    return full(emit, shape, 0, dtype)


def ones(emit: Emitter, shape: Any, dtype: DType = f64) -> Ref:
    return full(emit, shape, 1, dtype)


def empty(emit: Emitter, shape: Any, dtype: DType = f64) -> Ref:
    return emit.array(emit.add("Empty", [], dtype, shape_given(shape)))


def full_like(emit: Emitter, a: Ref, fill_value: Any, dtype: DType | None = None, shape: Any = None) -> Ref:
    return full(emit, a.shape if shape is None else shape, fill_value, dtype or a.dtype)


def zeros_like(emit: Emitter, a: Ref, dtype: DType | None = None, shape: Any = None) -> Ref:
    return full_like(emit, a, 0, dtype, shape)


def ones_like(emit: Emitter, a: Ref, dtype: DType | None = None, shape: Any = None) -> Ref:
    return full_like(emit, a, 1, dtype, shape)


def empty_like(emit: Emitter, a: Ref, dtype: DType | None = None, shape: Any = None) -> Ref:
    return empty(emit, a.shape if shape is None else shape, dtype or a.dtype)


def arange(emit: Emitter, start: Any, stop: Any = None, step: Any = 1, dtype: DType | None = None) -> Ref:
    first, last = (0, start) if stop is None else (start, stop)
    bounds = (first, last, step)
    if step == 0:
        raise InputError("the step of arange is zero", None, "write one that leads from start to stop")
    if all(isinstance(bound, int | float) for bound in bounds) and any(isinstance(bound, float) for bound in bounds):
        delta = first + step - first  # as NumPy rounds it
        return _progression(emit, Const(max(0, math.ceil((last - first) / step))), first, delta, dtype or f64)
    if not isinstance(step, int):
        raise InputError("the step of arange is not a number", None, "write it as one, as in np.arange(0, n, 2)")
    length = sub(extent_of(last), extent_of(first)) if step > 0 else sub(extent_of(first), extent_of(last))
    return _progression(emit, normal(Binary("max", Const(0), ceildiv(length, abs(step)))), first, step, dtype or i64)


def _progression(emit: Emitter, extent: Expr, first: Operand, step: Operand, dtype: DType) -> Ref:
    """first, first + step, ..."""
    result = emit.result("Iota", [], i64, (extent,))
    if step != 1 or isinstance(step, float):
        result = binary(emit, "*", result, step)
    if isinstance(first, Expr) or first != 0 or isinstance(first, float):
        result = binary(emit, "+", result, first)
    return cast(emit, result, dtype)
