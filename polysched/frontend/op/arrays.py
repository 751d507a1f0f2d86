"""Functions and methods of NumPy on whole arrays, by their names; here are those that make arrays and join them.

    FUNCTIONS["concatenate"](emit, (a, b), axis=1)      %v = Concatenate(%a, %b) {axis = 1}

Each takes what NumPy's function takes, as far as it is supported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.elementwise import binary, cast, extremum, where
from polysched.frontend.op.emit import Emitter, Operand, common_type, name_of
from polysched.frontend.op.extents import normal, shown
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.passed import axis_of, extent_of, shape_given, without
from polysched.frontend.op.reducing import cumsum, dot, einsum, found, matmul, mean, outer, reduced, std, var
from polysched.frontend.op.shaping import (
    broadcast_to,
    expand_dims,
    flatten,
    flip,
    moveaxis,
    ravel,
    reshape,
    squeeze,
    swapaxes,
    transpose,
)
from polysched.ir.build import add, sub
from polysched.ir.dtypes import DType, f64, i64
from polysched.ir.nodes import Const, Expr

# --- making


def full(emit: Emitter, shape: Any, fill_value: Operand, dtype: DType | None = None) -> Ref:
    kind = dtype or common_type([fill_value]).dtype
    if isinstance(fill_value, bool | int | float):
        return emit.held(emit.constant(fill_value, kind, shape_given(shape)))
    return emit.held(emit.broadcast_to(emit.in_dtype(fill_value, kind), shape_given(shape), "an array"))


def zeros(emit: Emitter, shape: Any, dtype: DType = f64) -> Ref:
    return full(emit, shape, 0, dtype)


def ones(emit: Emitter, shape: Any, dtype: DType = f64) -> Ref:
    return full(emit, shape, 1, dtype)


def empty(emit: Emitter, shape: Any, dtype: DType = f64) -> Ref:
    return emit.result("Empty", [], dtype, shape_given(shape))


def full_like(emit: Emitter, a: Ref, fill_value: Operand, dtype: DType | None = None) -> Ref:
    return full(emit, a.shape, fill_value, dtype or a.dtype)


def zeros_like(emit: Emitter, a: Ref, dtype: DType | None = None) -> Ref:
    return full(emit, a.shape, 0, dtype or a.dtype)


def ones_like(emit: Emitter, a: Ref, dtype: DType | None = None) -> Ref:
    return full(emit, a.shape, 1, dtype or a.dtype)


def empty_like(emit: Emitter, a: Ref, dtype: DType | None = None) -> Ref:
    return empty(emit, a.shape, dtype or a.dtype)


def arange(emit: Emitter, *bounds: Any, dtype: DType = i64) -> Ref:
    start, stop = (0, *bounds) if len(bounds) == 1 else bounds
    extent = normal(sub(extent_of(stop), extent_of(start)))
    iota = emit.result("Iota", [], i64, (extent,))
    return cast(emit, iota if start == 0 else binary(emit, "+", iota, start), dtype)


def array(emit: Emitter, object: Any, dtype: DType | None = None) -> Ref:
    if isinstance(object, tuple):
        result = stack(emit, [array(emit, entry) for entry in object])
    else:
        result = emit.copy(as_array(emit, object))
    return cast(emit, result, dtype) if dtype else result


def as_array(emit: Emitter, operand: Any) -> Ref:
    match operand:
        case Ref():
            return operand
        case bool() | int() | float() | Expr():
            return emit.held(emit.in_dtype(operand, common_type([operand]).dtype))
        case tuple():
            return array(emit, operand)
    raise InputError(f"{operand!r} is no array", None, "pass an array or a number")


# --- joining


def concatenate(emit: Emitter, arrays: Sequence[Ref], axis: int = 0) -> Ref:
    refs = [as_array(emit, one) for one in arrays]
    at = axis_of(axis, refs[0].rank)
    for other in refs[1:]:
        if other.rank != refs[0].rank or without(other.shape, at) != without(refs[0].shape, at):
            raise InputError(
                *_unequal("concatenated", refs[0], other, f"their extents must be equal but for axis {at}")
            )
    dtype = common_type(refs).dtype
    extent: Expr = Const(0)
    for one in refs:
        extent = normal(add(extent, one.shape[at]))
    shape = (*refs[0].shape[:at], extent, *refs[0].shape[at + 1 :])
    return emit.result("Concatenate", [emit.in_dtype(one, dtype) for one in refs], dtype, shape, axis=at)


def stack(emit: Emitter, arrays: Sequence[Operand], axis: int = 0) -> Ref:
    refs = [as_array(emit, one) for one in arrays]
    for other in refs[1:]:
        if other.shape != refs[0].shape:
            raise InputError(*_unequal("stacked", refs[0], other, "their shapes must be equal"))
    at, dtype = axis_of(axis, refs[0].rank + 1), common_type(list(arrays)).dtype
    shape = (*refs[0].shape[:at], Const(len(refs)), *refs[0].shape[at:])
    return emit.result("Stack", [emit.in_dtype(one, dtype) for one in arrays], dtype, shape, axis=at)


def pad(emit: Emitter, array: Ref, pad_width: Any, mode: str = "constant", constant_values: Operand = 0) -> Ref:
    if mode != "constant":
        raise InputError(f"pad with mode '{mode}' is not supported", None, "the mode is 'constant'")
    widths = [tuple(map(extent_of, pair)) for pair in _pairs(pad_width, array.rank)]
    shape = tuple(
        normal(add(before, extent, after)) for (before, after), extent in zip(widths, array.shape, strict=True)
    )
    values = [emit.value(array), emit.in_dtype(constant_values, array.dtype)]
    return emit.result("Pad", values, array.dtype, shape, before=_Extents(before for before, _ in widths))


class _Extents(tuple[Expr, ...]):
    """Prints as a shape does."""

    def __str__(self) -> str:
        return shown(self)


def _pairs(width: Any, rank: int) -> list[tuple[Any, Any]]:
    match width:
        case tuple() if width and all(isinstance(pair, tuple) and len(pair) == 2 for pair in width):
            pairs = list(width) * rank if len(width) == 1 else list(width)
        case (before, after):
            pairs = [(before, after)] * rank
        case int() | Expr():
            pairs = [(width, width)] * rank
        case _:
            pairs = []
    if len(pairs) != rank:
        raise InputError(
            f"the widths of pad do not fit {rank} axes", None, "write ((before, after), ...), one per axis"
        )
    return pairs


def _unequal(what: str, left: Ref, right: Ref, hint: str) -> tuple[str, None, str]:
    shapes = f"{name_of(left)} of shape {shown(left.shape)} and {name_of(right)} of shape {shown(right.shape)}"
    return f"{shapes} cannot be {what}", None, hint


# --- choosing


def clip(emit: Emitter, a: Operand, a_min: Operand | None = None, a_max: Operand | None = None) -> Ref:
    result = as_array(emit, a)
    if a_min is not None:
        result = extremum(emit, "maximum", result, a_min)
    return result if a_max is None else extremum(emit, "minimum", result, a_max)


# --- by name


def astype(emit: Emitter, a: Ref, dtype: DType) -> Ref:
    return emit.copy(cast(emit, a, dtype))


FUNCTIONS: dict[str, Callable[..., Ref]] = {
    function.__name__: function
    for function in (
        full, zeros, ones, empty, full_like, zeros_like, ones_like, empty_like, arange, array, transpose, swapaxes,
        moveaxis, reshape, ravel, expand_dims, squeeze, flip, broadcast_to, concatenate, stack, pad, mean, var, std,
        cumsum, matmul, dot, outer, einsum, clip, where,
    )
} | {
    **{name: reduced(kind) for name, kind in (
        ("sum", "Sum"), ("prod", "Prod"), ("max", "Max"), ("min", "Min"), ("amax", "Max"), ("amin", "Min"),
        ("any", "Any"), ("all", "All"),
    )},
    "argmax": found("ArgMax"),
    "argmin": found("ArgMin"),
    "asarray": array,
    "permute_dims": transpose,
    "permute": transpose,
    "copy": lambda emit, a: emit.copy(a),
    "select": where,
}  # fmt: skip
METHODS: dict[str, Callable[..., Ref]] = {
    **{
        name: FUNCTIONS[name]
        for name in [
            "transpose",
            "swapaxes",
            "reshape",
            "ravel",
            "squeeze",
            "mean",
            "var",
            "std",
            "cumsum",
            "dot",
            "clip",
            "sum",
            "prod",
            "max",
            "min",
            "any",
            "all",
            "argmax",
            "argmin",
            "copy",
        ]
    },
    "astype": astype,
    "flatten": flatten,
}
