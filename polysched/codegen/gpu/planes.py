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

from polysched.codegen.one_loop import one_loop, only_loop
from polysched.codegen.parallel.declined import decline
from polysched.ir.node import map_children
from polysched.ir.nodes import For, Function
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


def _folded(loop: For, names: Iterator[str]) -> For | None:
    while loop.kind == "block.w":
        inner = only_loop(loop)
        if inner is None or inner.kind not in ("block.w", "block.z"):
            return None
        loop = replace(one_loop(loop, inner, next(names)), kind=inner.kind)
    return loop
