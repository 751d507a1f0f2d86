"""The loops that store the elements of tensors, sums in the element that they are stored to.

    D[i] = sum(A[i, k], axis=k) / 2.0       ->      for i in 0..n:
                                                        D[i] = 0.0f32
                                                        for k in 0..64:
                                                            D[i] = D[i] + A[i, k]
                                                        D[i] = D[i] / 2.0f32

A sum of another dtype than the element's, or beside another one, is made in a scalar. What is greatest and where is
told by two statements without a branch, so that both are affine: I[i] = x >= best ? k : I[i], then best = max(best, x);
k runs down, so that of equal ones the first stays. As in NumPy, the first NaN is both greatest and least.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from polysched.frontend.tensor.fuse import Group
from polysched.frontend.tensor.inline import fresh, mapped, with_axes_beside
from polysched.frontend.tensor.reduce import ARGS, Reduction
from polysched.frontend.tensor.tensor import Body, Tensor
from polysched.ir.build import sub
from polysched.ir.dtypes import DType, boolean
from polysched.ir.node import rewrite, substitute, walk
from polysched.ir.nodes import Alloc, Array, Binary, Const, Expr, For, If, Load, Select, Stmt, Store, Var
from polysched.ir.simplify import simplify
from polysched.model.reduction import identity


def loops(group: Group, local: frozenset[str], taken: set[str]) -> tuple[Stmt, ...]:
    """The loops that store the elements of a group; tensors that are `local` are scalars in them.

    Names of other new scalars are added to those taken.
    """
    bodies = [(tensor, _beside(body, taken)) for tensor, body in group]
    statements = [stmt for tensor, body in bodies for stmt in _stores(tensor, body, taken)]
    first = bodies[0][1]

    def as_scalar(node: Expr | Stmt) -> Expr | Stmt | None:
        return replace(node, index=()) if isinstance(node, Load | Store) and node.array in local else None

    inner: tuple[Stmt, ...] = rewrite(tuple(statements), as_scalar)
    born = tuple(Alloc(Array(t.name, t.dtype, (), "private"), t.loc) for t, _ in group if t.name in local)
    inner = (*born, *inner)
    for var, extent in reversed(list(zip(first.indices, first.extents, strict=True))):
        inner = (For(var, Const(0), extent, 1, inner, loc=first.loc),)
    return inner


def _stores(tensor: Tensor, body: Body, taken: set[str]) -> Iterator[Stmt]:
    """What one iteration does."""
    bound = {*body.indices, *(axis.name for reduction in body.reductions for axis in reduction.axes)}
    value, element = body.value, Load(tensor.name, body.at, tensor.dtype)
    is_free = not any(isinstance(node, Load) and node.array == tensor.name for node in walk(value))
    for reduction in body.reductions:
        if is_free and reduction.dtype == tensor.dtype:
            result, is_free = element, False
        else:
            scalar = _scalar("acc", reduction.dtype, taken, bound)
            yield Alloc(scalar, reduction.loc)
            result = Load(scalar.name, (), scalar.dtype)
        yield from _reduced(reduction, result, taken, bound)
        value = substitute(value, {reduction.name: result})
    if value != element:
        yield Store(tensor.name, body.at, value, body.loc)


def _scalar(name: str, dtype: DType, taken: set[str], bound: set[str]) -> Array:
    name = fresh(name, taken | bound)
    taken.add(name)
    return Array(name, dtype, (), "private")


def _reduced(reduction: Reduction, result: Load, taken: set[str], bound: set[str]) -> Iterator[Stmt]:
    """The statements after which the element `result` is the reduction's."""
    loc, term = reduction.loc, reduction.term
    store = partial(Store, result.array, result.index, loc=loc)
    then: tuple[Stmt, ...] = (store(Binary(reduction.op, result, term)),)
    if reduction.op in ARGS:
        best = _scalar("best", term.dtype, taken, bound)
        so_far = Load(best.name, (), best.dtype)
        better: Expr = Binary(">=" if reduction.op == "argmax" else "<=", term, so_far)
        extreme: Expr = Binary(ARGS[reduction.op], so_far, term)
        if term.dtype.is_float:
            is_nan = Binary("!=", term, term)
            better, extreme = Binary("||", better, is_nan), Select(is_nan, term, extreme)
        yield Alloc(best, loc)
        yield Store(best.name, (), identity(ARGS[reduction.op], term.dtype), loc)
        then = (store(Select(better, reduction.place, result)), Store(best.name, (), extreme, loc))
    yield store(_first(reduction))
    body: tuple[Stmt, ...] = then if reduction.where is None else (If(reduction.where, then, loc=loc),)
    for axis in reversed(reduction.axes):
        lo, hi, step = axis.lo, axis.hi, 1
        if reduction.op in ARGS:
            lo, hi, step = simplify(sub(hi, 1)), simplify(sub(lo, 1)), -1
        body = (For(axis.name, lo, hi, step, body, loc=loc),)
    yield from body


def _first(reduction: Reduction) -> Const:
    """What the result is of no terms."""
    match reduction.op:
        case "argmax" | "argmin":
            return Const(0)
        case "||" | "&&":
            return Const(reduction.op == "&&", boolean)
        case "+" if reduction.dtype.is_float:
            return Const(0.0, reduction.dtype)
    return identity(reduction.op, reduction.dtype)


def _beside(body: Body, taken: set[str]) -> Body:
    """The body with indices and axes that have none of the names taken."""
    new: dict[str, str] = {}
    for name in body.indices:
        new[name] = fresh(name, {*taken, *body.indices, *new.values()}) if name in taken else name
    changed: dict[str, Expr] = {old: Var(name) for old, name in new.items() if old != name}
    around = {*taken, *new.values()}
    renamed = mapped(body, changed) if changed else body
    apart = tuple(with_axes_beside(each, around) for each in renamed.reductions)
    return replace(renamed, indices=tuple(new.values()), reductions=apart)
