"""Functions of NumPy that make arrays: of numbers, and of other arrays.

full(emit, (n, 4), 1.5)                %v = Const() {value = 1.5} : f64[n, 4]
arange(emit, 1, n)                     %v = BinaryType::Add(%iota, %one) : i64[max(n - 1, 0)]
array(emit, (x, 1.5))                  %v = Stack(%x, %c) {axis = 0}
concatenate(emit, (a, b), axis=1)      %v = Concatenate(%a, %b) {axis = 1}
pad(emit, a, 1)                        %v = Pad(%a, %zero) {before = [1]}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

from polysched.errors import InputError
from polysched.frontend.arithmetic import promote
from polysched.frontend.op.emit import Emitter, Operand, common_type, name_of, shape_of, type_of
from polysched.frontend.op.extents import ceildiv, normal, shown
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.numpy.operators import binary, cast
from polysched.frontend.op.numpy.passed import axis_of, extent_of, shape_given, without
from polysched.frontend.op.numpy.shaping import reshape
from polysched.ir.build import add, sub
from polysched.ir.dtypes import DType, f64, i64
from polysched.ir.nodes import Binary, Const, Expr


def array(emit: Emitter, object: Any, dtype: DType | None = None) -> Ref:
    """A new array, of a number, an array, or of tuples of them."""
    if isinstance(object, tuple) and object:
        entries = [array(emit, one, dtype) if isinstance(one, tuple) else one for one in object]
        return emit.array(emit.value(_stacked(emit, entries, 0, dtype)))
    if dtype and isinstance(object, bool | int | float):
        return emit.array(emit.constant(object, dtype))
    result = as_array(emit, object)
    return emit.array(emit.value(cast(emit, result, dtype) if dtype else result))


def asarray(emit: Emitter, a: Any, dtype: DType | None = None) -> Ref:
    """The array itself if it has the dtype."""
    result = as_array(emit, a)
    return (cast(emit, result, dtype) if dtype else result).as_array()


def as_array(emit: Emitter, operand: Any) -> Ref:
    """What NumPy's functions make of what they are given: a number of NumPy's stays one."""
    match operand:
        case Ref():
            return operand
        case bool() | int() | float() | Expr():
            return emit.array(emit.in_dtype(operand, type_of(operand).dtype))
        case tuple() if operand:
            return array(emit, operand)
    shown = "an empty tuple" if operand == () else "a text" if isinstance(operand, str) else f"'{operand}'"
    raise InputError(f"{shown} is no array", None, "pass an array or a number")


def concatenate(emit: Emitter, arrays: Any, axis: int | None = 0, dtype: DType | None = None) -> Ref:
    refs = [as_array(emit, one) for one in _entries(arrays)]
    if axis is None:
        refs, axis = [reshape(emit, one, -1) for one in refs], 0
    first = refs[0]
    at = axis_of(axis, first.rank)
    for other in refs[1:]:
        if other.rank != first.rank or without(other.shape, at) != without(first.shape, at):
            raise _unequal("concatenated", first, other, f"their extents must be equal but for axis {at}")
    dtype = dtype or _common_dtype(refs)
    extent: Expr = Const(0)
    for one in refs:
        extent = normal(add(extent, one.shape[at]))
    shape = (*first.shape[:at], extent, *first.shape[at + 1 :])
    return emit.result("Concatenate", [emit.in_dtype(one, dtype) for one in refs], dtype, shape, axis=at)


def stack(emit: Emitter, arrays: Any, axis: int = 0, dtype: DType | None = None) -> Ref:
    return _stacked(emit, _entries(arrays), axis, dtype)


def _stacked(emit: Emitter, entries: Sequence[Any], axis: int, dtype: DType | None) -> Ref:
    operands: list[Operand] = [as_array(emit, one) if isinstance(one, tuple) else one for one in entries]
    shape = shape_of(operands[0])
    for other in operands[1:]:
        if shape_of(other) != shape:
            raise _unequal("stacked", operands[0], other, "their shapes must be equal")
    at, dtype = axis_of(axis, len(shape) + 1), dtype or _common_dtype(operands)
    whole = (*shape[:at], Const(len(operands)), *shape[at:])
    return emit.result("Stack", [emit.in_dtype(one, dtype) for one in operands], dtype, whole, axis=at)


def _entries(arrays: Any) -> tuple[Any, ...]:
    if isinstance(arrays, tuple) and arrays:
        return arrays
    raise InputError("arrays are joined that are not in a tuple or list", None, "write [a, b]")


def _common_dtype(operands: Sequence[Operand]) -> DType:
    """Numbers of Python are arrays here, with dtypes of their own."""
    return reduce(promote, [type_of(one).dtype for one in operands])


def _unequal(what: str, left: Operand, right: Operand, hint: str) -> InputError:
    shapes = " and ".join(f"{name_of(operand)} of shape {shown(shape_of(operand))}" for operand in (left, right))
    return InputError(f"{shapes} cannot be {what}", None, hint)


# --- padding


def pad(emit: Emitter, array: Ref, pad_width: Any, constant_values: Operand = 0) -> Ref:
    widths = pad_widths(pad_width, array.rank)
    zipped = zip(widths, array.shape, strict=True)
    shape = tuple(normal(add(before, extent, after)) for (before, after), extent in zipped)
    values = [emit.value(array), emit.in_dtype(constant_values, array.dtype)]
    padded = emit.add("Pad", values, array.dtype, shape, before=_Extents(before for before, _ in widths))
    return emit.array(padded)


def pad_widths(given: Any, rank: int) -> list[tuple[Expr, Expr]]:
    """How many elements come before and after the others, for each axis."""
    match given:
        case tuple() if given and all(isinstance(pair, tuple) and len(pair) == 2 for pair in given):
            pairs = list(given) * rank if len(given) == 1 else list(given)
        case (before, after):
            pairs = [(before, after)] * rank
        case int() | Expr() | (_,):
            width = given[0] if isinstance(given, tuple) else given
            pairs = [(width, width)] * rank
        case _:
            pairs = []
    if len(pairs) != rank:
        message = f"the widths of pad do not fit {rank} axes"
        raise InputError(message, None, "write ((before, after), ...), one per axis")
    return [(extent_of(before), extent_of(after)) for before, after in pairs]


class _Extents(tuple[Expr, ...]):
    """Prints as a shape does."""

    def __str__(self) -> str:
        return shown(self)


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
    result = emit.result("Iota", [], i64, (extent,))
    if step != 1 or isinstance(step, float):
        result = binary(emit, "*", result, step)
    if isinstance(first, Expr) or first != 0 or isinstance(first, float):
        result = binary(emit, "+", result, first)
    return cast(emit, result, dtype)
