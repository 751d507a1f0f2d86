"""NumPy's functions and methods on whole arrays, by their names, and the hints for those that cannot be had.

    FUNCTIONS["concatenate"](emit, (a, b), axis=1)      %v = Concatenate(%a, %b) {axis = 1}

Each takes what NumPy's function takes, as far as it is supported; more of them are written in Python, in `library/`.
"""

from __future__ import annotations

from collections.abc import Callable

from polysched.errors import InputError
from polysched.frontend.op.emit import Emitter, Operand
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.numpy.joining import array, asarray, concatenate, pad, stack
from polysched.frontend.op.numpy.making import (
    arange,
    empty,
    empty_like,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from polysched.frontend.op.numpy.operators import cast
from polysched.frontend.op.numpy.operators import where as chosen
from polysched.frontend.op.numpy.products import dot, einsum, inner, matmul, outer, tensordot, vdot, vecdot
from polysched.frontend.op.numpy.reducing import found, mean, reduced, running, std, var
from polysched.frontend.op.numpy.shaping import (
    broadcast_to,
    diagonal,
    expand_dims,
    flatten,
    flip,
    moveaxis,
    ravel,
    reshape,
    sliding_window_view,
    squeeze,
    swapaxes,
    transpose,
)
from polysched.ir.dtypes import DType

Function = Callable[..., Ref]


def astype(emit: Emitter, a: Ref, dtype: DType, copy: bool = True) -> Ref:
    result = cast(emit, a, dtype)
    result = emit.copy(result) if copy else result
    return result if a.memory.is_number else result.as_array()


def where(emit: Emitter, condition: Operand, then: Operand | None = None, other: Operand | None = None) -> Ref:
    if then is None or other is None:
        message = "where a condition holds depends on data, and how often"
        raise InputError(message, None, "write np.where(cond, x, y)")
    return chosen(emit, condition, then, other).as_array()


def copy(emit: Emitter, a: Ref) -> Ref:
    return emit.copy(a).as_array()


_REDUCTIONS: dict[str, Function] = {
    **{
        name: reduced(kind)
        for kind, names in {
            "Sum": ["sum"],
            "Prod": ["prod"],
            "Max": ["max", "amax"],
            "Min": ["min", "amin"],
            "NanMax": ["nanmax"],
            "NanMin": ["nanmin"],
            "Any": ["any"],
            "All": ["all"],
        }.items()
        for name in names
    },
    "argmax": found("ArgMax"),
    "argmin": found("ArgMin"),
    "cumsum": running("CumSum"),
    "cumprod": running("CumProd"),
}
FUNCTIONS: dict[str, Function] = {
    function.__name__: function
    for function in (
        full, zeros, ones, empty, full_like, zeros_like, ones_like, empty_like, arange, array, asarray, copy, astype,
        transpose, swapaxes, moveaxis, reshape, ravel, flatten, expand_dims, squeeze, flip, broadcast_to,
        sliding_window_view, diagonal, concatenate, stack, pad, where, mean, var, std,
        matmul, dot, inner, vdot, vecdot, outer, tensordot, einsum,
    )
} | _REDUCTIONS | {
    "ascontiguousarray": asarray,
    "asanyarray": asarray,
    "concat": concatenate,
    "permute_dims": transpose,
    "permute": transpose,
    "select": where,
}  # fmt: skip

# Methods of ufuncs, as in np.maximum.reduce(x, axis=1).
OF_UFUNCS: dict[tuple[str, str], Function] = {
    **{
        (name, "reduce"): reduced(kind)
        for name, kind in {
            "add": "Sum",
            "multiply": "Prod",
            "maximum": "Max",
            "minimum": "Min",
            "fmax": "NanMax",
            "fmin": "NanMin",
            "logical_or": "Any",
            "logical_and": "All",
        }.items()
    },
    **{
        (name, "accumulate"): running(kind)
        for name, kind in {
            "add": "CumSum",
            "multiply": "CumProd",
            "maximum": "CumMax",
            "minimum": "CumMin",
        }.items()
    },
}

_METHODS = """transpose swapaxes reshape ravel squeeze mean var std cumsum cumprod dot clip sum prod max min any all
    argmax argmin copy astype flatten repeat take diagonal trace round fill"""
METHODS = frozenset(_METHODS.split())
ARRAYS = frozenset(
    {"a", "b", "m", "v", "x", "y", "x1", "x2", "arr", "ary", "array", "A"}
)  # its parameters that are arrays
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
    "linalg": "factorise outside; np.linalg.norm is supported",
}
