"""Which factors are surely finite, so that zero times them is zero.

    for i in 0..3: g[i] = i == 0 ? 1.0 : 0.5          g[k] is: all that is stored there are such constants
    f32(i % 4)                                        is: an integer
    a[k], a parameter                                 is not: it may hold an infinity

Elements of `g` that are read before they are stored have no value at all.
"""

from __future__ import annotations

import math

from polysched.ir.node import statements
from polysched.ir.nodes import Alloc, Cast, Const, Expr, Function, Load, Select, Store

_GREATEST = {16: 65504.0, 32: 3.4028234e38, 64: 1.7976931348623157e308}  # by the bits of a float


def finite_tables(fn: Function) -> frozenset[str]:
    """The arrays of its own that hold nothing but constants that are finite."""
    stored: dict[str, list[Expr]] = {}
    for stmt in statements(fn.body):
        match stmt:
            case Alloc(array):
                stored.setdefault(array.name, [])
            case Store(array, value=value) if array in stored:
                stored[array].append(value)
    return frozenset(name for name, values in stored.items() if values and all(map(is_finite, values)))


def is_finite(expr: Expr, tables: frozenset[str] = frozenset()) -> bool:
    """Is it neither infinite nor NaN?"""
    return (isinstance(expr, Load) and expr.array in tables) or _magnitude(expr) < math.inf


def _magnitude(expr: Expr) -> float:
    """What its magnitude is at most; infinity if nothing tells."""
    match expr:
        case Const(value=value):
            most = abs(float(value)) if math.isfinite(value) else math.inf
        case Select(_, then, other):
            most = max(_magnitude(then), _magnitude(other))
        case Cast(arg):
            most = _magnitude(arg)
        case _ if not expr.dtype.is_float:
            most = 2.0**expr.dtype.bits
        case _:
            most = math.inf
    return most if not expr.dtype.is_float or most <= _GREATEST[expr.dtype.bits] else math.inf
