"""Finds the loops that run sums of products, and has them run as products of packed matrices, or as dot products.

    for f, y, x: out[f, y, x] = 0
    for f, y, x: for c, r, s: out[f, y, x] += data[c, y + r, x + s] * weight[f, c, r, s]        (kind "packed")

Sums that begin with a constant, which a loop before has stored, are not loaded, and the loop goes. So do the loops
behind that change each sum in place, as for a bias: it is stored as they leave it.

Needs: loops of the kinds "packed" and "dots", as the mark `Product` gives, with constant bounds around one store; names
are bound once; subscripts are not linearized yet.
Keeps: every bit, but where sums are dot products, which have their terms in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from polysched.codegen.products.dots import dots
from polysched.codegen.products.epilogue import is_near
from polysched.codegen.products.packed import Extents, packed
from polysched.ir.node import map_children, walk
from polysched.ir.nodes import Alloc, Const, Expr, For, Function, Stmt, Store, Var
from polysched.ir.rename import fresh_names, used_names
from polysched.ir.simplify import simplify
from polysched.machine import Machine
from polysched.transform.products import SumOfProducts, epilogue, sum_of_products

_KINDS = {"packed": packed, "dots": dots}


def pack_products(fn: Function, machine: Machine, *, parallel: bool = True) -> Function:
    """`fn` with each loop of the kinds "packed" and "dots" run by tiles, in registers; on threads if `parallel`."""
    if not any(isinstance(node, For) and node.kind in _KINDS for node in walk(fn.body)):
        return fn
    machine = machine if parallel else replace(machine, cores=1)
    local = (node.array for node in walk(fn.body) if isinstance(node, Alloc))
    extents = {array.name: array.shape for array in (*fn.arrays, *local)}
    return replace(fn, body=_block(fn.body, fresh_names("q", used_names(fn)), extents, machine))


def _block(body: tuple[Stmt, ...], names: Iterator[str], extents: Extents, machine: Machine) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    ahead = list(body)
    while ahead:
        stmt = ahead.pop(0)
        if isinstance(stmt, For) and stmt.kind in _KINDS:
            loops, inner = _nest(stmt)
            found = sum_of_products(loops, inner)
            assert found is not None, f"the loop {stmt.var} runs no sum of products"
            start = _constant(out[-1], found) if out else None
            if start is not None:
                out.pop()
                found = replace(found, start=start)
            while ahead and (more := _epilogue(ahead[0], found, extents)):
                ahead.pop(0)
                found = replace(found, ends=(*found.ends, *more))
            out += _KINDS[stmt.kind](found, names, extents, machine)
        else:
            out.append(map_children(stmt, lambda node: _inside(node, names, extents, machine)))
    return tuple(out)


def _inside(node: Any, names: Iterator[str], extents: Extents, machine: Machine) -> Any:
    return _block((node,), names, extents, machine) if isinstance(node, Stmt) else node


def _nest(loop: For) -> tuple[dict[str, int], tuple[Stmt, ...]]:
    """The extents of the loops from 0, and what they are around."""
    loops: dict[str, int] = {}
    body: tuple[Stmt, ...] = (loop,)
    while len(body) == 1 and isinstance(body[0], For):
        inner = body[0]
        match simplify(inner.lo), simplify(inner.hi), inner.step:
            case Const(0), Const(int(extent)), 1:
                loops[inner.var], body = extent, inner.body
            case _:
                break
    return loops, body


def _epilogue(stmt: Stmt, found: SumOfProducts, extents: Extents) -> tuple[Store, ...] | None:
    """What the loops of `stmt` make of each sum in place; None if they do more, or what they read is far apart."""
    ends = epilogue(found, *_nest(stmt)) if isinstance(stmt, For) else None
    return ends if ends and all(is_near(end, found, extents) for end in ends) else None


def _constant(stmt: Stmt, found: SumOfProducts) -> Const | None:
    """What `stmt` stores to each element of the sums, and to no other; None if it does not."""
    if not isinstance(stmt, For):
        return None
    loops, body = _nest(stmt)
    extents = {**found.batch.extents, **found.rows.extents, **found.columns.extents}
    match body:
        case (Store(found.store.array, index, Const() as value),):
            has_each_once = sorted(part.name for part in index if isinstance(part, Var)) == sorted(loops)
            is_all = _ranges(index, loops) == _ranges(found.store.index, extents)
            return value if has_each_once and is_all else None
    return None


def _ranges(index: tuple[Expr, ...], extents: Mapping[str, int]) -> list[int | Expr | None]:
    """From where to where the subscripts go: extents, or the subscripts that stay."""
    return [extents.get(part.name) if isinstance(part, Var) else part for part in index]
