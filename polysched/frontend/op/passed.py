"""What users pass to functions on arrays: extents, shapes, axes.

axes_of((0, -1), 3)     ->     (0, 2)
"""

from __future__ import annotations

from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.extents import Shape, normal, number
from polysched.ir.nodes import Const, Expr


def extent_of(given: Any) -> Expr:
    match given:
        case Expr():
            return normal(given)
        case int():
            return Const(int(given))
    raise InputError("an extent must be a number or a size", None, "extents cannot depend on data")


def shape_given(given: Any) -> Shape:
    return tuple(map(extent_of, given if isinstance(given, tuple) else (given,)))


def axis_of(axis: Any, rank: int) -> int:
    if not isinstance(axis, int):
        raise InputError("an axis must be a number", None, "write it as one, as in axis=0")
    if not -rank <= axis < rank:
        raise InputError(f"there is no axis {axis} of an array of {rank} dimensions", None)
    return axis % rank


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    axes = tuple(axis_of(one, rank) for one in (axis if isinstance(axis, tuple) else (axis,)))
    if len(set(axes)) < len(axes):
        raise InputError(f"the axes {axis} name one twice", None)
    return tuple(sorted(axes))


def plain(extent: Expr) -> int | Expr:
    """The extent, as a number where it is one."""
    value = number(extent)
    return extent if value is None else value


def without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])
