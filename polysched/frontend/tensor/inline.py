"""Which tensors get no array: what reads them computes their elements, or adds to what they sum up.

    P = compute((n,), lambda i: A[i] + 1.0, "P")                    no array P, no array S:
    S = compute((n,), lambda i: sum(P[k] * B[i, k], axis=k), "S")   ->  D[i] = relu(sum((A[k] + 1.0) * B[i, k], axis=k))
    D = compute((n,), lambda i: relu(S[i]), "D")

May: a tensor without reductions always; one with reductions where a single tensor of the same shape, without reductions
of its own, reads it at its own indices alone: then its sums are made where they are used.
Should: if the user says so, or where no element is computed more than once, or it is cheap (`_MOST`, `_MOST_AGAIN`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from polysched.errors import InputError
from polysched.frontend.tensor.reduce import Reduction
from polysched.frontend.tensor.tensor import Body, Tensor
from polysched.ir.node import children, rewrite, substitute, walk
from polysched.ir.nodes import Call, Const, Expr, Load, Select, Var

_MOST = 8  # operations of what is computed at several places
_MOST_AGAIN = 2  # operations of what is computed again and again, as in a sum over other elements


def inlined(tensors: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> tuple[tuple[Tensor, Body], ...]:
    """Those of the tensors, each after those it reads, that get an array, with their bodies."""
    bodies = {tensor.name: tensor.body for tensor in tensors if tensor.body is not None}
    by_name = {tensor.name: tensor for tensor in tensors}
    for tensor in tensors:
        if tensor.name not in bodies or tensor in outputs or tensor.inline is False:
            continue
        readers = [name for name, body in bodies.items() if _loads(body, tensor.name)]
        if _may(tensor, bodies, [by_name[name] for name in readers]) and (
            tensor.inline or _should(tensor, bodies, readers)
        ):
            body = bodies.pop(tensor.name)
            for name in readers:
                bodies[name] = _with(bodies[name], tensor.name, body)
        elif tensor.inline:
            hint = "leave inline=True out: it gets an array"
            raise InputError(f"{tensor.name} has a reduction and cannot be computed where it is read", tensor.loc, hint)
    return tuple((by_name[name], body) for name, body in bodies.items())


def expressions(body: Body) -> Iterator[Expr]:
    """All expressions of a body."""
    yield body.value
    for reduction in body.reductions:
        yield reduction.term
        if reduction.where is not None:
            yield reduction.where
        for axis in reduction.axes:
            yield from (axis.lo, axis.hi)


def mapped(body: Body, change: Mapping[str, Expr]) -> Body:
    """The body with other expressions in place of names, not of those of its axes and indices."""

    def new(expr: Expr) -> Expr:
        result: Expr = substitute(expr, dict(change))
        return result

    return replace(body, value=new(body.value), reductions=tuple(_mapped(each, new) for each in body.reductions))


def _loads(body: Body, name: str) -> list[Load]:
    return [n for expr in expressions(body) for n in walk(expr) if isinstance(n, Load) and n.array == name]


# --- may, and should


def _may(tensor: Tensor, bodies: Mapping[str, Body], readers: list[Tensor]) -> bool:
    """Would it be right?"""
    if not bodies[tensor.name].reductions:
        return True
    match readers:
        case [reader] if reader.extents == tensor.extents:
            body = bodies[reader.name]
            element = tuple(map(Var, body.indices))
            own = all(load.index == element for load in _loads(body, tensor.name))
            return own and not body.reductions
    return False


def _should(tensor: Tensor, bodies: Mapping[str, Body], readers: list[str]) -> bool:
    """Is it worth it?"""
    body = bodies[tensor.name]
    if body.reductions:
        return True
    cost = _cost(body.value)
    loads = [(bodies[name], load) for name in readers for load in _loads(bodies[name], tensor.name)]
    if any(_reads_again(reader, load) for reader, load in loads):
        return cost <= _MOST_AGAIN
    return cost <= _MOST or (len({load for _, load in loads}) == 1 and len(readers) == 1)


def _reads_again(reader: Body, load: Load) -> bool:
    """Does the reader use elements more than once, having more loops around the load than it has subscripts?"""
    axes = {
        axis.name
        for reduction in reader.reductions
        if any(n is load for n in walk((reduction.term, *((reduction.where,) if reduction.where is not None else ()))))
        for axis in reduction.axes
    }
    return len(axes) + len(reader.indices) > len([s for s in load.index if not isinstance(s, Const)])


def _cost(expr: Expr) -> int:
    """How many operations there are, and loads beyond the first; functions count as several, subscripts not at all."""

    def cost(node: Expr) -> int:
        match node:
            case Load() | Var() | Const():
                return 0
            case Call():
                return 8 + sum(map(cost, children(node)))
            case Select():
                return 2 + sum(map(cost, children(node)))
        return 1 + sum(map(cost, children(node)))

    return cost(expr)


# --- how


def _with(reader: Body, name: str, producer: Body) -> Body:
    """The reader with the producer's expression in place of the reads of its array."""
    producer = _apart(producer, reader)

    def element(load: Load) -> Mapping[str, Expr]:
        return dict(zip(producer.indices, load.index, strict=True))

    def new(expr: Expr) -> Expr:
        result: Expr = rewrite(expr, lambda n: substitute(producer.value, element(n)) if _reads(n, name) else None)
        return result

    own = dict(zip(producer.indices, map(Var, reader.indices), strict=False))  # where the producer has reductions
    moved = mapped(producer, own).reductions
    kept = tuple(_mapped(each, new) for each in reader.reductions)
    return replace(reader, value=new(reader.value), reductions=(*kept, *moved))


def _reads(node: Expr, name: str) -> bool:
    return isinstance(node, Load) and node.array == name


def _mapped(reduction: Reduction, new: object) -> Reduction:
    assert callable(new)
    axes = tuple(replace(axis, lo=new(axis.lo), hi=new(axis.hi)) for axis in reduction.axes)
    where = None if reduction.where is None else new(reduction.where)
    return replace(reduction, axes=axes, term=new(reduction.term), where=where, place=new(reduction.place))


def _apart(producer: Body, reader: Body) -> Body:
    """The producer with axes that are named otherwise than the indices of the reader."""
    taken = {*reader.indices, *producer.indices}
    return replace(producer, reductions=tuple(with_axes_beside(each, taken) for each in producer.reductions))


def with_axes_beside(reduction: Reduction, taken: set[str]) -> Reduction:
    """The reduction with axes that have none of the names taken."""
    known = {*taken, *(axis.name for axis in reduction.axes)}
    new: dict[str, str] = {}
    for axis in reduction.axes:
        new[axis.name] = fresh(axis.name, known) if axis.name in taken else axis.name
        known.add(new[axis.name])
    changed: dict[str, Expr] = {old: Var(name) for old, name in new.items() if old != name}
    if not changed:
        return reduction
    renamed = _mapped(reduction, lambda expr: substitute(expr, changed))
    return replace(renamed, axes=tuple(replace(axis, name=new[axis.name]) for axis in renamed.axes))


def fresh(name: str, taken: set[str]) -> str:
    """The name, or the first of name_2, name_3, ... that is not taken."""
    return name if name not in taken else next(f"{name}_{k}" for k in count(2) if f"{name}_{k}" not in taken)
