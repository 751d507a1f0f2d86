"""Functions of NumPy that give views: other orders and shapes of the same elements.

transpose(emit, a, 1, 0)     %v = Transpose(%a) {axes = (1, 0)}, where it is read
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.emit import Emitter, name_of
from polysched.frontend.op.extents import Shape, fits_into, is_at_least, normal, product, quotient, shown
from polysched.frontend.op.memory import At, Every, New, Permuted, Ref, Reshaped, Spread, Step, Sums, View
from polysched.frontend.op.numpy.passed import axes_in_order, axes_of, axis_of, shape_given
from polysched.ir.build import add, sub
from polysched.ir.nodes import Binary, Const
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


def moveaxis(emit: Emitter, a: Ref, source: Any, destination: Any) -> Ref:
    old, new = axes_in_order(source, a.rank), axes_in_order(destination, a.rank)
    if len(old) != len(new):
        raise InputError(f"{len(old)} axes are moved to {len(new)} places", None, "name a place for each axis")
    order = [k for k in range(a.rank) if k not in old]
    for place, axis in sorted(zip(new, old, strict=True)):
        order.insert(place, axis)
    return transpose(emit, a, *order)


def reshape(emit: Emitter, a: Ref, *shape: Any) -> Ref:
    """A view of whole memory or one element; of other parts, which NumPy may copy, an array that nothing may change."""
    wanted = shape_given(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape, least=-1)
    total = product(a.shape)
    if Const(-1) in wanted:
        rest = quotient(total, product([extent for extent in wanted if extent != Const(-1)]))
        if rest is None:
            raise _not_reshaped(a, wanted)
        wanted = tuple(rest if extent == Const(-1) else extent for extent in wanted)
    if product(wanted) != total:
        raise _not_reshaped(a, wanted)
    if wanted == a.shape:
        return a
    if total == Const(1) or all(isinstance(step, Reshaped) for step in a.path):
        return seen(a, Reshaped(wanted), wanted)
    result = emit.array(emit.add("Reshape", [emit.value(a)], a.dtype, wanted))
    result.memory.origin, result.memory.taken = a.memory, a.memory.value
    return result


def ravel(emit: Emitter, a: Ref) -> Ref:
    return reshape(emit, a, -1)


def flatten(emit: Emitter, a: Ref) -> Ref:
    return emit.copy(reshape(emit, a, -1))


def expand_dims(emit: Emitter, a: Ref, axis: Any) -> Ref:
    added = len(axis) if isinstance(axis, tuple) else 1
    return with_ones(a.as_array(), axes_in_order(axis, a.rank + added))


def squeeze(emit: Emitter, a: Ref, axis: int | tuple[int, ...] | None = None) -> Ref:
    gone = [k for k in range(a.rank) if a.shape[k] == Const(1)] if axis is None else axes_of(axis, a.rank)
    for k in gone:
        if a.shape[k] != Const(1):
            message = f"axis {k} of {name_of(a)} has the extent {show(a.shape[k])}, not 1"
            raise InputError(message, None, "leave it out, or index it")
    parts = tuple(At(Const(0)) if k in gone else Every(Const(0), 1, extent) for k, extent in enumerate(a.shape))
    step = View(parts, ", ".join("0" if k in gone else ":" for k in range(a.rank)))
    return seen(a, step, step.shape)


def flip(emit: Emitter, a: Ref, axis: int | tuple[int, ...] | None = None) -> Ref:
    if not a.rank:
        return emit.copy(a)
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


def sliding_window_view(emit: Emitter, x: Ref, window_shape: Any, axis: Any = None) -> Ref:
    """Windows of neighbors, in new axes: element [i, k] of windows over a vector is x[i + k]."""
    windows = shape_given(window_shape)
    axes = tuple(range(x.rank)) if axis is None else axes_in_order(axis, x.rank)
    if len(windows) != len(axes):
        message = f"windows of {len(windows)} dimensions slide along {len(axes)} axes of {name_of(x)}"
        raise InputError(message, None, "give one extent for each axis")
    places = list(x.shape)
    for k, window in zip(axes, windows, strict=True):
        count = normal(add(sub(places[k], window), 1))
        if is_at_least(Const(-1), count):
            extent = show(x.shape[k])
            message = f"a window of {show(window)} does not fit into axis {k} of {name_of(x)}, of extent {extent}"
            raise InputError(message, None, "make the window smaller, or pad the array")
        places[k] = normal(Binary("max", Const(0), count))
    shape = (*places, *windows)
    moved = {k: [x.rank + place for place, axis in enumerate(axes) if axis == k] for k in range(x.rank)}
    return seen(x, Sums(tuple((Const(0), (k, *moved[k])) for k in range(x.rank)), shape), shape)


def diagonal(emit: Emitter, a: Ref, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Ref:
    if a.rank < 2:
        raise InputError(f"{name_of(a)} has {a.rank} dimensions, and no diagonal", None, "pass a matrix")
    down, right = axes_in_order((axis1, axis2), a.rank)
    starts = {down: Const(max(-offset, 0)), right: Const(max(offset, 0))}
    lengths = [sub(a.shape[axis], start) for axis, start in starts.items()]
    rest = [k for k in range(a.rank) if k not in starts]
    shape = (*(a.shape[k] for k in rest), normal(Binary("max", Const(0), Binary("min", *lengths))))
    sources = tuple((starts[k], (len(rest),)) if k in starts else (Const(0), (rest.index(k),)) for k in range(a.rank))
    return seen(a, Sums(sources, shape), shape)


def seen(a: Ref, step: Step, shape: Shape) -> Ref:
    """A view; a number stays one, as in s.T, where it gets no dimensions."""
    return a if a.memory.is_number and not shape else a.seen(step, shape)


def _not_reshaped(a: Ref, wanted: Shape) -> InputError:
    message = f"{name_of(a)} of shape {shown(a.shape)} cannot be reshaped to {shown(wanted)}"
    return InputError(message, None, "both must have the same number of elements for all sizes")


def with_ones(a: Ref, axes: Sequence[int]) -> Ref:
    """A view with axes of extent 1 more, which are these of its own."""
    old = iter(a.shape)
    rank = a.rank + len(axes)
    parts = tuple(New() if k in axes else Every(Const(0), 1, next(old)) for k in range(rank))
    step = View(parts, ", ".join("None" if k in axes else ":" for k in range(rank)))
    return seen(a, step, step.shape)
