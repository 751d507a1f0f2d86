"""Functions of NumPy that make one of many elements: reductions and running sums.

    mean(emit, x, axis=1)     %s = ReduceType::Sum(%x) {axes = (1,)}, ..., %v = BinaryType::Div(%s, %m)

With `keepdims`, the axes come back as a view; `where` puts what changes nothing in place of the other elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.emit import Emitter, Operand, fresh
from polysched.frontend.op.extents import normal, product
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.numpy.elementwise import call
from polysched.frontend.op.numpy.operators import binary, cast, extremum, where
from polysched.frontend.op.numpy.passed import axes_of, axis_of, extent_of, plain, without
from polysched.frontend.op.numpy.shaping import reshape, with_ones
from polysched.ir.build import sub
from polysched.ir.dtypes import DType, boolean, f64, i64, u8, u64
from polysched.ir.nodes import Expr


def reduced(kind: str) -> Callable[..., Ref]:
    """The function whose kind of reduction is Sum, Prod, Max, Min, Any or All, or NanMax or NanMin."""

    def function(
        emit: Emitter,
        a: Ref,
        axis: Any = None,
        keepdims: bool = False,
        dtype: DType | None = None,
        initial: Operand | None = None,
        where: Operand | None = None,
    ) -> Ref:
        if kind in ("Any", "All"):
            a = cast(emit, a, boolean)
        elif dtype or kind in ("Sum", "Prod"):
            a = cast(emit, a, dtype or _summed(a.dtype))
        if where is not None:
            a = _chosen(emit, kind, a, where, initial)
        result = _reduce(emit, kind, a, axes_of(axis, a.rank), keepdims)
        return result if initial is None else _with_initial(emit, kind, result, initial)

    return function


def _reduce(emit: Emitter, kind: str, a: Ref, axes: tuple[int, ...], keepdims: bool) -> Ref:
    if a.dtype == boolean and kind in ("Max", "Min"):
        kind = "Any" if kind == "Max" else "All"
    if not axes:
        return emit.copy(a)
    rest = tuple(extent for k, extent in enumerate(a.shape) if k not in axes)
    result = emit.result(f"ReduceType::{kind}", [emit.value(a)], a.dtype, rest, axes=axes)
    return with_ones(result, axes) if keepdims else result


def _chosen(emit: Emitter, kind: str, a: Ref, mask: Operand, initial: Operand | None) -> Ref:
    """The array with what changes nothing where the mask is false."""
    other = initial if kind in ("Max", "Min") else _CHANGES_NOTHING[kind]
    if other is None:
        raise InputError("of no elements there is no greatest and no least one", None, "pass initial= beside where=")
    return cast(emit, where(emit, mask, a, other), a.dtype)


def _with_initial(emit: Emitter, kind: str, result: Ref, initial: Operand) -> Ref:
    initial = cast(emit, initial, result.dtype)
    match kind:
        case "Sum" | "Prod":
            return binary(emit, "+" if kind == "Sum" else "*", result, initial)
        case "Max" | "Min":
            return extremum(emit, f"{kind.lower()}imum", result, initial)
    raise InputError(f"'{kind.lower()}' takes no initial value", None, "combine it with the result by an operator")


def mean(
    emit: Emitter,
    a: Ref,
    axis: Any = None,
    keepdims: bool = False,
    dtype: DType | None = None,
    where: Ref | None = None,
) -> Ref:
    axes = axes_of(axis, a.rank)
    averaged = cast(emit, a, dtype or _averaged(a.dtype))
    if where is None:
        return binary(emit, "/", _reduce(emit, "Sum", averaged, axes, keepdims), _count(a, axes))
    total = _reduce(emit, "Sum", _chosen(emit, "Sum", averaged, where, None), axes, keepdims)
    is_counted = fresh(emit.broadcast_to(emit.in_dtype(where, boolean), a.shape, "the array"))
    number = _reduce(emit, "Sum", cast(emit, is_counted, i64), axes, keepdims)
    return cast(emit, binary(emit, "/", total, number), averaged.dtype)


def var(
    emit: Emitter,
    a: Ref,
    axis: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
    dtype: DType | None = None,
    correction: int | None = None,
) -> Ref:
    axes = axes_of(axis, a.rank)
    a = cast(emit, a, dtype or _averaged(a.dtype))
    centred = binary(emit, "-", a, mean(emit, a, axes, True))
    total = _reduce(emit, "Sum", binary(emit, "*", centred, centred), axes, keepdims)
    less = ddof if correction is None else correction
    number = normal(sub(extent_of(_count(a, axes)), extent_of(less)))
    return binary(emit, "/", total, plain(number))


def std(
    emit: Emitter,
    a: Ref,
    axis: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
    dtype: DType | None = None,
    correction: int | None = None,
) -> Ref:
    return call(emit, "sqrt", [var(emit, a, axis, ddof, keepdims, dtype, correction)])


def found(kind: str) -> Callable[..., Ref]:
    """argmax or argmin, by their kind ArgMax or ArgMin."""

    def function(emit: Emitter, a: Ref, axis: int | None = None, keepdims: bool = False) -> Ref:
        rank = a.rank
        if axis is None:
            a = fresh(emit.value(reshape(emit, a, -1)))
        if a.dtype == boolean:
            a = cast(emit, a, u8)
        at = axis_of(axis or 0, a.rank)
        result = emit.result(f"ReduceType::{kind}", [emit.value(a)], i64, without(a.shape, at), axes=(at,))
        return with_ones(result, range(rank) if axis is None else (at,)) if keepdims else result

    return function


def running(kind: str) -> Callable[..., Ref]:
    """cumsum and the like: `kind` is CumSum, CumProd, CumMax or CumMin."""

    def function(emit: Emitter, a: Ref, axis: int | None = None, dtype: DType | None = None) -> Ref:
        a = cast(emit, a, dtype or (_summed(a.dtype) if kind in ("CumSum", "CumProd") else a.dtype))
        if axis is None:
            a = reshape(emit, a, -1)
        return emit.result(kind, [emit.value(a)], a.dtype, a.shape, axis=axis_of(axis or 0, a.rank))

    return function


def _summed(dtype: DType) -> DType:
    """In what NumPy adds: integers narrower than 64 bits are widened."""
    if dtype.is_float:
        return dtype
    return u64 if dtype.kind == "u" else i64


def _averaged(dtype: DType) -> DType:
    return dtype if dtype.is_float else f64


def _count(a: Ref, axes: Sequence[int]) -> int | Expr:
    return plain(product([a.shape[k] for k in axes]))


_CHANGES_NOTHING: dict[str, Operand] = {
    "Sum": 0,
    "Prod": 1,
    "Any": False,
    "All": True,
    "NanMax": -math.inf,
    "NanMin": math.inf,
}
