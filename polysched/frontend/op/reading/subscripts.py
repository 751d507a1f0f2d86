"""Subscripts of arrays: views, single elements, and elements that other arrays choose.

x[1:, None]        a view
x[2]               of one dimension: the number, a copy
s[...]             of a number: a new array
x[idx, 0]          %y = Slice(%x) {at = [:, 0]}, %v = Gather(%y, %idx) {axes = (0,), first = 0}
x[idx] = e         %x_1 = Scatter(%x, %idx, %e): of indices that are equal, the last one counts

Indices must be in bounds, from -extent to extent - 1. The dimensions that they have together stand in the result where
the first of them stands, or at the front if a slice or None is between them: dimension `first`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.emit import Emitter, Operand, name_of
from polysched.frontend.op.extents import Shape, broadcast
from polysched.frontend.op.memory import Ref, filled, view
from polysched.frontend.op.numpy.making import as_array
from polysched.ir.dtypes import boolean, i64
from polysched.ir.graph.operations import Value
from polysched.ir.nodes import Const, Expr
from polysched.ir.text import show


def is_mask(subscript: object) -> bool:
    return isinstance(subscript, Ref) and subscript.dtype == boolean


def is_gather(subscript: object) -> bool:
    return (isinstance(subscript, Ref) and subscript.dtype.is_integer) or isinstance(subscript, tuple)


def viewed(array: Ref, subscripts: Sequence[Any], text: str) -> Ref:
    for one in subscripts:
        if not isinstance(one, int | slice | Expr | None) and one is not Ellipsis:
            what = f"an array of {one.dtype}" if isinstance(one, Ref) else f"{one!r}"
            raise InputError(f"{what} is no subscript", None, "subscripts are integers, slices, None and ...")
    step = view(array.memory.name or array.memory.value.name, array.shape, subscripts, text)
    return Ref(array.memory, array.dtype, step.shape, (*array.path, step))


def element(emit: Emitter, array: Ref, subscripts: Sequence[Any], text: str | None = None) -> Ref:
    """array[subscripts]: a view, unless it is one element (a view with '...'), or arrays choose the elements.

    x[()] is the array itself, or the number.
    """
    if not subscripts and array.rank:
        return array
    if any(map(is_mask, subscripts)):
        hint = "write np.where(mask, x, 0) and reduce that"
        raise InputError(f"how many elements a mask chooses of {name_of(array)} depends on data", None, hint)
    if any(map(is_gather, subscripts)):
        chosen = _chosen(emit, array, subscripts)
        values = [emit.value(chosen.base), *chosen.indices]
        result = emit.result("Gather", values, array.dtype, chosen.shape, axes=chosen.axes, first=chosen.first)
        return result.as_array() if Ellipsis in subscripts else result
    seen = viewed(array.as_array(), subscripts, _text(subscripts) if text is None else text)
    is_number = not seen.rank and Ellipsis not in subscripts
    return emit.copy(seen) if is_number else seen


def assign_to_elements(emit: Emitter, array: Ref, subscripts: Sequence[Any], new: Operand, *, op: str = "") -> None:
    """array[subscripts] = new; with `op`, one of + * min max, what np.add.at and the like do."""
    chosen = _chosen(emit, array, subscripts)
    value = emit.in_dtype(new, array.dtype)
    value = emit.broadcast_to(value, chosen.shape, f"the chosen elements of {name_of(array)}")
    operands = [emit.value(chosen.base), value, *chosen.indices]
    attributes = {"axes": chosen.axes, "first": chosen.first, "op": op}
    emit.assign(chosen.base, emit.changed(array.memory, "Scatter", operands, chosen.base.shape, **attributes))


def mask_of(array: Ref, subscripts: Sequence[Any], new: Operand) -> Ref:
    """The elements of the array that a mask chooses, for new ones: it is of the array's shape, or of its first axes."""
    mask = subscripts[0]
    if len(subscripts) != 1 or mask.shape != array.shape[: mask.rank]:
        message = f"a mask must have the shape of {name_of(array)}, or of its first dimensions"
        raise InputError(message, None, "and be the only subscript")
    rank = new.rank if isinstance(new, Ref) else 0
    if rank > array.rank - mask.rank:
        message = f"which elements of an array go where a mask chooses of {name_of(array)} depends on data"
        raise InputError(message, None, "write x[...] = np.where(mask, new, x)")
    return viewed(mask, [Ellipsis, *[None] * (array.rank - mask.rank)], "...")


