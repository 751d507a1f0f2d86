"""How far the vector forms of functions are from the exact values: `python -m benchmarks.vector_math`.

In units in the last place of the result (ulp), over values all over the range of each function and beside the places
where it is small; the scalar forms of the C library beside them. Exact values are those of long double.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass

import numpy as np

import polysched as ps
from polysched.codegen.emit.c import emit_c
from polysched.codegen.emit.vector_math import FORMS
from polysched.codegen.memory.linearize import linearize
from polysched.ir.dtypes import DType, f32, f64
from polysched.ir.nodes import Array, Call, Const, For, Function, Load, Store, Var
from polysched.runtime.cpu import load
from polysched.runtime.toolchain import compile_shared

COUNT = 1 << 18
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1e-40, 1.0, -1.0, 88.8, -104.0, 710.0, -746.0)

_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("exp", "expm1", "sinh", "cosh", "exp2"), (-87.0, 87.0)),
    **dict.fromkeys(("sin", "cos", "tan"), (-10000.0, 10000.0)),
    **dict.fromkeys(("log", "log2", "log10", "pow", "acosh"), (1e-30, 1e3)),
    **dict.fromkeys(("acos", "asin", "atanh", "log1p"), (-0.9999, 0.9999)),
    **dict.fromkeys(("tanh", "erf", "erfc"), (-5.0, 5.0)),
}
_SMALLEST = {**dict.fromkeys(("log", "log2", "log10"), 0.5), "acosh": 1.0, "pow": 0.1}


@dataclass(frozen=True)
class Errors:
    """The most ulp that any of the results is off, and those of special values that are not as the scalar form's."""

    vector: float
    scalar: float
    special: tuple[float, ...]


def errors(name: str, dtype: DType) -> Errors:
    """Of the function of the library of that name, on values of the type."""
    values = _values(name, dtype)
    arguments = [values, np.roll(values, 1) / 1e2][: FORMS[name]]
    with np.errstate(all="ignore"):
        wanted = _exact(name, arguments)
        unit = np.abs(np.spacing(wanted.astype(dtype.numpy))).astype(np.longdouble)
        found = {}
        for is_vector in (True, False):
            results = applied(name, dtype, arguments, vector=is_vector).astype(np.longdouble)
            off = np.abs(results - wanted) / unit
            found[is_vector] = float(np.max(off[np.isfinite(wanted) & (np.abs(wanted) > 1e-37)]))
    special = np.tile(np.array(SPECIAL, dtype.numpy), 16)
    results = [applied(name, dtype, [special] * FORMS[name], vector=is_vector) for is_vector in (True, False)]
    same = np.isclose(*results, rtol=1e-5, atol=0, equal_nan=True)[: len(SPECIAL)]
    return Errors(found[True], found[False], tuple(special[: len(SPECIAL)][~same].tolist()))


def applied(name: str, dtype: DType, arguments: list[np.ndarray], *, vector: bool) -> np.ndarray:
    """The function of the elements of arrays, compiled as a kernel with fast_math or without."""
    n, i = Var("n"), Var("i")
    arrays = tuple(Array(f"a{k}", dtype, (n,)) for k in range(len(arguments)))
    call = Call(name, tuple(Load(array.name, (i,), dtype) for array in arrays), dtype)
    body = For("i", Const(0), n, 1, (Store("out", (i,), call),), "vector")
    fn = Function("f", ("n",), (*arrays, Array("out", dtype, (n,))), (body,))
    out = np.empty_like(arguments[0])
    program = load(emit_c(linearize(fn), vector_math=vector), fn, fast_math=vector)
    program(**{f"a{k}": values for k, values in enumerate(arguments)}, out=out)
    return out


def _exact(name: str, arguments: list[np.ndarray]) -> np.ndarray:
    """By the C library, in 64 bits, of which the last is that of f64 only every 2048 times."""
    given = [each.astype(np.longdouble) for each in arguments]
    names = [f"a{k}" for k in range(len(given))]
    parameters = "".join(f", const long double *{each}" for each in names)
    call = f"{name}l({', '.join(f'{each}[i]' for each in names)})"
    text = (
        f"#include <math.h>\nvoid f(long double *out, long n{parameters})\n"
        f"{{\n    for (long i = 0; i < n; i++) out[i] = {call};\n}}\n"
    )
    out = np.empty_like(given[0])
    program = ctypes.CDLL(str(compile_shared(text, "f"))).f
    program(ctypes.c_void_p(out.ctypes.data), ctypes.c_long(len(out)), *(ctypes.c_void_p(x.ctypes.data) for x in given))
    return out


def _values(name: str, dtype: DType) -> np.ndarray:
    """Evenly and logarithmically spread over the range, and small ones of both signs where that is in it."""
    rng = np.random.default_rng(0)
    low, high = _RANGES.get(name, (-100.0, 100.0))
    even = rng.uniform(low, high, COUNT)
    small = np.exp(rng.uniform(np.log(1e-8), np.log(high), COUNT)) * (rng.choice((-1, 1), COUNT) if low < 0 else 1)
    near = rng.uniform(0.5, 2.0, COUNT)
    values = np.concatenate([even, small, near])
    return np.clip(values, max(low, _SMALLEST.get(name, low) if name == "acosh" else low), high).astype(dtype.numpy)


def main() -> None:
    print(f"polysched {ps.__version__}; most ulp off: vector form / scalar form; special values that differ")
    for name in FORMS:
        for dtype in (f32, f64):
            found = errors(name, dtype)
            called = name if dtype == f64 else f"{name}f"
            print(f"{called:8} {found.vector:6.2f} {found.scalar:6.2f}  {found.special or ''}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
