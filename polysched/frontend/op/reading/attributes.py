"""What attributes and names from outside of an operator stand for.

x.shape, x.T                a tuple of extents, a view
np.finfo(x.dtype).eps       a number of that dtype
KERNEL = np.array([1, 2])   an array from outside
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polysched.errors import InputError
from polysched.frontend.op.emit import Emitter, fresh
from polysched.frontend.op.extents import product
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.numpy.passed import dtype_of, plain
from polysched.frontend.op.numpy.shaping import swapaxes, transpose
from polysched.frontend.op.reading.outside import outside
from polysched.ir.dtypes import DType

CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None}  # of NumPy and math


def attribute(emit: Emitter, base: Any, name: str, written: str) -> Any:
    """The attribute of an array, a dtype, or what NumPy knows of one."""
    match base, name:
        case Ref(), "T":
            return transpose(emit, base)
        case Ref(), "mT":
            return swapaxes(emit, base, -1, -2)
        case Ref(), "shape":
            return tuple(map(plain, base.shape))
        case Ref(), "ndim":
            return base.rank
        case Ref(), "size":
            return plain(product(base.shape))
        case Ref(), "dtype":
            return base.dtype
        case DType(), "kind":
            return base.kind
        case DType(), "name":
            return base.numpy
        case ((np.finfo() | np.iinfo()), _) if hasattr(base, name):
            number = getattr(base, name)
            is_float = isinstance(number, np.floating)
            return _number(emit, number) if is_float else int(number)
    message = f"the attribute '{written}' cannot be in an operator"
    raise InputError(message, None, "arrays have T, mT, shape, ndim, size and dtype")


def constant(emit: Emitter, name: str, value: Any) -> Any:
    """What a name outside of the operator stands for; NumPy's own numbers have their dtype."""
    match value:
        case np.generic():
            return _number(emit, value)
        case np.ndarray():
            return outside(emit, name, value)
        case list() | tuple():
            entries = enumerate(value)  # integers may be extents
            return tuple(n if isinstance(n, np.integer) else constant(emit, f"{name}_{k}", n) for k, n in entries)
    return value


def _number(emit: Emitter, value: np.generic) -> Ref:
    return fresh(emit.constant(value.item(), dtype_of(value.dtype.name)))
