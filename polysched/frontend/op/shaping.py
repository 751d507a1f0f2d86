"""Functions of NumPy that give views: other orders and shapes of the same elements.

transpose(emit, a, 1, 0)     %v = Transpose(%a) {axes = (1, 0)}, where it is read
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.emit import Emitter, name_of
from polysched.frontend.op.extents import Shape, fits_into, normal, product, quotient, shown
from polysched.frontend.op.memory import Permuted, Ref, Reshaped, Spread, Step
from polysched.frontend.op.passed import axes_of, axis_of, shape_given
from polysched.frontend.op.views import At, Every, New, View
from polysched.ir.build import sub
from polysched.ir.nodes import Const
from polysched.ir.text import show


def transpose(emit: Emitter, a: Ref, *axes: Any) -> Ref:
    given = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple) else axes
    order = tuple(axis_of(axis, a.rank) for axis in given) if given else tuple(range(a.rank))[::-1]
    if sorted(order) != list(range(a.rank)):
        raise InputError(f"{order} is no order of the {a.rank} axes of {name_of(a)}", None, "name each axis once")
    return seen(a, Permuted(order), tuple(a.shape[k] for k in order))


def swapaxes(emit: Emitter, a: Ref, axis1: int, axis2: int) -> Ref:
    order = list(range(a.rank))
    one, two = axis_of(axis1, a.rank), axis_of(axis2, a.rank)
    order[one], order[two] = two, one
    return transpose(emit, a, *order)


def moveaxis(emit: Emitter, a: Ref, source: int, destination: int) -> Ref:
    order = [k for k in range(a.rank) if k != axis_of(source, a.rank)]
    order.insert(axis_of(destination, a.rank), axis_of(source, a.rank))
    return transpose(emit, a, *order)


def reshape(emit: Emitter, a: Ref, *shape: Any) -> Ref:
    """A view of whole memory; of a view of a part, which NumPy may copy, an array that nothing may change."""
    wanted = shape_given(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape)
    total = product(a.shape)
    if Const(-1) in wanted:
        rest = quotient(total, product([extent for extent in wanted if extent != Const(-1)]))
        if rest is None:
            raise InputError(*_not_reshaped(a, wanted))
        wanted = tuple(rest if extent == Const(-1) else extent for extent in wanted)
    if product(wanted) != total:
        raise InputError(*_not_reshaped(a, wanted))
    if wanted == a.shape:
        return a
    if all(isinstance(step, Reshaped) for step in a.path):
        return seen(a, Reshaped(wanted), wanted)
    result = emit.result("Reshape", [emit.value(a)], a.dtype, wanted)
    result.memory.origin, result.memory.taken = a.memory, a.memory.value
    return result


def ravel(emit: Emitter, a: Ref) -> Ref:
    return reshape(emit, a, -1)


def flatten(emit: Emitter, a: Ref) -> Ref:
    return emit.copy(reshape(emit, a, -1))


def expand_dims(emit: Emitter, a: Ref, axis: int) -> Ref:
    return with_ones(a, (axis_of(axis, a.rank + 1),))


def squeeze(emit: Emitter, a: Ref, axis: int | tuple[int, ...] | None = None) -> Ref:
    gone = [k for k in range(a.rank) if a.shape[k] == Const(1)] if axis is None else axes_of(axis, a.rank)
    for k in gone:
        if a.shape[k] != Const(1):
            raise InputError(f"axis {k} of {name_of(a)} has the extent {show(a.shape[k])}, not 1", None)
    parts = tuple(At(Const(0)) if k in gone else Every(Const(0), 1, extent) for k, extent in enumerate(a.shape))
    step = View(parts, ", ".join("0" if k in gone else ":" for k in range(a.rank)))
    return seen(a, step, step.shape)


def flip(emit: Emitter, a: Ref, axis: int | tuple[int, ...] | None = None) -> Ref:
    turned = axes_of(axis, a.rank)
    parts = tuple(
        Every(normal(sub(extent, 1)), -1, extent) if k in turned else Every(Const(0), 1, extent)
        for k, extent in enumerate(a.shape)
    )
    step = View(parts, ", ".join("::-1" if k in turned else ":" for k in range(a.rank)))
    return seen(a, step, step.shape)


def broadcast_to(emit: Emitter, array: Ref, shape: Any) -> Ref:
    wanted = shape_given(shape)
    if not fits_into(array.shape, wanted):
        message = f"{name_of(array)} of shape {shown(array.shape)} cannot be broadcast to {shown(wanted)}"
        raise InputError(message, None, "each extent must be 1 or the same")
    return seen(array, Spread(wanted), wanted)


def seen(a: Ref, step: Step, shape: Shape) -> Ref:
    return Ref(a.memory, a.dtype, shape, (*a.path, step))


def _not_reshaped(a: Ref, wanted: Shape) -> tuple[str, None, str]:
    message = f"{name_of(a)} of shape {shown(a.shape)} cannot be reshaped to {shown(wanted)}"
    return message, None, "both must have the same number of elements for all sizes"


def with_ones(a: Ref, axes: Sequence[int]) -> Ref:
    """A view with axes of extent 1 more, which are these of its own."""
    old = iter(a.shape)
    rank = a.rank + len(axes)
    parts = tuple(New() if k in axes else Every(Const(0), 1, next(old)) for k in range(rank))
    step = View(parts, ", ".join("None" if k in axes else ":" for k in range(rank)))
    return seen(a, step, step.shape)
