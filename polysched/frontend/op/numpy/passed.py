"""What users pass to functions on arrays: extents, shapes, axes, dtypes.

axes_of((0, -1), 3)     ->     (0, 2)
dtype_of("float32")     ->     f32
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polysched.errors import InputError
from polysched.frontend.arithmetic import counted
from polysched.frontend.op.extents import Shape, normal, number
from polysched.frontend.python_functions import CASTS
from polysched.ir.dtypes import ALL, DType, boolean, f16, f32, f64, i64
from polysched.ir.nodes import Const, Expr

DTYPES: dict[str, DType] = {**CASTS, "half": f16, "single": f32, "double": f64, "int_": i64, "intp": i64}


def extent_of(given: Any) -> Expr:
    match given:
        case Expr():
            return normal(given)
        case int():
            return Const(int(given))
    raise InputError("an extent must be a number or a size", None, "extents cannot depend on data")


def shape_given(given: Any, least: int = 0) -> Shape:
    shape = tuple(map(extent_of, given if isinstance(given, tuple) else (given,)))
    for extent in shape:
        if (number(extent) or 0) < least:
            raise InputError(f"the extent {number(extent)} is negative", None, "write one of zero or more")
    return shape


def axis_of(axis: Any, rank: int) -> int:
    if not isinstance(axis, int):
        raise InputError("an axis must be a number", None, "write it as one, as in axis=0")
    if not -rank <= axis < rank:
        message = f"there is no axis {axis} of an array of {counted(rank, 'dimension')}"
        raise InputError(message, None, "axes count from 0, or from -1")
    return axis % rank


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """The axes in order; all of them for None."""
    return tuple(range(rank)) if axis is None else tuple(sorted(axes_in_order(axis, rank)))


def axes_in_order(axis: Any, rank: int) -> tuple[int, ...]:
    """The axes as they are given."""
    axes = tuple(axis_of(one, rank) for one in (axis if isinstance(axis, tuple) else (axis,)))
    if len(set(axes)) < len(axes):
        raise InputError(f"the axes {axis} name one twice", None, "name each axis once")
    return axes


def dtype_of(given: Any) -> DType:
    """A dtype of ours, or Python's or NumPy's name of one."""
    match given:
        case DType():
            return given
        case str() if given in DTYPES:
            return DTYPES[given]
        case type() if given in _OF_PYTHON:
            return _OF_PYTHON[given]
        case type() if issubclass(given, np.generic) and given.__name__ in DTYPES:
            return DTYPES[given.__name__]
    shown = f"'{given}'" if isinstance(given, str) else getattr(given, "__name__", "this")
    raise InputError(f"{shown} is no dtype", None, f"dtypes are {', '.join(sorted(ALL))}, as in ps.f32 or np.float32")


def plain(extent: Expr) -> int | Expr:
    """The extent, as a number where it is one."""
    value = number(extent)
    return extent if value is None else value


def without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])


_OF_PYTHON: dict[type, DType] = {bool: boolean, int: i64, float: f64}
