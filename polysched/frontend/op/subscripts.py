"""Subscripts of arrays: views, single elements, and elements that other arrays choose.

x[1:, None]        a view
x[2]               of one dimension: the number, a copy
x[idx]             %v = Gather(%x, %idx) {axes = (0,)}; the indices must be in bounds, from -extent to extent - 1
x[idx] = e         %x_1 = Scatter(%x, %idx, %e): of indices that are equal, the last one counts
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.emit import Emitter, Operand, name_of
from polysched.frontend.op.extents import Shape, broadcast
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.views import view
from polysched.ir.dtypes import boolean, i64
from polysched.ir.graph import TensorType, Value


def is_mask(subscript: object) -> bool:
    return isinstance(subscript, Ref) and subscript.dtype == boolean


def is_gather(subscript: object) -> bool:
    return isinstance(subscript, Ref) and subscript.dtype.is_integer


def viewed(array: Ref, subscripts: Sequence[Any], text: str) -> Ref:
    """The array through the subscripts."""
    for one in subscripts:
        if isinstance(one, Ref | float):
            what = f"an array of {one.dtype}" if isinstance(one, Ref) else f"the number {one}"
            raise InputError(f"{what} is no subscript", None, "subscripts are integers, slices, None and ...")
    step = view(array.memory.name or array.memory.value.name, array.shape, subscripts, text)
    return Ref(array.memory, array.dtype, step.shape, (*array.path, step))


def element(emit: Emitter, array: Ref, subscripts: Sequence[Any], text: str = "") -> Ref:
    """array[subscripts]: a view, unless it is one element (a view with '...'), or arrays choose the elements."""
    if any(map(is_mask, subscripts)):
        hint = "write np.where(mask, x, 0) and reduce that"
        raise InputError(f"how many elements a mask chooses of {name_of(array)} depends on data", None, hint)
    if any(map(is_gather, subscripts)):
        indices, axes, chosen, shape = _gathered(emit, array, subscripts)
        return emit.result("Gather", [chosen, *indices], array.dtype, shape, axes=axes)
    seen = viewed(array, subscripts, text)
    is_number = array.rank > 0 and not seen.rank and Ellipsis not in subscripts
    return emit.copy(seen) if is_number else seen


def assign_to_elements(emit: Emitter, array: Ref, subscripts: Sequence[Any], new: Operand, *, add: bool) -> None:
    """array[subscripts] = new, or with `add` what np.add.at does."""
    indices, axes, old, shape = _gathered(emit, array, subscripts)
    if old.type.shape != array.shape:
        raise InputError(
            "an array cannot be among integers and None on the left", None, "take the view first: y = x[0]"
        )
    value = emit.broadcast_to(emit.in_dtype(new, array.dtype), shape, f"the chosen elements of {name_of(array)}")
    name = emit.fresh_name(array.memory.name) if array.memory.name else None
    types = [TensorType(array.dtype, array.shape)]
    (result,) = emit.builder.add(
        "ScatterAdd" if add else "Scatter",
        old,
        value,
        *indices,
        types=types,
        names=[name] if name else [],
        loc=emit.loc,
        axes=axes,
    )
    emit.assign(array, result)


def _gathered(
    emit: Emitter, array: Ref, subscripts: Sequence[Any]
) -> tuple[list[Value], tuple[int, ...], Value, Shape]:
    """Indices, the axes they are for, the array whose other axes are sliced, and the shape that NumPy gives."""
    given = [one for one in subscripts if one is not Ellipsis]
    if len(given) < len(subscripts):
        at = next(k for k, one in enumerate(subscripts) if one is Ellipsis)
        missing = array.rank - sum(one is not None for one in given)
        given[at:at] = [slice(None)] * missing
    if None in [one for one in given if one is None or isinstance(one, Ref)]:
        raise InputError("None beside an array in a subscript is not supported", None, "write x[idx][:, None]")
    plain = [slice(None) if isinstance(one, Ref) else one for one in given]
    if any(isinstance(one, int) for one in plain):
        raise InputError("an integer beside an array in a subscript is not supported", None, "write x[0][idx]")
    if len(given) > array.rank:
        viewed(array, plain, "")
    text = ", ".join(":" for _ in plain)
    whole = all(one == slice(None) for one in plain)
    base = array if whole else viewed(array, plain, text)
    refs = {axis: one for axis, one in enumerate(given) if isinstance(one, Ref)}
    chosen = broadcast([(name_of(one), one.shape) for one in refs.values()])
    axes = tuple(refs)
    rest = tuple(extent for axis, extent in enumerate(base.shape) if axis not in axes)
    together = axes == tuple(range(axes[0], axes[0] + len(axes)))
    first = axes[0] if together else 0
    shape = (*rest[:first], *chosen, *rest[first:])
    indices = [emit.broadcast_to(emit.in_dtype(one, i64), chosen, "the indices") for one in refs.values()]
    return indices, axes, emit.value(base), shape
