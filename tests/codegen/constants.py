"""Functions made of constants at the edges of every dtype: how folding and printing are held to the interpreter."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from polysched.ir.build import const
from polysched.ir.dtypes import ALL, DType
from polysched.ir.interp import evaluate
from polysched.ir.nodes import ARITHMETIC, COMPARISONS, Array, Binary, Cast, Const, Expr, Function, Load, Store, Unary
from polysched.ir.verify import _BINARY, _UNARY
from tests.nests import nest

_FLOATS = {
    64: (0.1, 5e-324, 1e-46, 1.7976931348623157e308, 2.0**53, 9007199254740993.0),
    32: (0.1, 2.0**-149, 3.4028234663852886e38, 16777216.0),
    16: (0.1, 2.0**-24, 65504.0, 2048.0),
}


def edges(dtype: DType) -> list[Const]:
    """Values of the dtype that are easily got wrong."""
    match dtype.kind:
        case "b":
            return [Const(False, dtype), Const(True, dtype)]
        case "f":
            return [Const(value, dtype) for value in (0.0, -0.0, 1.0, -7.5, *_FLOATS[dtype.bits])]
    least, most = (int(getattr(np.iinfo(dtype.numpy), name)) for name in ("min", "max"))
    inexact = {1 << digits | 1 for digits in (11, 24, 53)}  # as f16, f32, f64
    found = {least, least + 1, -1, 0, 1, 3, dtype.bits - 1, most - 1, most, *inexact}
    return [Const(value, dtype) for value in sorted(found) if least <= value <= most]


def operations(dtype: DType) -> Iterator[Expr]:
    """Everything that is done to one or two constants of the dtype, and is defined."""
    values = edges(dtype)
    found: list[Expr] = [Unary(op, value) for op in _UNARY for value in values if dtype.kind in _UNARY[op]]
    for op in (*sorted(COMPARISONS), *sorted(ARITHMETIC)):
        if dtype.kind in _BINARY[op]:
            found += [Binary(op, left, right) for left, right in itertools.product(values, values)]
    return filter(_is_defined, found)


def casts(dtype: DType) -> Iterator[Expr]:
    """Casts of constants of the dtype, and casts of those."""
    once = [Cast(value, target) for value in edges(dtype) for target in ALL.values()]
    return filter(_is_defined, [*once, *(Cast(cast, target) for cast in once for target in ALL.values())])


def _is_defined(expr: Expr) -> bool:
    try:
        evaluate(expr, {})
    except (ZeroDivisionError, ValueError, OverflowError):
        return False
    return True


def stored(name: str, exprs: Iterator[Expr]) -> tuple[Function, dict[str, Any]]:
    """A function that stores each of the expressions, as it is and with its first constant loaded, and arguments."""
    loaded: dict[DType, list[Const]] = {}
    counts: Counter[DType] = Counter()
    stores: list[Store] = []
    for expr in exprs:
        for value in (expr, _with_load(expr, loaded)):
            stores.append(Store(f"out_{value.dtype}", (const(counts[value.dtype]),), value))
            counts[value.dtype] += 1
    inputs = [Array(f"in_{dtype}", dtype, (const(len(values)),)) for dtype, values in loaded.items()]
    outputs = [Array(f"out_{dtype}", dtype, (const(count),)) for dtype, count in counts.items()]
    given = {f"in_{t}": np.array([value.value for value in values], t.numpy) for t, values in loaded.items()}
    given |= {array.name: np.zeros(counts[array.dtype], array.dtype.numpy) for array in outputs}
    return nest(name, "", [*inputs, *outputs], *stores), given


def _with_load(expr: Expr, loaded: dict[DType, list[Const]]) -> Expr:
    match expr:
        case Const(_, dtype):
            values = loaded.setdefault(dtype, [])
            values.append(expr)
            return Load(f"in_{dtype}", (const(len(values) - 1),), dtype)
        case Unary(op, arg):
            return Unary(op, _with_load(arg, loaded))
        case Binary(op, left, right):
            return Binary(op, _with_load(left, loaded), right)
        case Cast(arg, dtype):
            return Cast(_with_load(arg, loaded), dtype)
    raise TypeError(f"unknown expression {type(expr).__name__}")
