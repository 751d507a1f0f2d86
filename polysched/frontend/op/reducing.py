"""Functions of NumPy that make one of many elements: reductions, running sums, products of matrices.

    mean(emit, x, axis=1)     %s = ReduceType::Sum(%x) {axes = (1,)}, ..., %v = BinaryType::Div(%s, %m)

With `keepdims`, the axes come back as a view.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.contraction import contraction, product_of_matrices
from polysched.frontend.op.elementwise import binary, call, cast
from polysched.frontend.op.emit import Emitter, common_type, name_of
from polysched.frontend.op.extents import normal, product
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.passed import axes_of, axis_of, extent_of, plain, without
from polysched.frontend.op.shaping import reshape, with_ones
from polysched.ir.build import sub
from polysched.ir.dtypes import DType, boolean, f64, i64, u8, u64
from polysched.ir.nodes import Expr


def reduced(kind: str) -> Callable[..., Ref]:
    def function(emit: Emitter, a: Ref, axis: Any = None, keepdims: bool = False, dtype: DType | None = None) -> Ref:
        if kind in ("Any", "All"):
            a = cast(emit, a, boolean)
        elif dtype or kind in ("Sum", "Prod"):
            a = cast(emit, a, dtype or _summed(a.dtype))
        return _reduce(emit, kind, a, axes_of(axis, a.rank), keepdims)

    return function


def _reduce(emit: Emitter, kind: str, a: Ref, axes: tuple[int, ...], keepdims: bool) -> Ref:
    if a.dtype == boolean and kind in ("Max", "Min"):
        kind = "Any" if kind == "Max" else "All"
    if not axes:
        return emit.copy(a)
    rest = tuple(extent for k, extent in enumerate(a.shape) if k not in axes)
    result = emit.result(f"ReduceType::{kind}", [emit.value(a)], a.dtype, rest, axes=axes)
    return with_ones(result, axes) if keepdims else result


def mean(emit: Emitter, a: Ref, axis: Any = None, keepdims: bool = False, dtype: DType | None = None) -> Ref:
    axes = axes_of(axis, a.rank)
    total = _reduce(emit, "Sum", cast(emit, a, dtype or _averaged(a.dtype)), axes, keepdims)
    return binary(emit, "/", total, _count(a, axes))


def var(emit: Emitter, a: Ref, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Ref:
    axes = axes_of(axis, a.rank)
    centred = binary(emit, "-", a, mean(emit, a, axes, True))
    total = _reduce(emit, "Sum", binary(emit, "*", centred, centred), axes, keepdims)
    return binary(emit, "/", total, plain(normal(sub(extent_of(_count(a, axes)), ddof))))


def std(emit: Emitter, a: Ref, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Ref:
    return call(emit, "sqrt", [var(emit, a, axis, ddof, keepdims)])


def found(kind: str) -> Callable[..., Ref]:
    def function(emit: Emitter, a: Ref, axis: int | None = None, keepdims: bool = False) -> Ref:
        rank = a.rank
        if axis is None:
            a = emit.held(emit.value(reshape(emit, a, -1)))
        if a.dtype == boolean:
            a = cast(emit, a, u8)
        at = axis_of(axis or 0, a.rank)
        result = emit.result(f"ReduceType::{kind}", [emit.value(a)], i64, without(a.shape, at), axes=(at,))
        return with_ones(result, range(rank) if axis is None else (at,)) if keepdims else result

    return function


def cumsum(emit: Emitter, a: Ref, axis: int | None = None) -> Ref:
    a = cast(emit, a, _summed(a.dtype))
    if axis is None:
        a = reshape(emit, a, -1)
    return emit.result("CumSum", [emit.value(a)], a.dtype, a.shape, axis=axis_of(axis or 0, a.rank))


def _summed(dtype: DType) -> DType:
    """In what NumPy adds: integers narrower than 64 bits are widened."""
    if dtype.is_float:
        return dtype
    return u64 if dtype.kind == "u" else i64


def _averaged(dtype: DType) -> DType:
    return dtype if dtype.is_float else f64


def _count(a: Ref, axes: Sequence[int]) -> int | Expr:
    return plain(product([a.shape[k] for k in axes]))


def matmul(emit: Emitter, x1: Ref, x2: Ref) -> Ref:
    dtype = common_type((x1, x2)).dtype
    shape = product_of_matrices((name_of(x1), x1.shape), (name_of(x2), x2.shape))
    return emit.result("MatMul", [emit.in_dtype(x1, dtype), emit.in_dtype(x2, dtype)], dtype, shape)


def dot(emit: Emitter, a: Ref, b: Ref) -> Ref:
    if a.rank == 0 or b.rank == 0:
        return binary(emit, "*", a, b)
    if max(a.rank, b.rank) > 2:
        raise InputError("dot of more than 2 dimensions is not supported", None, "write np.einsum")
    return matmul(emit, a, b)


def outer(emit: Emitter, a: Ref, b: Ref) -> Ref:
    return einsum(emit, "i,j->ij", a, b)


def einsum(emit: Emitter, subscripts: str, *operands: Ref) -> Ref:
    dtype = common_type(operands).dtype
    labels, extents = contraction(subscripts, [(name_of(one), one.shape) for one in operands])
    values = [emit.in_dtype(one, dtype) for one in operands]
    return emit.result("Einsum", values, dtype, tuple(extents[label] for label in labels[-1]), spec=subscripts)
