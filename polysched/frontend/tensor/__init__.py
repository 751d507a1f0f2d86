"""Tensor expressions: arrays by the values of their elements, and nests that are made of them.

`value.py` has scalars, `functions.py` their functions, `reduce.py` sums and the like, `tensor.py` arrays; `inline.py`
says which get memory, `stores.py` which stores are not needed, `nest.py` makes the nest.
"""

# ruff: noqa: F401  this is what others import from here

from polysched.frontend.tensor.functions import (
    abs,
    all_of,
    any_of,
    call,
    ceil,
    cos,
    erf,
    exp,
    floor,
    log,
    maximum,
    minimum,
    power,
    rint,
    select,
    sin,
    sqrt,
    tanh,
    trunc,
)
from polysched.frontend.tensor.nest import function
from polysched.frontend.tensor.reduce import all, any, argmax, argmin, max, min, prod, reduce_axis, sum
from polysched.frontend.tensor.tensor import Tensor, compute, placeholder, scan, update
from polysched.frontend.tensor.value import Operand, Value, var
