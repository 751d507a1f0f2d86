"""Which tensors get no array: what reads them computes their elements, or adds to what they sum up.

    P = compute((n,), lambda i: A[i] + 1.0, "P")                       D[i] = 0
    S = compute((n,), lambda i: sum(P[k] * B[i, k], axis=k), "S")  ->  for k: D[i] += (A[k] + 1.0) * B[i, k]
    D = compute((n,), lambda i: relu(S[i]), "D")                       D[i] = relu(D[i])

May: a tensor without reductions always; one with reductions where a single tensor of the same shape, without reductions
of its own, reads it at its own indices alone. Should: if the user says so, or where no element is computed more than
once, or it is cheap (`INLINED_OPERATIONS`; `INLINED_AGAIN` in sums, where more loops than subscripts tell of elements
used often).

A tensor that is read only to be copied whole, by an update, is made in the place of the copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from polysched.config.heuristics.nest import INLINED_AGAIN, INLINED_OPERATIONS
from polysched.errors import InputError
from polysched.frontend.tensor.functions import Reduction
from polysched.frontend.tensor.tensor import Body, Tensor
from polysched.ir.node import children, loads, rewrite, substitute, walk
from polysched.ir.nodes import DIVISIONS, ONE_INSTRUCTION, Binary, Call, Const, Expr, Load, Select, Var
from polysched.ir.rename import rename_array

Bodies = tuple[Body, ...]


def inlined(tensors: Sequence[Tensor], outputs: Sequence[Tensor]) -> tuple[tuple[Tensor, Bodies], ...]:
    """Those of the tensors, each after those it reads, that get an array, with their bodies."""
    bodies = {tensor.name: tensor.bodies for tensor in tensors if tensor.bodies}
    for tensor in tensors:
        if tensor not in outputs and tensor.name in bodies:
            _without(tensor, bodies)
    return tuple((tensor, bodies[tensor.name]) for tensor in tensors if tensor.name in bodies)


def _without(tensor: Tensor, bodies: dict[str, Bodies]) -> None:
    """Changes `bodies` to ones without the tensor's, where that may and should be."""
    own = bodies[tensor.name]
    readers = [name for name, each in bodies.items() if name != tensor.name and loads_of(each, tensor.name)]
    if len(readers) == 1 and tensor.inline is not False and _is_only_copied(tensor.name, bodies[readers[0]]):
        del bodies[tensor.name]
        (reader,) = readers
        bodies[reader] = (*(renamed(body, tensor.name, reader) for body in own), *bodies[reader][1:])
    elif _may(tensor, own, [bodies[name] for name in readers]):
        if tensor.inline or (tensor.inline is None and _should(own[0], [bodies[name] for name in readers], tensor)):
            del bodies[tensor.name]
            for name in readers:
                bodies[name] = tuple(_with(body, tensor.name, own[0]) for body in bodies[name])
    elif tensor.inline:
        hint = "leave inline=True out: it gets an array"
        raise InputError(f"{tensor.name} has a reduction and cannot be computed where it is read", tensor.loc, hint)


def expressions(body: Body) -> Iterator[Expr]:
    """All expressions of a body but its extents."""
    yield from (*body.at, body.value)
    for reduction in body.reductions:
        yield from _expressions(reduction)


def loads_of(bodies: Bodies, name: str) -> list[Load]:
    return [load for body in bodies for expr in expressions(body) for load in loads(expr, name)]


def mapped(body: Body, change: dict[str, Expr]) -> Body:
    """The body with other expressions in place of names, not of those of its axes and indices."""
    return _rewritten(body, lambda expr: substitute(expr, change))


def renamed(body: Body, name: str, other: str) -> Body:
    """The body with another name of an array in it."""
    return _rewritten(body, lambda expr: rename_array(expr, name, other))


def is_same_element(one: Sequence[Expr], other: Sequence[Expr], extents: Sequence[Expr]) -> bool:
    """Are two subscripts in bounds surely the same? Along an axis of one element, 0 is all that they can be."""
    return all(first == second or n == Const(1) for first, second, n in zip(one, other, extents, strict=True))


def _expressions(reduction: Reduction) -> Iterator[Expr]:
    yield from (reduction.term, *((reduction.where,) if reduction.where is not None else ()))
    for axis in reduction.axes:
        yield from (axis.lo, axis.hi)


# --- may, and should


def _is_only_copied(name: str, reader: Bodies) -> bool:
    first, *rest = reader
    whole = Load(name, first.at, first.value.dtype)
    return bool(rest) and first.is_plain and first.value == whole and not loads_of(tuple(rest), name)