@dataclass(frozen=True)
class _Chosen:
    """The elements of `base` that `indices`, of one shape, choose along `axes`; `shape` is what NumPy gives."""

    base: Ref
    indices: tuple[Value, ...]
    axes: tuple[int, ...]
    first: int
    shape: Shape


def _chosen(emit: Emitter, array: Ref, subscripts: Sequence[Any]) -> _Chosen:
    """Integers among the indices are taken by a view, as are slices and None; NumPy counts integers as indices."""
    missing = array.rank - sum(one is not None and one is not Ellipsis for one in subscripts)
    given: Iterable[Any] = filled(subscripts, missing) if Ellipsis in subscripts else subscripts
    given = [as_array(emit, one) if isinstance(one, tuple) else one for one in _from_the_start(given, array.shape)]
    plain = [slice(None) if isinstance(one, Ref) else one for one in given]
    base = viewed(array, plain, _text(plain))
    if all(one == slice(None) for one in plain):
        base = array
    places, axes, axis = [], [], 0
    for k, one in enumerate(given):
        if isinstance(one, Ref | int | Expr):
            places.append(k)
        if isinstance(one, Ref):
            axes.append(axis)
        axis += not isinstance(one, int | Expr)
    refs = [one for one in given if isinstance(one, Ref)]
    for one in refs:
        if not one.dtype.is_integer:
            raise InputError(f"an array of {one.dtype} is no subscript", None, "convert it, as in x.astype(ps.i64)")
    together = broadcast([(name_of(one), one.shape) for one in refs])
    is_one_run = places == list(range(places[0], places[-1] + 1))
    first = sum(isinstance(one, slice | None) for one in given[: places[0]]) if is_one_run else 0
    rest = tuple(extent for k, extent in enumerate(base.shape) if k not in axes)
    indices = tuple(emit.broadcast_to(emit.in_dtype(one, i64), together, "the indices") for one in refs)
    return _Chosen(base, indices, tuple(axes), first, (*rest[:first], *together, *rest[first:]))


def _from_the_start(given: Iterable[Any], shape: Shape) -> Iterator[Any]:
    """The subscripts, numbers in tuples counted from the start, where the extent is known."""
    extents = iter(shape)
    for one in given:
        extent = None if one is None else next(extents, None)
        if isinstance(one, tuple) and all(isinstance(k, bool) for k in one):
            yield tuple(k for k, is_chosen in enumerate(one) if is_chosen)
        elif isinstance(one, tuple) and isinstance(extent, Const):
            yield tuple(_in_bounds(k, int(extent.value)) if isinstance(k, int) else k for k in one)
        else:
            yield one


def _in_bounds(index: int, extent: int) -> int:
    if not -extent <= index < extent:
        hint = "write an index from 0 to one less than the extent"
        raise InputError(f"the index {index} is out of bounds of a dimension of extent {extent}", None, hint)
    return index % extent


def _text(subscripts: Sequence[Any]) -> str:
    return ", ".join(map(_part, subscripts)) or "()"


def _part(one: Any) -> str:
    match one:
        case slice(start=start, stop=stop, step=step):
            bounds = ["" if bound is None else _part(bound) for bound in (start, stop)]
            return ":".join(bounds) + ("" if step is None else f":{_part(step)}")
        case Expr():
            return show(one)
    return "..." if one is Ellipsis else str(one)
