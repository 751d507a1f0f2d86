"""Four dimensions of blocks on the three of a grid.

    for n in 0..N (block.w):                    for f in 0..N * H (block.z):
        for h in 0..H (block.z):        ->          h = f mod H
            ...                                     n = f / H
                                                    ...

Needs: names are bound once; loops over blocks step by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from polysched.codegen.emit.extents import trips
from polysched.ir.build import binary
from polysched.ir.node import map_children, walk
from polysched.ir.nodes import Const, Expr, For, Function, Let, Stmt, Var
from polysched.ir.rename import fresh_names, used_names


def fold_planes(fn: Function) -> Function:
    """`fn` without loops on block.w: with one on block.z directly inside they are one loop, else they are serial."""
    names = fresh_names("f", used_names(fn))

    def visit(node: Any) -> Any:
        if isinstance(node, For) and node.kind == "block.w":
            return map_children(_folded(node, names) or replace(node, kind="serial"), visit)
        return map_children(node, visit)

    return map_children(fn, visit)


def _folded(outer: For, names: Iterator[str]) -> For | None:
    match outer.body:
        case (For(kind="block.z") as inner,) if not any(node == Var(outer.var) for node in walk((inner.lo, inner.hi))):
            both, count = next(names), binary("max", trips(inner), 0)
            lets: tuple[Stmt, ...] = (
                Let(inner.var, _from(inner.lo, binary("floormod", Var(both), count))),
                Let(outer.var, _from(outer.lo, binary("floordiv", Var(both), count))),
            )
            total = binary("*", binary("max", trips(outer), 0), count)
            return For(both, Const(0), total, 1, (*lets, *inner.body), "block.z", outer.loc)
    return None


def _from(start: Expr, offset: Expr) -> Expr:
    return offset if start == Const(0) else binary("+", start, offset)
