"""Tensor expressions: arrays by the values of their elements, and nests that are made of them.

`value.py` has scalars, `functions.py` their functions, sums and the like, `tensor.py` arrays; `inline.py`
says which get memory, `stores.py` which stores are not needed, `nest.py` makes the nest.
"""

# ruff: noqa: F401  this is what others import from here

from polysched.frontend.tensor.functions import (
    abs,
    all,
    all_of,
    any,
    any_of,
    argmax,
    argmin,
    call,
    ceil,
    cos,
    erf,
    exp,
    floor,
    log,
    max,
    maximum,
    min,
    minimum,
    power,
    prod,
    reduce_axis,
    rint,
    select,
    sin,
    sqrt,
    sum,
    tanh,
    trunc,
)
from polysched.frontend.tensor.nest import function
from polysched.frontend.tensor.tensor import Tensor, compute, placeholder, scan, update
from polysched.frontend.tensor.value import Value, var
