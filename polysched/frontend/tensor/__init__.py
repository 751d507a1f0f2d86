"""Tensor expressions: arrays by the values of their elements, and nests that are made of them.

`value.py` has scalars, `functions.py` their functions, sums and the like, `tensor.py` arrays; `inline.py`
says which get memory, `stores.py` which stores are not needed, `nest.py` makes the nest.
"""

from polysched.frontend.tensor.functions import *  # noqa: F403
from polysched.frontend.tensor.nest import function as function
from polysched.frontend.tensor.tensor import Tensor as Tensor
from polysched.frontend.tensor.tensor import compute as compute
from polysched.frontend.tensor.tensor import placeholder as placeholder
from polysched.frontend.tensor.tensor import scan as scan
from polysched.frontend.tensor.tensor import update as update
from polysched.frontend.tensor.value import Value as Value
from polysched.frontend.tensor.value import var as var
