"""Reductions of axes: sums, extrema, norms, places of extrema, running sums, softmax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from polysched.frontend import tensor as te
from polysched.ir.dtypes import DType, boolean, i64
from polysched.networks.array import Array, Index, constant
from polysched.networks.node import Node
from polysched.networks.operators.elements.broadcast import quotient
from polysched.networks.operators.table import operator

Value = Any
Change = Callable[[Value], Value]


def same(value: Value) -> Value:
    return value


def reduced(
    node: Node,
    x: Array,
    axes: Sequence[int],
    f: Callable[..., Value],
    *,
    first: Change = same,
    last: Change = same,
    keep: bool = True,
    dtype: DType | None = None,
) -> Array:
    """`last` of the reduction by `f` of `first` of the elements along the axes."""
    make = node.make
    inner = {axis: make.axis(x.shape[axis]) for axis in axes}
    shape = [1 if axis in axes else n for axis, n in enumerate(x.shape) if keep or axis not in axes]

    def element(i: Index) -> Value:
        own = iter(i if keep else [])
        rest = iter(i)
        index = []
        for axis in range(x.rank):
            outer = next(own) if keep else (None if axis in axes else next(rest))
            index.append(inner.get(axis, outer))
        term = first(x[tuple(index)])
        return last(f(term, axis=tuple(inner.values())) if inner else term)

    return make.compute(shape, dtype or x.dtype, element)


def axes_of(node: Node, operand: Array | None, rank: int) -> list[int]:
    """The axes that an attribute or an operand names; all, or with noop_with_empty_axes none, if it names none."""
    given = list(node.get("axes", ()) or ()) or (node.integers(operand, "axes") if operand is not None else [])
    no_op = bool(node.get("noop_with_empty_axes", 0))
    if not given:
        return [] if no_op else list(range(rank))
    return sorted({node.normalized(axis, rank) for axis in given})


def unit(i: Index, axes: Sequence[int]) -> Index:
    """The index of what was reduced."""
    return tuple(0 if axis in axes else j for axis, j in enumerate(i))


def _enter(kind: str, f: Callable[..., Value], first: Change = same, last: Callable[..., Value] | None = None) -> None:
    @operator(kind)
    def lower(node: Node, x: Array, axes: Array | None = None) -> Array:
        over, keep = axes_of(node, axes, x.rank), bool(node.get("keepdims", 1))
        if x.dtype == boolean:
            logic = {"ReduceMax": te.any, "ReduceMin": te.all}
            if kind not in logic:
                raise node.refusal("elements are bool", "cast them to an integer type")
            return reduced(node, x, over, logic[kind], keep=keep)
        count = prod(x.shape[axis] for axis in over)
        end = (lambda r: last(r, count)) if last else same
        return reduced(node, x, over, f, first=first, last=end, keep=keep)


def _mean(total: Value, count: int) -> Value:
    return quotient(total, constant(count, total.dtype))  # of integers truncated, as numpy's floats are


def _absolute(v: Value) -> Value:
    return v if v.dtype.kind == "u" else te.abs(v)


def _float_only(f: Callable[[Value], Value]) -> Callable[[Value, int], Value]:
    return lambda r, count: f(r)


_enter("ReduceSum", te.sum)
_enter("ReduceProd", te.prod)
_enter("ReduceMax", te.max)
_enter("ReduceMin", te.min)
_enter("ReduceMean", te.sum, last=_mean)
_enter("ReduceL1", te.sum, first=_absolute)
_enter("ReduceL2", te.sum, first=lambda v: v * v, last=_float_only(lambda r: te.sqrt(r).astype(r.dtype)))
_enter("ReduceSumSquare", te.sum, first=lambda v: v * v)
_enter("ReduceLogSum", te.sum, last=_float_only(lambda r: te.log(r)))


@operator("ReduceLogSumExp")
def log_sum_exp(node: Node, x: Array, axes: Array | None = None) -> Array:
    """log(sum(exp(x))), without an overflow."""
    over, keep = axes_of(node, axes, x.rank), bool(node.get("keepdims", 1))
    if not x.is_float:
        raise node.refusal(f"elements are {x.dtype}", "cast them to floats")
    if not over:
        return node.make.copied(x)
    most = reduced(node, x, over, te.max)
    zero, infinite = constant(0, x.dtype), constant(float("inf"), x.dtype)
    shift = node.make.compute(
        most.shape, x.dtype, lambda i: te.select(te.abs(most[i]) == infinite, zero, most[i]), inline=False
    )
    powers = node.make.compute(x.shape, x.dtype, lambda i: te.exp(x[i] - shift[unit(i, over)]))
    total = reduced(node, powers, over, te.sum)
    result = node.make.compute(total.shape, x.dtype, lambda i: te.log(total[i]) + shift[i])
    if keep:
        return result
    shape = [n for axis, n in enumerate(x.shape) if axis not in over]

    def element(i: Index) -> Value:
        rest = iter(i)
        return result[tuple(0 if axis in over else next(rest) for axis in range(x.rank))]

    return node.make.compute(shape, x.dtype, element)


def _place(kind: str, f: Callable[..., Value]) -> None:
    @operator(kind)
    def lower(node: Node, x: Array) -> Array:
        axis, keep = node.axis(x.rank), bool(node.get("keepdims", 1))
        if not node.get("select_last_index", 0):
            return reduced(node, x, [axis], f, keep=keep, dtype=i64)
        last = x.shape[axis] - 1
        turned = node.make.compute(x.shape, x.dtype, lambda i: x[(*i[:axis], last - i[axis], *i[axis + 1 :])])
        return reduced(node, turned, [axis], f, keep=keep, dtype=i64, last=lambda r: last - r)


_place("ArgMax", te.argmax)
_place("ArgMin", te.argmin)


def softmax(node: Node, x: Array, axes: Sequence[int], *, log: bool = False) -> Array:
    make = node.make
    most = reduced(node, x, axes, te.max)
    powers = make.compute(x.shape, x.dtype, lambda i: te.exp(x[i] - most[unit(i, axes)]))
    total = reduced(node, powers, axes, te.sum)
    if log:
        return make.compute(x.shape, x.dtype, lambda i: x[i] - most[unit(i, axes)] - te.log(total[unit(i, axes)]))
    return make.compute(x.shape, x.dtype, lambda i: powers[i] / total[unit(i, axes)])


def _softmax_axes(node: Node, x: Array) -> list[int]:
    """Before version 13 all axes from one on."""
    axis = node.axis(x.rank, -1 if node.since >= 13 else 1)
    return [axis] if node.since >= 13 else list(range(axis, x.rank))


@operator("Softmax")
def softmax_of(node: Node, x: Array) -> Array:
    return softmax(node, x, _softmax_axes(node, x))


@operator("LogSoftmax")
def log_softmax_of(node: Node, x: Array) -> Array:
    return softmax(node, x, _softmax_axes(node, x), log=True)


@operator("Hardmax")
def hardmax(node: Node, x: Array) -> Array:
    if node.since < 13:
        raise node.refusal(f"version {node.since} of Hardmax is not supported", "convert the model to version 13")
    axis = node.axis(x.rank, -1)
    place = reduced(node, x, [axis], te.argmax, dtype=i64)
    one, zero = constant(1, x.dtype), constant(0, x.dtype)
    return node.make.compute(x.shape, x.dtype, lambda i: te.select(place[unit(i, [axis])] == i[axis], one, zero))


def _running(kind: str, op: Callable[[Value, Value], Value], neutral: int) -> None:
    @operator(kind)
    def lower(node: Node, x: Array, axis_of: Array) -> Array:
        axis = node.normalized(node.integers(axis_of, "axis")[0], x.rank)
        exclusive, reverse = bool(node.get("exclusive", 0)), bool(node.get("reverse", 0))
        last, start = x.shape[axis] - 1, constant(neutral, x.dtype)

        def at(i: Index, j: Value) -> Index:
            return (*i[:axis], j, *i[axis + 1 :])

        def element(own: Any, i: Index) -> Value:
            j = i[axis]
            before = te.select(j > 0, own[at(i, j - 1)], start)
            source = (last - j) if reverse else j
            term = x[at(i, source)]
            if exclusive:
                earlier = source + 1 if reverse else source - 1
                term = te.select(j > 0, x[at(i, earlier)], start)
            return op(before, term)

        total = node.make.scan(x.shape, x.dtype, element)
        if not reverse:
            return total
        return node.make.compute(x.shape, x.dtype, lambda i: total[at(i, last - i[axis])])


_running("CumSum", lambda p, q: p + q, 0)
_running("CumProd", lambda p, q: p * q, 1)
