"""Pools: the greatest, mean or norm of windows, and of whole images."""

from __future__ import annotations

from math import prod
from typing import Any

from polysched.frontend import tensor as te
from polysched.ir.dtypes import i32, i64
from polysched.networks.array import Array, Index, constant
from polysched.networks.node import Node
from polysched.networks.operators.images.windows import Windows, windows
from polysched.networks.operators.reductions import reduced
from polysched.networks.operators.table import operator

Value = Any


def _windows(node: Node, x: Array) -> Windows:
    kernel = node.get("kernel_shape")
    return windows(node, x.shape[2:], kernel, rounded_up=bool(node.get("ceil_mode", 0)))


def _pooled(node: Node, x: Array, at: Windows, f: Any, first: Any, last: Any, dtype: Any = None) -> Array:
    inner = [node.make.axis(n) for n in at.kernel]

    def element(i: Index) -> Value:
        place = at.at(i[2:], inner)
        tests = at.inside(place)
        where = te.all_of(*tests) if tests else None
        return last(f(first(x[(i[0], i[1], *place)]), axis=tuple(inner), where=where), i)

    return node.make.compute((*x.shape[:2], *at.count), dtype or x.dtype, element)


@operator("MaxPool")
def max_pool(node: Node, x: Array) -> Array | tuple[Array, ...]:
    at = _windows(node, x)
    most = _pooled(node, x, at, te.max, lambda v: v, lambda r, i: r)
    if node.results == 1:
        node.get("storage_order")  # of places, which nobody asks for
        return most
    return most, _places(node, x, at)


def _places(node: Node, x: Array, at: Windows) -> Array:
    """Where in the whole array the greatest elements are."""
    by_columns = bool(node.get("storage_order", 0))
    extents = at.extents[::-1] if by_columns else at.extents

    def last(number: Value, i: Index) -> Value:
        digits, left = [], number
        for n in reversed(at.kernel):
            digits.append(left % n)
            left = left // n
        place = at.at(i[2:], digits[::-1])
        flat: Value = i[0] * x.shape[1] + i[1]
        for n, j in zip(extents, reversed(place) if by_columns else place, strict=True):
            flat = flat * n + j
        return flat

    return _pooled(node, x, at, te.argmax, lambda v: v, last, i64)


@operator("AveragePool")
def average_pool(node: Node, x: Array) -> Array:
    at = _windows(node, x)
    counts_padding = bool(node.get("count_include_pad", 0))

    def count(i: Index) -> Value:
        total: Value = None
        for axis, n in enumerate(at.kernel):
            r = node.make.axis(n)
            place = i[2 + axis] * at.strides[axis] + r * at.dilations[axis] - at.before[axis]
            end = at.extents[axis] + (at.after[axis] if counts_padding else 0)
            tests = [place < end] + ([] if counts_padding else [place >= 0])
            number = te.sum(constant(1, i32), axis=r, where=te.all_of(*tests))
            total = number if total is None else total * number
        return total.astype(x.dtype)

    has_cut = any(at.before) or any(at.after) or bool(at.inside([0] * len(at.kernel)))
    last_one = [(c - 1) * s + (k - 1) * d - b for c, s, k, d, b in
                zip(at.count, at.strides, at.kernel, at.dilations, at.before, strict=True)]  # fmt: skip
    fits = all(j < n + a for j, n, a in zip(last_one, at.extents, at.after, strict=True))
    if fits and (counts_padding or not has_cut):
        whole = constant(prod(at.kernel), x.dtype)
        return _pooled(node, x, at, te.sum, lambda v: v, lambda r, i: r / whole)
    return _pooled(node, x, at, te.sum, lambda v: v, lambda r, i: r / count(i))


@operator("LpPool")
def lp_pool(node: Node, x: Array) -> Array:
    p = node.get("p", 2)
    power, root = constant(p, x.dtype), constant(1 / p, x.dtype)
    return _pooled(
        node, x, _windows(node, x), te.sum, lambda v: te.power(te.abs(v), power), lambda r, i: te.power(r, root)
    )


def _images(x: Array) -> list[int]:
    return list(range(2, x.rank))


@operator("GlobalAveragePool")
def global_average_pool(node: Node, x: Array) -> Array:
    count = constant(prod(x.shape[2:]), x.dtype)
    return reduced(node, x, _images(x), te.sum, last=lambda r: r / count)


@operator("GlobalMaxPool")
def global_max_pool(node: Node, x: Array) -> Array:
    return reduced(node, x, _images(x), te.max)


@operator("GlobalLpPool")
def global_lp_pool(node: Node, x: Array) -> Array:
    p = node.get("p", 2)
    power, root = constant(p, x.dtype), constant(1 / p, x.dtype)
    first = lambda v: te.power(te.abs(v), power)  # noqa: E731
    return reduced(node, x, _images(x), te.sum, first=first, last=lambda r: te.power(r, root))
