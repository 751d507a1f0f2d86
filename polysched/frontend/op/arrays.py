"""Functions and methods of NumPy on whole arrays: making, shaping, joining, reducing, contracting.

    FUNCTIONS["concatenate"](emit, (a, b), axis=1)      %v = Concatenate(%a, %b) {axis = 1}

Each takes what NumPy's function takes, as far as it is supported. Those of `SHAPES` give views, as NumPy's do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.contraction import contraction, product_of_matrices
from polysched.frontend.op.elementwise import binary, call, cast, extremum, where
from polysched.frontend.op.emit import Emitter, Operand, common_type, name_of
from polysched.frontend.op.extents import Shape, fits_into, normal, number, product, quotient, shown
from polysched.frontend.op.memory import Permuted, Ref, Reshaped, Spread, Step
from polysched.frontend.op.views import At, Every, New, View
from polysched.ir.build import add, sub
from polysched.ir.dtypes import DType, boolean, f64, i64, u8, u64
from polysched.ir.nodes import Const, Expr
from polysched.ir.text import show

ONE = Const(1)


# --- making


def full(emit: Emitter, shape: Any, fill_value: Operand, dtype: DType | None = None) -> Ref:
    kind = dtype or common_type([fill_value]).dtype
    if isinstance(fill_value, bool | int | float):
        return emit.held(emit.constant(fill_value, kind, _shape(shape)))
    return emit.held(emit.broadcast_to(emit.in_dtype(fill_value, kind), _shape(shape), "an array"))


def zeros(emit: Emitter, shape: Any, dtype: DType = f64) -> Ref:
    return full(emit, shape, 0, dtype)


def ones(emit: Emitter, shape: Any, dtype: DType = f64) -> Ref:
    return full(emit, shape, 1, dtype)


def empty(emit: Emitter, shape: Any, dtype: DType = f64) -> Ref:
    return emit.result("Empty", [], dtype, _shape(shape))


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
    extent = normal(sub(_extent(stop), _extent(start)))
    iota = emit.result("Iota", [], i64, (extent,))
    return cast(emit, iota if start == 0 else binary(emit, "+", iota, start), dtype)


def array(emit: Emitter, object: Any, dtype: DType | None = None) -> Ref:
    if isinstance(object, tuple):
        result = stack(emit, [array(emit, entry) for entry in object])
    else:
        result = emit.copy(as_array(emit, object))
    return cast(emit, result, dtype) if dtype else result


# --- shaping


def transpose(emit: Emitter, a: Ref, *axes: Any) -> Ref:
    given = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple) else axes
    order = tuple(_axis(axis, a.rank) for axis in given) if given else tuple(range(a.rank))[::-1]
    if sorted(order) != list(range(a.rank)):
        raise InputError(f"{order} is no order of the {a.rank} axes of {name_of(a)}", None, "name each axis once")
    return _seen(a, Permuted(order), tuple(a.shape[k] for k in order))


def swapaxes(emit: Emitter, a: Ref, axis1: int, axis2: int) -> Ref:
    order = list(range(a.rank))
    one, two = _axis(axis1, a.rank), _axis(axis2, a.rank)
    order[one], order[two] = two, one
    return transpose(emit, a, *order)


def moveaxis(emit: Emitter, a: Ref, source: int, destination: int) -> Ref:
    order = [k for k in range(a.rank) if k != _axis(source, a.rank)]
    order.insert(_axis(destination, a.rank), _axis(source, a.rank))
    return transpose(emit, a, *order)


def reshape(emit: Emitter, a: Ref, *shape: Any) -> Ref:
    """A view of whole memory; else a copy, as it may be in NumPy, that cannot be changed in place."""
    wanted = _shape(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape)
    total = product(a.shape)
    if Const(-1) in wanted:
        rest = quotient(total, product([extent for extent in wanted if extent != Const(-1)]))
        if rest is None:
            raise InputError(*_not_reshaped(a, wanted))
        wanted = tuple(rest if extent == Const(-1) else extent for extent in wanted)
    if product(wanted) != total:
        raise InputError(*_not_reshaped(a, wanted))
    if all(isinstance(step, Reshaped) for step in a.path):
        return _seen(a, Reshaped(wanted), wanted)
    result = emit.result("Reshape", [emit.value(a)], a.dtype, wanted)
    result.memory.frozen = "may be a view of another array or a copy of it, which NumPy decides when it runs"
    return result


def ravel(emit: Emitter, a: Ref) -> Ref:
    return reshape(emit, a, -1)


def flatten(emit: Emitter, a: Ref) -> Ref:
    return emit.copy(reshape(emit, a, -1))


def expand_dims(emit: Emitter, a: Ref, axis: int) -> Ref:
    return _with_ones(a, (_axis(axis, a.rank + 1),))


def squeeze(emit: Emitter, a: Ref, axis: int | tuple[int, ...] | None = None) -> Ref:
    gone = [k for k in range(a.rank) if a.shape[k] == ONE] if axis is None else _axes(axis, a.rank)
    for k in gone:
        if a.shape[k] != ONE:
            raise InputError(f"axis {k} of {name_of(a)} has the extent {show(a.shape[k])}, not 1", None)
    parts = tuple(At(Const(0)) if k in gone else Every(Const(0), 1, extent) for k, extent in enumerate(a.shape))
    step = View(parts, ", ".join("0" if k in gone else ":" for k in range(a.rank)))
    return _seen(a, step, step.shape)


def flip(emit: Emitter, a: Ref, axis: int | tuple[int, ...] | None = None) -> Ref:
    turned = _axes(axis, a.rank)
    parts = tuple(
        Every(normal(sub(extent, 1)), -1, extent) if k in turned else Every(Const(0), 1, extent)
        for k, extent in enumerate(a.shape)
    )
    step = View(parts, ", ".join("::-1" if k in turned else ":" for k in range(a.rank)))
    return _seen(a, step, step.shape)


def broadcast_to(emit: Emitter, array: Ref, shape: Any) -> Ref:
    wanted = _shape(shape)
    if not fits_into(array.shape, wanted):
        message = f"{name_of(array)} of shape {shown(array.shape)} cannot be broadcast to {shown(wanted)}"
        raise InputError(message, None, "each extent must be 1 or the same")
    return _seen(array, Spread(wanted), wanted)


def _seen(a: Ref, step: Step, shape: Shape) -> Ref:
    return Ref(a.memory, a.dtype, shape, (*a.path, step))


def _not_reshaped(a: Ref, wanted: Shape) -> tuple[str, None, str]:
    message = f"{name_of(a)} of shape {shown(a.shape)} cannot be reshaped to {shown(wanted)}"
    return message, None, "both must have the same number of elements for all sizes"


# --- joining


def concatenate(emit: Emitter, arrays: Sequence[Ref], axis: int = 0) -> Ref:
    refs = [as_array(emit, one) for one in arrays]
    at = _axis(axis, refs[0].rank)
    for other in refs[1:]:
        if other.rank != refs[0].rank or _without(other.shape, at) != _without(refs[0].shape, at):
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
    at, dtype = _axis(axis, refs[0].rank + 1), common_type(list(arrays)).dtype
    shape = (*refs[0].shape[:at], Const(len(refs)), *refs[0].shape[at:])
    return emit.result("Stack", [emit.in_dtype(one, dtype) for one in arrays], dtype, shape, axis=at)


def pad(emit: Emitter, array: Ref, pad_width: Any, mode: str = "constant", constant_values: Operand = 0) -> Ref:
    if mode != "constant":
        raise InputError(f"pad with mode '{mode}' is not supported", None, "the mode is 'constant'")
    widths = [tuple(map(_extent, pair)) for pair in _pairs(pad_width, array.rank)]
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


def _without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])


def _unequal(what: str, left: Ref, right: Ref, hint: str) -> tuple[str, None, str]:
    shapes = f"{name_of(left)} of shape {shown(left.shape)} and {name_of(right)} of shape {shown(right.shape)}"
    return f"{shapes} cannot be {what}", None, hint


# --- reducing


def _reduced(kind: str) -> Callable[..., Ref]:
    def function(emit: Emitter, a: Ref, axis: Any = None, keepdims: bool = False, dtype: DType | None = None) -> Ref:
        a = as_array(emit, a)
        if kind in ("Any", "All"):
            a = cast(emit, a, boolean)
        elif dtype or kind in ("Sum", "Prod"):
            a = cast(emit, a, dtype or _summed(a.dtype))
        return _reduce(emit, kind, a, _axes(axis, a.rank), keepdims)

    return function


def _reduce(emit: Emitter, kind: str, a: Ref, axes: tuple[int, ...], keepdims: bool) -> Ref:
    if a.dtype == boolean and kind in ("Max", "Min"):
        kind = "Any" if kind == "Max" else "All"
    if not axes:
        return emit.copy(a)
    rest = tuple(extent for k, extent in enumerate(a.shape) if k not in axes)
    result = emit.result(f"ReduceType::{kind}", [emit.value(a)], a.dtype, rest, axes=axes)
    return _with_ones(result, axes) if keepdims else result


def _with_ones(a: Ref, axes: Sequence[int]) -> Ref:
    """A view with axes of extent 1 more, which are these of its own."""
    old = iter(a.shape)
    rank = a.rank + len(axes)
    parts = tuple(New() if k in axes else Every(Const(0), 1, next(old)) for k in range(rank))
    step = View(parts, ", ".join("None" if k in axes else ":" for k in range(rank)))
    return _seen(a, step, step.shape)


def mean(emit: Emitter, a: Ref, axis: Any = None, keepdims: bool = False, dtype: DType | None = None) -> Ref:
    a = as_array(emit, a)
    axes = _axes(axis, a.rank)
    total = _reduce(emit, "Sum", cast(emit, a, dtype or _averaged(a.dtype)), axes, keepdims)
    return binary(emit, "/", total, _count(a, axes))


def var(emit: Emitter, a: Ref, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Ref:
    a = as_array(emit, a)
    axes = _axes(axis, a.rank)
    centred = binary(emit, "-", a, mean(emit, a, axes, True))
    total = _reduce(emit, "Sum", binary(emit, "*", centred, centred), axes, keepdims)
    return binary(emit, "/", total, _plain(normal(sub(_extent(_count(a, axes)), ddof))))


def std(emit: Emitter, a: Ref, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Ref:
    return call(emit, "sqrt", [var(emit, a, axis, ddof, keepdims)])


def _found(kind: str) -> Callable[..., Ref]:
    def function(emit: Emitter, a: Ref, axis: int | None = None, keepdims: bool = False) -> Ref:
        a = as_array(emit, a)
        rank = a.rank
        if axis is None:
            a = emit.held(emit.value(reshape(emit, a, -1)))
        if a.dtype == boolean:
            a = cast(emit, a, u8)
        at = _axis(axis or 0, a.rank)
        result = emit.result(f"ReduceType::{kind}", [emit.value(a)], i64, _without(a.shape, at), axes=(at,))
        return _with_ones(result, range(rank) if axis is None else (at,)) if keepdims else result

    return function


def cumsum(emit: Emitter, a: Ref, axis: int | None = None) -> Ref:
    a = cast(emit, a, _summed(a.dtype))
    if axis is None:
        a = reshape(emit, a, -1)
    return emit.result("CumSum", [emit.value(a)], a.dtype, a.shape, axis=_axis(axis or 0, a.rank))


def _summed(dtype: DType) -> DType:
    """In what NumPy adds: integers narrower than 64 bits are widened."""
    if dtype.is_float:
        return dtype
    return u64 if dtype.kind == "u" else i64


def _averaged(dtype: DType) -> DType:
    return dtype if dtype.is_float else f64


def _count(a: Ref, axes: Sequence[int]) -> int | Expr:
    return _plain(product([a.shape[k] for k in axes]))


def _plain(extent: Expr) -> int | Expr:
    value = number(extent)
    return extent if value is None else value


# --- contracting


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


# --- choosing


def clip(emit: Emitter, a: Operand, a_min: Operand | None = None, a_max: Operand | None = None) -> Ref:
    result = as_array(emit, a)
    if a_min is not None:
        result = extremum(emit, "maximum", result, a_min)
    return result if a_max is None else extremum(emit, "minimum", result, a_max)


def _extremes(name: str) -> Callable[..., Ref]:
    def function(emit: Emitter, *values: Operand) -> Ref:
        return reduce(lambda left, right: extremum(emit, name, left, right), values[1:], as_array(emit, values[0]))

    return function


# --- what users pass


def as_array(emit: Emitter, operand: Any) -> Ref:
    match operand:
        case Ref():
            return operand
        case bool() | int() | float() | Expr():
            return emit.held(emit.in_dtype(operand, common_type([operand]).dtype))
        case tuple():
            return array(emit, operand)
    raise InputError(f"{operand!r} is no array", None, "pass an array or a number")


def _extent(given: Any) -> Expr:
    match given:
        case Expr():
            return normal(given)
        case int():
            return Const(int(given))
    raise InputError("an extent must be a number or a size", None, "extents cannot depend on data")


def _shape(given: Any) -> Shape:
    return tuple(map(_extent, given if isinstance(given, tuple) else (given,)))


def _axis(axis: Any, rank: int) -> int:
    if not isinstance(axis, int):
        raise InputError("an axis must be a number", None, "write it as one, as in axis=0")
    if not -rank <= axis < rank:
        raise InputError(f"there is no axis {axis} of an array of {rank} dimensions", None)
    return axis % rank


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    axes = tuple(_axis(one, rank) for one in (axis if isinstance(axis, tuple) else (axis,)))
    if len(set(axes)) < len(axes):
        raise InputError(f"the axes {axis} name one twice", None)
    return tuple(sorted(axes))


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
    **{name: _reduced(kind) for name, kind in (
        ("sum", "Sum"), ("prod", "Prod"), ("max", "Max"), ("min", "Min"), ("amax", "Max"), ("amin", "Min"),
        ("any", "Any"), ("all", "All"),
    )},
    "argmax": _found("ArgMax"),
    "argmin": _found("ArgMin"),
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
