"""Loops of one iteration and dimensions of one element, left out: nothing that is scheduled needs to know of them.

    for n in 0..1:
        for i in 0..m:                          for i in 0..m:
            out[i, n] = a[n, i]         ->          out[i] = a[i]

so that `i` is seen to step from one element of `out` to the next. The memory of arrays stays as it was.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.ir.node import map_blocks, rewrite, substitute, uses, walk
from polysched.ir.nodes import Alloc, Array, Const, Expr, For, Function, If, Load, Stmt, Store

_ZERO = Const(0)


def without_units(fn: Function) -> Function:
    """`fn` without loops from 0 to 1, and without those dimensions of one element whose subscripts are all 0; each
    array keeps one. The same object if there are none."""
    body = _folded(fn.body)
    arrays = {array.name: array for array in (*fn.arrays, *(n.array for n in walk(body) if isinstance(n, Alloc)))}
    kept = {name: _kept(array, body) for name, array in arrays.items()}
    if body == fn.body and all(len(kept[name]) == len(array.shape) for name, array in arrays.items()):
        return fn

    def some(items: tuple[Expr, ...], name: str) -> tuple[Expr, ...]:
        return tuple(items[k] for k in kept[name])

    def shaped(array: Array) -> Array:
        return replace(array, shape=some(array.shape, array.name))

    def rule(node: Expr | Stmt) -> Expr | Stmt | None:
        match node:
            case Load(array=name, index=index) | Store(array=name, index=index) if len(kept[name]) < len(index):
                return replace(node, index=some(index, name))
            case Alloc(array=array) if len(kept[array.name]) < len(array.shape):
                return replace(node, array=shaped(array))
        return None

    return replace(fn, arrays=tuple(map(shaped, fn.arrays)), body=rewrite(body, rule))


def _folded(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements, with the bodies of serial loops from 0 to 1 in place of these."""
    found: list[Stmt] = []
    for stmt in body:
        match stmt:
            case For(var, lo, Const(1), body=inner, kind="serial") if lo == _ZERO and _may_stand_alone(inner):
                found += _folded(substitute(inner, {var: _ZERO}))
            case _:
                found.append(map_blocks(stmt, _folded))
    return tuple(found)


def _may_stand_alone(body: tuple[Stmt, ...]) -> bool:
    """Does the body bind no name for the rest of its block, which would reach beyond the loop?"""
    return all(isinstance(stmt, Store | For | If) for stmt in body)


def _kept(array: Array, body: tuple[Stmt, ...]) -> tuple[int, ...]:
    """The dimensions that stay."""
    if Const(1) not in array.shape:
        return tuple(range(len(array.shape)))
    indices = [use.index for use in uses(body, array.name)]
    units = [k for k, extent in enumerate(array.shape) if extent == Const(1) and all(at[k] == _ZERO for at in indices)]
    kept = tuple(k for k in range(len(array.shape)) if k not in units)
    return kept or tuple(range(min(1, len(array.shape))))
