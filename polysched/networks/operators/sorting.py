"""Elements by their order. How many come before an element, of equal ones those of smaller index, is where it goes:

    rank[i] = sum(x[j] before x[i] for j)        y[rank[i]] = x[i]

Each pair of elements is compared, which threads share; no order of steps has to be kept.
"""

from __future__ import annotations

from typing import Any

from polysched.frontend import tensor as te
from polysched.ir.dtypes import i64
from polysched.networks.array import Array, Index, constant
from polysched.networks.node import Node
from polysched.networks.operators.table import operator

Value = Any


@operator("TopK")
def top_k(node: Node, x: Array, count_of: Array | None = None) -> tuple[Array, ...]:
    """Values and places; NaN is greater than all numbers. They come in order, asked for or not."""
    axis = node.axis(x.rank, -1)
    count = node.integers(count_of, "K")[0] if count_of is not None else int(node.get("k"))
    node.get("sorted")
    largest, extent = bool(node.get("largest", 1)), x.shape[axis]
    if not 0 < count <= extent:
        raise node.refusal(f"K is {count}, and the axis has {extent} elements", f"K is from 1 to {extent}")
    rank = _ranks(node, x, axis, largest)
    places = node.make.compute(x.shape, i64, lambda i: _index(i[axis]))
    return _ordered(node, x, rank, axis, count), _ordered(node, places, rank, axis, count)


def _index(place: Value) -> Value:
    return place + constant(0, i64)


def _ranks(node: Node, x: Array, axis: int, largest: bool) -> Array:
    def element(i: Index) -> Value:
        j = node.make.axis(x.shape[axis])
        own, other = x[i], x[(*i[:axis], j, *i[axis + 1 :])]
        first = _is_greater(other, own) if largest else _is_greater(own, other)
        later = _is_greater(own, other) if largest else _is_greater(other, own)
        before = te.any_of(first, te.all_of(~later, j < i[axis]))
        return te.sum(te.select(before, constant(1, i64), constant(0, i64)), axis=j)

    return node.make.compute(x.shape, i64, element)


def _is_greater(p: Value, q: Value) -> Value:
    return te.any_of(p > q, te.all_of(p != p, q == q)) if p.dtype.is_float else p > q


def _ordered(node: Node, x: Array, rank: Array, axis: int, count: int) -> Array:
    """The first ones by rank; all ranks are different, so that each place is stored once."""
    base = node.make.compute(x.shape, x.dtype, lambda i: constant(0, x.dtype), inline=False)
    whole = node.make.update(base, x.shape, lambda i: ((*i[:axis], rank[i], *i[axis + 1 :]), x[i]))
    if count == x.shape[axis]:
        return whole
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    return node.make.compute(shape, x.dtype, lambda i: whole[i])
