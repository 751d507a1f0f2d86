"""Parallel loops right inside of each other as one, so that threads share the iterations of both.

    for i in 0..2 (parallel):                      for c in 0..2 * n (parallel):
        for j in 0..n (parallel): ...      ->          i = c / n
                                                       j = c % n: ...

Needs: names are bound once. Keeps: the order of iterations. Where the inner loop has other bounds in each iteration of
the outer one, or something runs beside it, it is left as it is.
"""

from __future__ import annotations

from typing import Any

from polysched.codegen.one_loop import one_loop, only_loop
from polysched.ir.node import map_children
from polysched.ir.nodes import PARALLEL, Expr, For, Function
from polysched.ir.rename import fresh_names, used_names


def collapse(fn: Function) -> Function:
    """`fn` with such loops as one; the same object if it has none."""
    names = fresh_names("p", used_names(fn))

    def visit(node: Any) -> Any:
        while isinstance(node, For) and (inner := _inside(node)) is not None:
            node = one_loop(node, inner, next(names))
        return node if isinstance(node, Expr) else map_children(node, visit)

    return map_children(fn, visit)


def _inside(loop: For) -> For | None:
    inner = only_loop(loop)
    are_plain = all(one and one.kind in PARALLEL and not one.reduces and not one.prefetch for one in (loop, inner))
    return inner if are_plain else None
