"""What goes back to an image from its windows: columns that are added up, maxima at the places they came from."""

from __future__ import annotations

from math import prod
from typing import Any

from polysched.frontend import tensor as te
from polysched.ir.dtypes import i64
from polysched.networks.array import Array, Index, constant
from polysched.networks.node import Node
from polysched.networks.operators.table import operator

Value = Any


@operator("Col2Im")
def columns_to_image(node: Node, x: Array, image_of: Array, block_of: Array) -> Array:
    """x[n, channel and place in the window, window], summed where windows meet."""
    image, block = node.integers(image_of, "image_shape"), node.integers(block_of, "block_shape")
    rank = len(image)
    strides, dilations = node.get("strides") or [1] * rank, node.get("dilations") or [1] * rank
    pads = list(node.get("pads") or [0] * (2 * rank))
    counts = [
        (n + b + a - (k - 1) * d - 1) // s + 1
        for n, b, a, k, d, s in zip(image, pads[:rank], pads[rank:], block, dilations, strides, strict=True)
    ]
    channels = x.shape[1] // prod(block)
    inner = [node.make.axis(k) for k in block]

    def element(i: Index) -> Value:
        spread = [j + b - r * d for j, b, r, d in zip(i[2:], pads, inner, dilations, strict=False)]
        tests = [test for t, s, n in zip(spread, strides, counts, strict=True) for test in (t >= 0, t < n * s)]
        tests += [t % s == 0 for t, s in zip(spread, strides, strict=True) if s > 1]
        row, column = i[1], 0
        for r, k in zip(inner, block, strict=True):
            row = row * k + r
        for t, s, n in zip(spread, strides, counts, strict=True):
            column = column * n + t // s
        return te.sum(te.select(te.all_of(*tests), x[(i[0], row, column)], constant(0, x.dtype)), axis=tuple(inner))

    return node.make.compute((x.shape[0], channels, *image), x.dtype, element)


def _kept(place: Value, last: int) -> Value:
    """A place inside, where another shape than the usual one leaves no guard."""
    return te.maximum(0, te.minimum(place, last))


@operator("MaxUnpool")
def max_unpool(node: Node, x: Array, places: Array, shape_of: Array | None = None) -> Array:
    """Zeros, but the elements at their places in the flat array of the usual shape."""
    rank, kernel = x.rank - 2, node.get("kernel_shape")
    strides, pads = node.get("strides") or [1] * rank, list(node.get("pads") or [0] * (2 * rank))
    usual = [(n - 1) * s - b - a + k for n, s, b, a, k in
             zip(x.shape[2:], strides, pads[:rank], pads[rank:], kernel, strict=True)]  # fmt: skip
    shape = [*x.shape[:2], *usual]
    zero = constant(0, x.dtype)
    flat = node.make.compute((prod(shape),), x.dtype, lambda i: zero, inline=False)
    last = prod(shape) - 1

    def store(i: Index) -> Any:
        return (_kept(places[i].astype(i64), last),), x[i]

    filled = node.make.update(flat, x.shape, store)
    whole = list(shape) if shape_of is None else node.integers(shape_of, "output_shape")

    def element(i: Index) -> Value:
        place: Value = 0
        for j, n in zip(i, shape, strict=True):
            place = place * n + j
        tests = [j < n for j, n, m in zip(i, shape, whole, strict=True) if n < m]
        return te.select(te.all_of(*tests), filled[(place,)], zero) if tests else filled[(place,)]

    return node.make.compute(whole, x.dtype, element)
