"""Elements at places that data says: gathers and scatters, one-hot, sequences turned round.

Negative places count from the end. Places are trusted to be in bounds, as subscripts are that a nest loads:
`passes/guards.py` sees to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polysched.frontend import tensor as te
from polysched.ir.dtypes import i64
from polysched.networks.array import Array, Index, constant
from polysched.networks.node import Node
from polysched.networks.operators.elements.pointwise import dtype_named
from polysched.networks.operators.movement import reshaped
from polysched.networks.operators.table import operator

Value = Any


def from_zero(place: Value, extent: int) -> Value:
    """The place, counted from the first element."""
    number = place.astype(i64)
    return te.select(number < 0, number + extent, number)


@operator("Gather")
def gather(node: Node, x: Array, places: Array) -> Array:
    axis, count = node.axis(x.rank), places.rank

    def element(i: Index) -> Value:
        place = from_zero(places[i[axis : axis + count]], x.shape[axis])
        return x[(*i[:axis], place, *i[axis + count :])]

    return node.make.compute((*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]), x.dtype, element)


@operator("GatherElements")
def gather_elements(node: Node, x: Array, places: Array) -> Array:
    axis = node.axis(x.rank)
    return node.make.compute(
        places.shape, x.dtype, lambda i: x[(*i[:axis], from_zero(places[i], x.shape[axis]), *i[axis + 1 :])]
    )


@operator("GatherND")
def gather_nd(node: Node, x: Array, places: Array) -> Array:
    batch, depth, lead = int(node.get("batch_dims", 0)), places.shape[-1], places.rank - 1

    def element(i: Index) -> Value:
        found = [from_zero(places[(*i[:lead], k)], x.shape[batch + k]) for k in range(depth)]
        return x[(*i[:batch], *found, *i[lead:])]

    return node.make.compute((*places.shape[:-1], *x.shape[batch + depth :]), x.dtype, element)


def _combination(node: Node) -> str:
    name = node.choice("reduction", "none", "add", "mul", "max", "min") if node.since >= 16 else "none"
    return {"none": "", "add": "+", "mul": "*"}.get(name, name)


@operator("ScatterElements", "Scatter")
def scatter_elements(node: Node, x: Array, places: Array, new: Array) -> Array:
    axis, op = node.axis(x.rank), _combination(node)

    def store(i: Index) -> Any:
        return (*i[:axis], from_zero(places[i], x.shape[axis]), *i[axis + 1 :]), new[i]

    return node.make.update(node.make.copied(x), places.shape, store, op)


@operator("ScatterND")
def scatter_nd(node: Node, x: Array, places: Array, new: Array) -> Array:
    op, depth, lead = _combination(node), places.shape[-1], places.rank - 1

    def store(i: Index) -> Any:
        found = [from_zero(places[(*i[:lead], k)], x.shape[k]) for k in range(depth)]
        return (*found, *i[lead:]), new[i]

    return node.make.update(node.make.copied(x), new.shape, store, op)


@operator("TensorScatter")
def tensor_scatter(node: Node, x: Array, new: Array, starts: Array | None = None) -> Array:
    """Each batch has new elements from its start on along the axis; in a circle, behind the last is the first."""
    is_circle, axis = node.choice("mode", "linear", "circular") == "circular", node.axis(x.rank, -2)
    extent, zero = x.shape[axis], constant(0, i64)
    if not is_circle and new.shape[axis] > extent:
        raise node.refusal(f"{new.shape[axis]} new elements along an axis of {extent}", "give as many at most")

    def store(i: Index) -> Any:
        place = (zero if starts is None else starts[(i[0],)].astype(i64)) + i[axis]
        return (*i[:axis], place % extent if is_circle else place, *i[axis + 1 :]), new[i]

    return node.make.update(node.make.copied(x), new.shape, store)


@operator("Compress")
def compress(node: Node, x: Array, chosen: Array) -> Array:
    """The elements along an axis, or of all in a row, for which a constant is true."""
    places = np.flatnonzero(node.constant(chosen, "condition"))
    is_flat = not node.has("axis")
    axis = 0 if is_flat else node.axis(x.rank)
    source = reshaped(node, x, [x.size]) if is_flat else x
    if len(places) and places[-1] >= source.shape[axis]:
        raise node.refusal(
            f"condition chooses element {places[-1]} of {source.shape[axis]}", "a condition is no longer than its axis"
        )
    table = node.make.constant(places)
    shape = (*source.shape[:axis], len(places), *source.shape[axis + 1 :])
    return node.make.compute(shape, x.dtype, lambda i: source[(*i[:axis], table[(i[axis],)], *i[axis + 1 :])])


@operator("OneHot")
def one_hot(node: Node, places: Array, depth_of: Array, values: Array) -> Array:
    depth, rank = node.integers(depth_of, "depth")[0], places.rank + 1
    axis = node.axis(rank, -1)

    def element(i: Index) -> Value:
        place = from_zero(places[(*i[:axis], *i[axis + 1 :])], depth)
        return te.select(place == i[axis], values[(1,)], values[(0,)])

    return node.make.compute((*places.shape[:axis], depth, *places.shape[axis:]), values.dtype, element)


@operator("EyeLike")
def eye_like(node: Node, x: Array) -> Array:
    dtype = dtype_named(node, "dtype") if node.has("dtype") else x.dtype
    diagonal = int(node.get("k", 0))
    one, zero = constant(1, dtype), constant(0, dtype)
    return node.make.compute(x.shape, dtype, lambda i: te.select(i[1] - i[0] == diagonal, one, zero))


@operator("Trilu")
def triangle(node: Node, x: Array, diagonal_of: Array | None = None) -> Array:
    diagonal = 0 if diagonal_of is None else node.integers(diagonal_of, "k")[0]
    is_upper, zero = bool(node.get("upper", 1)), constant(0, x.dtype)

    def element(i: Index) -> Value:
        above = i[-1] - i[-2]
        return te.select(above >= diagonal if is_upper else above <= diagonal, x[i], zero)

    return node.make.compute(x.shape, x.dtype, element)


@operator("ReverseSequence")
def reverse_sequence(node: Node, x: Array, lengths: Array) -> Array:
    batch, time = int(node.get("batch_axis", 1)), int(node.get("time_axis", 0))

    def element(i: Index) -> Value:
        length, index = lengths[(i[batch],)], list(i)
        index[time] = te.select(i[time] < length, length - 1 - i[time], i[time])
        return x[tuple(index)]

    return node.make.compute(x.shape, x.dtype, element)
