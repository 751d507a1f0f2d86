"""Accumulators that are stored in the end: the element that they are stored to takes their place.

    for i in 0..n:                              for i in 0..n:
        alloc s: private f64[]                      A[i] = 0.0
        s[] = 0.0                                   for k in 0..m:
        for k in 0..m:                  ->              A[i] = A[i] + B[i, k]
            s[] = s[] + B[i, k]
        A[i] = s[]

Otherwise s would become an array with an element for every i, so that iterations can run side by side, and what fills
it and what copies it would be loops, and kernels, of their own. Whether the sum is in a register is decided late, by
`accumulate`.

Keeps: what arrays hold in the end. An array that anything else in between reads or writes is left alone.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.ir.effects import is_total
from polysched.ir.node import at_element, map_blocks, map_list, touches, variables, walk
from polysched.ir.nodes import Alloc, Array, For, Function, Load, Stmt, Store
from polysched.ir.rename import bound_names


def accumulate_in_place(fn: Function) -> Function:
    """`fn` without the scalars that are only there until they are stored."""
    body = _block(fn.body)
    return fn if body is fn.body else replace(fn, body=body)


def _block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    body = map_list(body, lambda stmt: map_blocks(stmt, _block))
    for start, stmt in enumerate(body):
        if isinstance(stmt, Alloc) and not stmt.array.shape:
            rest = _without(stmt.array, body[start + 1 :])
            if rest is not None:
                return _block((*body[:start], *rest))
    return body


def _without(scalar: Array, rest: tuple[Stmt, ...]) -> tuple[Stmt, ...] | None:
    """The statements after the scalar's allocation without it; None if they need it."""
    end = max((k for k, stmt in enumerate(rest) if touches(stmt, scalar.name)), default=0)
    match rest[end : end + 1]:
        case (Store(value=Load(array=name)) as last,) if name == scalar.name and _may_replace(scalar, rest[:end], last):
            return (*at_element(rest[:end], name, last.array, last.index), *rest[end + 1 :])
    return None


def _may_replace(scalar: Array, between: tuple[Stmt, ...], store: Store) -> bool:
    """Is the element the same from the start, and used by nothing else; and is the scalar set first?"""
    changed = {*bound_names(between), scalar.name}
    return (
        store.value.dtype == scalar.dtype
        and any(isinstance(node, For) for node in walk(between))  # else it is a scalar of one statement, in a register
        and all(map(is_total, store.index))
        and not variables(store.index) & changed
        and not touches(between, store.array)
        and _is_set_first(between, scalar.name)
    )


def _is_set_first(statements: tuple[Stmt, ...], name: str) -> bool:
    first = next((stmt for stmt in statements if touches(stmt, name)), None)
    return isinstance(first, Store) and first.array == name and not touches(first.value, name)
