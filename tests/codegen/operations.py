"""Functions that apply every operator of a dtype to its awkward values: how a printer is held to the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np

from polysched.ir.build import const, load, var
from polysched.ir.dtypes import DType, boolean, f64
from polysched.ir.nodes import COMPARISONS, Array, Binary, Call, Cast, Expr, Function, Load, Select, Store, Unary
from tests.nests import loop, nest

EXACT_CALLS = ("sqrt", "fabs", "floor", "ceil", "trunc", "rint")  # IEEE 754 leaves no choice


def every_operation(dtype: DType) -> Function:
    """out[k, i] = op_k(x[i], y[i]), same for comparisons, casts to `flags` and `doubles`; y[i] divides any x[i]."""
    i, count = var("i"), var("n")
    x, y = (load(Array(name, dtype, (count,)), i) for name in "xy")
    values = list(_integer_operations(x, y) if dtype.is_integer else _float_operations(x, y))
    flags = [Binary(op, x, y) for op in sorted(COMPARISONS)]
    flags.append(Unary("!", Binary("||", flags[0], Binary("&&", flags[1], flags[2]))))
    arrays = [
        *(Array(name, dtype, (count,)) for name in "xy"),
        Array("out", dtype, (const(len(values)), count)),
        Array("flags", boolean, (const(len(flags)), count)),
        Array("doubles", f64, (count,)),
    ]
    stores = [Store("out", (const(k), i), value) for k, value in enumerate(values)]
    stores += [Store("flags", (const(k), i), value) for k, value in enumerate(flags)]
    stores.append(Store("doubles", (i,), Cast(x, f64)))
    return nest(f"every_{dtype}", "n", arrays, loop("i", 0, count, *stores))


def _integer_operations(x: Load, y: Load) -> list[Expr]:
    dtype = x.dtype
    shift = Binary("&", y, const(dtype.bits - 1, dtype))
    ops = ("+", "-", "*", "min", "max", "&", "|", "^", "floordiv", "floormod", "truncdiv", "truncmod")
    three, eight = const(3, dtype), const(8, dtype)
    return [
        *(Binary(op, x, y) for op in ops),
        *(Binary(op, x, divisor) for op in ops[-4:] for divisor in (three, eight)),
        Binary("<<", x, shift),
        Binary(">>", x, shift),
        Binary("truncdiv", Binary("+", x, y), three),  # a narrow sum must wrap before it is divided
        Binary("+", Unary("-", x), Unary("~", y)),
        Select(Binary("<", x, y), Binary("*", Binary("-", x, y), y), Binary("-", x, Binary("-", y, x))),
    ]


def _float_operations(x: Load, y: Load) -> list[Expr]:
    return [
        *(Binary(op, x, y) for op in ("+", "-", "*", "/", "min", "max")),
        Binary("+", Binary("*", x, y), x),  # two roundings, not one
        Binary("-", Unary("-", x), Binary("-", y, const(0.1, x.dtype))),
        *(Call(fn, (x,), x.dtype) for fn in EXACT_CALLS),
    ]


def awkward_values(dtype: DType) -> dict[str, Any]:
    """Arguments for `every_operation`: all pairs of values at the edges, no divisor zero."""
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        edges = {info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 7, 8, 100}
        edges |= {-1, -2, -8} if dtype.kind == "i" else set()
        xs, ys = sorted(edges), sorted(edges - {0})
    else:
        largest, tiny = (float(getattr(np.finfo(dtype.numpy), name)) for name in ("max", "smallest_subnormal"))
        xs = ys = [0.0, -0.0, 1.0, -1.5, 0.1, 3.3, largest, -largest, tiny, np.inf, -np.inf, np.nan]
    columns = (np.array(values, dtype.numpy) for values in (xs, ys))
    x, y = (np.ascontiguousarray(grid.ravel()) for grid in np.meshgrid(*columns, indexing="ij"))
    fn = every_operation(dtype)
    rows = {array.name: int(array.shape[0].value) for array in fn.arrays if len(array.shape) == 2}
    return {
        "n": x.size,
        "x": x,
        "y": y,
        "out": np.zeros((rows["out"], x.size), dtype.numpy),
        "flags": np.zeros((rows["flags"], x.size), bool),
        "doubles": np.zeros(x.size),
    }
