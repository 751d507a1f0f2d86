"""Places cut off at the first and last element, and whether any had to be: `passes/guards.py` puts these in."""

from __future__ import annotations

from typing import Any

import numpy as np

from polysched.frontend import tensor as te
from polysched.ir.dtypes import boolean
from polysched.networks.array import Array, Index, constant
from polysched.networks.node import Node
from polysched.networks.operators.table import operator

Value = Any


def _bounds(node: Node, x: Array) -> tuple[Any, Any]:
    """The least and the greatest place, by the index."""
    found = []
    for name in ("least", "most"):
        numbers = np.array(node.get(name)).astype(x.dtype.numpy)
        one = node.make.constant(numbers) if numbers.size > 1 else None
        found.append((lambda i, table=one: table[(i[-1],)]) if one else (lambda i, n=numbers[0]: constant(n, x.dtype)))
    return found[0], found[1]


@operator("Within", pointwise=True)
def within(node: Node, x: Array) -> Array:
    least, most = _bounds(node, x)
    return node.make.compute(x.shape, x.dtype, lambda i: te.maximum(least(i), te.minimum(most(i), x[i])))


@operator("Outside")
def outside(node: Node, x: Array) -> Array:
    least, most = _bounds(node, x)
    axes = tuple(node.make.axis(n) for n in x.shape)

    def element(i: Index) -> Value:
        test = te.any_of(x[axes] < least(axes), x[axes] > most(axes))
        return te.any(test, axis=axes) if axes else test

    return node.make.compute((), boolean, element)
