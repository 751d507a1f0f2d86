"""Tensor expressions: arrays by the values of their elements, and nests that are made of them.

`value.py` has scalars, `functions.py` their functions, sums and the like, `tensor.py` arrays; `inline.py`
says which get memory, `stores.py` which stores are not needed, `nest.py` makes the nest.
"""

from polysched.frontend.tensor.functions import *
from polysched.frontend.tensor.nest import function
from polysched.frontend.tensor.tensor import Tensor, compute, placeholder, scan, update
from polysched.frontend.tensor.value import Value, var

# ruff: noqa: F403, F405
__all__ = [
    "Tensor",
    "Value",
    "abs",
    "all",
    "all_of",
    "any",
    "any_of",
    "argmax",
    "argmin",
    "call",
    "ceil",
    "compute",
    "cos",
    "erf",
    "exp",
    "floor",
    "function",
    "log",
    "max",
    "maximum",
    "min",
    "minimum",
    "placeholder",
    "power",
    "prod",
    "reduce_axis",
    "rint",
    "scan",
    "select",
    "sin",
    "sqrt",
    "sum",
    "tanh",
    "trunc",
    "update",
    "var",
]
