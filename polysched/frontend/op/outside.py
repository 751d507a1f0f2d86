"""Arrays from outside of an operator: small ones are numbers in the code, larger ones parameters with a default.

KERNEL = np.array([0.25, 0.5])      KERNEL[1] * x       %v0 = Const() {value = 0.5} : f64[]
W = np.ones((64, 64))               x @ W               MatMul(%x, %W), and %W: f64[64, 64] is one parameter more

Both are what the array holds when the operator is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polysched.errors import InputError
from polysched.frontend.op.emit import Captured, Emitter
from polysched.frontend.op.joining import array
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.passed import dtype_of
from polysched.ir.contents import contents_of
from polysched.ir.nodes import Const

_MOST_NUMBERS = 64


def outside(emit: Emitter, name: str, value: np.ndarray) -> Ref:
    """The array that a name from outside stands for, which nothing in the operator may change."""
    if type(value) not in (np.ndarray, np.memmap):
        message = f"'{name}' is a {type(value).__name__}, which may compute otherwise than an array of NumPy"
        raise InputError(message, None, f"make it one: np.asarray({name})")
    dtype = dtype_of(value.dtype.name)
    if 0 < value.size <= _MOST_NUMBERS:
        ref = array(emit, _tuples(value.tolist()), dtype)
        ref.memory.is_outside = True
        return ref
    if id(value) not in emit.captured:
        ref = emit.parameter(name, dtype, tuple(map(Const, value.shape)))
        ref.memory.is_outside = True
        emit.captured[id(value)] = Captured(value, ref, contents_of(value, dtype))
    return emit.captured[id(value)].ref


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
