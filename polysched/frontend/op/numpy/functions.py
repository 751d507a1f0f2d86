"""NumPy's functions and methods on whole arrays, by their names, and the hints for those that cannot be had.

    FUNCTIONS["concatenate"](emit, (a, b), axis=1)      %v = Concatenate(%a, %b) {axis = 1}

Each takes what NumPy's function takes, as far as it is supported; more of them are written in Python, in `library/`.
"""

from __future__ import annotations

from collections.abc import Callable

from polysched.errors import InputError
from polysched.frontend.op.emit import Emitter, Operand
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.numpy import making, products, reducing, shaping
from polysched.frontend.op.numpy.operators import cast
from polysched.frontend.op.numpy.operators import where as chosen
from polysched.frontend.op.numpy.reducing import found, reduced, running
from polysched.ir.dtypes import DType

Function = Callable[..., Ref]


def astype(emit: Emitter, a: Ref, dtype: DType, copy: bool = True) -> Ref:
    result = cast(emit, a, dtype)
    result = emit.copy(result) if copy else result
    return result if a.memory.is_number else result.as_array()


def where(emit: Emitter, condition: Operand, then: Operand | None = None, other: Operand | None = None) -> Ref:
    if then is None or other is None:
        raise InputError("where a condition holds depends on data, and how often", None, "write np.where(cond, x, y)")
    return chosen(emit, condition, then, other).as_array()


def copy(emit: Emitter, a: Ref) -> Ref:
    return emit.copy(a).as_array()


_IN_MODULES = {
    making: """full zeros ones empty full_like zeros_like ones_like empty_like arange
        array asarray concatenate stack pad""",
    shaping: """transpose swapaxes moveaxis reshape ravel flatten expand_dims squeeze flip broadcast_to
        sliding_window_view diagonal""",
    reducing: "mean var std",
    products: "matmul dot inner vdot vecdot outer tensordot einsum",
}
FUNCTIONS: dict[str, Function] = {
    **{name: getattr(module, name) for module, names in _IN_MODULES.items() for name in names.split()},
    **{name: reduced(name.capitalize()) for name in ("sum", "prod", "max", "min", "any", "all")},
    "amax": reduced("Max"),
    "amin": reduced("Min"),
    "nanmax": reduced("NanMax"),
    "nanmin": reduced("NanMin"),
    "argmax": found("ArgMax"),
    "argmin": found("ArgMin"),
    "cumsum": running("CumSum"),
    "cumprod": running("CumProd"),
    "copy": copy,
    "astype": astype,
    "where": where,
    "select": where,
    "ascontiguousarray": making.asarray,
    "asanyarray": making.asarray,
    "concat": making.concatenate,
    "permute_dims": shaping.transpose,
    "permute": shaping.transpose,
}

# Methods of ufuncs, as in np.maximum.reduce(x, axis=1).
_REDUCED = {
    "add": "Sum",
    "multiply": "Prod",
    "maximum": "Max",
    "minimum": "Min",
    "fmax": "NanMax",
    "fmin": "NanMin",
    "logical_or": "Any",
    "logical_and": "All",
}
_ACCUMULATED = ("add", "multiply", "maximum", "minimum")
OF_UFUNCS: dict[tuple[str, str], Function] = {
    **{(name, "reduce"): reduced(kind) for name, kind in _REDUCED.items()},
    **{(name, "accumulate"): running(f"Cum{_REDUCED[name]}") for name in _ACCUMULATED},
}

_METHODS = """transpose swapaxes reshape ravel squeeze mean var std cumsum cumprod dot clip sum prod max min any all
    argmax argmin copy astype flatten repeat take diagonal trace round fill"""
METHODS = frozenset(_METHODS.split())
_ARRAYS = "a b m v x y x1 x2 arr ary array A"
ARRAYS = frozenset(_ARRAYS.split())  # parameters of the library's functions that are arrays
IN_PLACE = frozenset({"fill", "fill_diagonal", "copyto"})  # functions of the library that change an array
HINTS: dict[str, str] = {
    "sort": "write ranks, as in (x[None, :] < x[:, None]).sum(axis=1), or sort before the call",
    "argsort": "write ranks, as in (x[None, :] < x[:, None]).sum(axis=1), or sort before the call",
    "searchsorted": "write (a < v[:, None]).sum(axis=1)",
    "digitize": "write (x[:, None] >= bins).sum(axis=1)",
    "median": "sort before the call, and take the middle",
    "unique": "how many there are depends on data: call it before",
    "nonzero": "how many there are depends on data: write np.where(cond, x, y)",
    "bincount": "make the result, n = np.zeros(k, np.int64), and write np.add.at(n, x, 1)",
    "histogram": "make the result, n = np.zeros(k, np.int64), and write np.add.at(n, bin_of_x, 1)",
    "fft": "write it as a product with a matrix, or call it outside",
    "random": "make random numbers outside, and pass them as a parameter",
    "linalg": "factorize outside; np.linalg.norm is supported",
}
