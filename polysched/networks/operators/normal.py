"""Norms: of channels by numbers that are given, of axes by their own mean and variance, of windows of channels."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from polysched.frontend import tensor as te
from polysched.ir.dtypes import f32
from polysched.networks.array import Array, Index, constant
from polysched.networks.node import Node
from polysched.networks.operators.elements.pointwise import cast
from polysched.networks.operators.reductions import reduced, unit
from polysched.networks.operators.table import operator

Value = Any


@operator("BatchNormalization")
def batch_norm(node: Node, x: Array, scale: Array, shift: Array, mean: Array, variance: Array) -> Array:
    if node.get("training_mode", 0):
        raise node.refusal("attribute training_mode is 1", "networks run, and are not trained: export for inference")
    if node.since < 9 and node.get("spatial", 1) != 1:
        raise node.refusal("attribute spatial is 0", "spatial is 1: a mean for each channel")
    node.get("momentum"), node.get("is_test")  # of training
    epsilon = constant(node.get("epsilon", 1e-5), variance.dtype)

    def element(i: Index) -> Value:
        c = (i[1] if x.rank > 1 else 0,)
        return (x[i] - mean[c]) / te.sqrt(variance[c] + epsilon) * scale[c] + shift[c]

    return node.make.compute(x.shape, x.dtype, element)


def centered(node: Node, x: Array, axes: Sequence[int], epsilon: float) -> tuple[Array, Array, Array]:
    """The mean along the axes, x less it, and one by the standard deviation."""
    count = constant(prod(x.shape[axis] for axis in axes), x.dtype)
    mean = reduced(node, x, axes, te.sum, last=lambda r: r / count)
    rest = node.make.compute(x.shape, x.dtype, lambda i: x[i] - mean[unit(i, axes)])
    one, more = constant(1, x.dtype), constant(epsilon, x.dtype)
    inverse = reduced(node, rest, axes, te.sum, first=lambda v: v * v, last=lambda r: one / te.sqrt(r / count + more))
    return mean, rest, inverse


@operator("InstanceNormalization")
def instance_norm(node: Node, x: Array, scale: Array, shift: Array) -> Array:
    axes = list(range(2, x.rank))
    _, rest, inverse = centered(node, x, axes, node.get("epsilon", 1e-5))
    return node.make.compute(
        x.shape, x.dtype, lambda i: rest[i] * inverse[unit(i, axes)] * scale[(i[1],)] + shift[(i[1],)]
    )


@operator("LayerNormalization")
def layer_norm(node: Node, x: Array, scale: Array, shift: Array | None = None) -> tuple[Array, ...]:
    if node.get("stash_type", "f32") != "f32":
        raise node.refusal(f"attribute stash_type is {node.get('stash_type')}", "stash_type is 1, floats")
    axes = list(range(node.axis(x.rank, -1), x.rank))
    wide = x if x.dtype == f32 else cast(node, x, f32)
    mean, rest, inverse = centered(node, wide, axes, node.get("epsilon", 1e-5))

    def element(i: Index) -> Value:
        value = (rest[i] * inverse[unit(i, axes)]).astype(x.dtype) * scale.at(i)
        return value if shift is None else value + shift.at(i)

    return node.make.compute(x.shape, x.dtype, element), mean, inverse


@operator("LpNormalization")
def lp_norm(node: Node, x: Array) -> Array:
    """By zero, nothing is divided."""
    p, axis = node.get("p", 2), node.axis(x.rank, -1)
    if p not in (1, 2):
        raise node.refusal(f"attribute p is {p}", "p is 1 or 2")
    zero = constant(0, x.dtype)
    first, last = ((lambda v: te.abs(v)), (lambda r: r)) if p == 1 else ((lambda v: v * v), te.sqrt)
    norm = reduced(node, x, [axis], te.sum, first=first, last=last)

    def element(i: Index) -> Value:
        by = norm[unit(i, [axis])]
        return te.select(by == zero, zero, x[i] / by)

    return node.make.compute(x.shape, x.dtype, element)


@operator("LRN")
def local_response_norm(node: Node, x: Array) -> Array:
    size, channels = int(node.get("size")), x.shape[1]
    alpha, beta, bias = node.get("alpha"), node.get("beta"), node.get("bias")
    k = node.make.axis(size)

    def squares(i: Index) -> Value:
        c = i[1] + k - (size - 1) // 2
        value = x[(i[0], c, *i[2:])]
        return te.sum(value * value, axis=k, where=te.all_of(c >= 0, c < channels))

    total = node.make.compute(x.shape, x.dtype, squares)
    factor, more, power = constant(alpha / size, x.dtype), constant(bias, x.dtype), constant(beta, x.dtype)
    return node.make.compute(x.shape, x.dtype, lambda i: x[i] / te.power(more + factor * total[i], power))
