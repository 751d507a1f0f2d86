"""Four or more dimensions of blocks on the three of a grid.

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

from polysched.codegen.lowered import from_start
from polysched.codegen.parallel.declined import decline
from polysched.ir.build import binary, mul
from polysched.ir.integers.trips import trips
from polysched.ir.node import map_children, walk
from polysched.ir.nodes import Const, For, Function, Let, Stmt, Var
from polysched.ir.rename import fresh_names, used_names


def fold_planes(fn: Function) -> Function:
    """`fn` without loops on block.w: those right around one on block.z are one loop with it, others are serial."""
    names = fresh_names("f", used_names(fn))

    def visit(node: Any) -> Any:
        if isinstance(node, For) and node.kind == "block.w":
            if (folded := _folded(node, names)) is None:
                decline(node, "no loop on block.z with ends of its own is right inside")
            return map_children(folded or replace(node, kind="serial"), visit)
        return map_children(node, visit)

    return map_children(fn, visit)


def _folded(outermost: For, names: Iterator[str]) -> For | None:
    planes = [outermost]
    while planes[-1].kind == "block.w":
        match planes[-1].body:
            case (For(kind="block.w" | "block.z", lo=lo, hi=hi) as inner,) if not any(
                node == Var(plane.var) for plane in planes for node in walk((lo, hi))
            ):
                planes.append(inner)
            case _:
                return None
    number = next(names)
    loop_variable, counts = number, [binary("max", trips(plane), 0) for plane in planes]
    lets: list[Stmt] = []
    for plane, count in zip(planes[:0:-1], counts[:0:-1], strict=True):
        lets.append(Let(plane.var, from_start(plane.lo, binary("floormod", Var(number), count))))
        quotient = binary("floordiv", Var(number), count)
        is_last = plane is planes[1]
        number = outermost.var if is_last else next(names)
        lets.append(Let(number, from_start(outermost.lo, quotient) if is_last else quotient))
    body = (*lets, *planes[-1].body)
    return For(loop_variable, Const(0), mul(*counts), 1, body, "block.z", outermost.loc, origin=outermost.origin)