def _may(tensor: Tensor, own: Bodies, readers: Sequence[Bodies]) -> bool:
    """Would it be right? With reductions, if a single other tensor without reads it, at its own indices."""
    if len(own) > 1 or not own[0].is_plain or loads_of(own, tensor.name):
        return False
    match readers:
        case _ if not own[0].reductions:
            return True
        case [(Body(reductions=(), extents=extents) as body,)] if extents == tensor.extents and body.is_plain:
            return all(is_same_element(load.index, body.at, extents) for load in loads_of((body,), tensor.name))
    return False


def _should(own: Body, readers: Sequence[Bodies], tensor: Tensor) -> bool:
    if own.reductions:
        return True
    loads = [(body, load) for bodies in readers for body in bodies for load in loads_of((body,), tensor.name)]
    cost = max((_cost(_element(own, load)) for _, load in loads), default=0)
    loops = [(_axes(body, load), _not_units(body.extents), _dimensions(load, tensor)) for body, load in loads]
    if any(axes and axes + indices > dimensions for axes, indices, dimensions in loops):
        return cost <= INLINED_AGAIN
    once = len(loads) == 1 and all(indices <= dimensions for _, indices, dimensions in loops)
    return cost <= INLINED_OPERATIONS or once


def _axes(reader: Body, load: Load) -> int:
    """How many loops of reductions are around the load."""
    around = [r for r in reader.reductions if any(n is load for expr in _expressions(r) for n in walk(expr))]
    return sum(len(reduction.axes) for reduction in around)


def _not_units(extents: Sequence[Expr]) -> int:
    return sum(extent != Const(1) for extent in extents)


def _dimensions(load: Load, tensor: Tensor) -> int:
    pairs = zip(load.index, tensor.extents, strict=True)
    return sum(not isinstance(subscript, Const) and extent != Const(1) for subscript, extent in pairs)


def _cost(expr: Expr) -> int:
    """How many operations there are, of which most functions count as many, and of those in subscripts divisions by
    sizes alone, but not those that give digits of an index: its loop will be taken apart."""
    match expr:
        case Var() | Const():
            return 0
        case Load(index=index):
            return sum(_divides(node) and not _is_digit(node) for node in walk(index))
        case Call(fn=fn) if fn not in ONE_INSTRUCTION:
            return INLINED_OPERATIONS + 1 + sum(map(_cost, children(expr)))
        case Select():
            return 2 + sum(map(_cost, children(expr)))
    return 1 + sum(map(_cost, children(expr)))


def _divides(expr: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op in DIVISIONS and not isinstance(expr.right, Const)


def _is_digit(expr: Expr) -> bool:
    return isinstance(expr, Var) or (isinstance(expr, Binary) and expr.op in DIVISIONS and _is_digit(expr.left))


# --- how


def _element(body: Body, load: Load) -> Expr:
    """What a load of an element of a plain body's array gives."""
    return substitute(body.value, dict(zip(body.indices, load.index, strict=True)))


def _with(reader: Body, name: str, producer: Body) -> Body:
    """The reader with the producer's expression in place of the reads of its array."""
    if not loads_of((reader,), name):
        return reader
    taken = {*reader.indices, *producer.indices}
    producer = replace(producer, reductions=tuple(with_axes_beside(each, taken) for each in producer.reductions))

    def element(node: Expr) -> Expr | None:
        return _element(producer, node) if isinstance(node, Load) and node.array == name else None

    new = _rewritten(reader, lambda expr: rewrite(expr, element))
    if not producer.reductions:
        return new
    own: dict[str, Expr] = dict(zip(producer.indices, map(Var, reader.indices), strict=True))
    return replace(new, reductions=(*new.reductions, *mapped(producer, own).reductions))


def _rewritten(body: Body, new: Callable[[Expr], Expr]) -> Body:
    return replace(
        body,
        at=tuple(map(new, body.at)),
        value=new(body.value),
        reductions=tuple(_with_new(each, new) for each in body.reductions),
    )


def _with_new(reduction: Reduction, new: Callable[[Expr], Expr]) -> Reduction:
    axes = tuple(replace(axis, lo=new(axis.lo), hi=new(axis.hi)) for axis in reduction.axes)
    where = None if reduction.where is None else new(reduction.where)
    return replace(reduction, axes=axes, term=new(reduction.term), where=where, place=new(reduction.place))


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
    renamed = _with_new(reduction, lambda expr: substitute(expr, changed))
    return replace(renamed, axes=tuple(replace(axis, name=new[axis.name]) for axis in renamed.axes))


def fresh(name: str, taken: set[str]) -> str:
    """The name, or the first of name_2, name_3, ... that is not taken."""
    return name if name not in taken else next(f"{name}_{k}" for k in count(2) if f"{name}_{k}" not in taken)
