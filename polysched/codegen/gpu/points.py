"""Threads with several points of their own: whole ones without guards, apart from those at an edge.

    for t (thread.y):                                        for t (thread.y):
        for i in 4 * t..min(n, 4 * t + 4) (unrolled):            if 4 * t + 4 <= n:
            B[i] = A[i]                               ->             for r in 0..4 (unrolled):
                                                                         B[4 * t + r] = A[4 * t + r]
                                                                 else:
                                                                     for i in 4 * t..min(n, 4 * t + 4):
                                                                         B[i] = A[i]

Unrolled, what neighbouring points read is loaded once: it stays in registers.

Needs: names are bound once; steps are positive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from polysched.codegen.gpu.thread_nest import ThreadNest, counted, edges, inside, on_threads, thread_nest
from polysched.codegen.memory.tile_nest import least
from polysched.codegen.parallel.survey import is_mapped
from polysched.ir.build import conjunction
from polysched.ir.integers.linear import Linear, added, is_never_negative, never_negative
from polysched.ir.node import map_children, substitute
from polysched.ir.nodes import Const, Expr, For, Function, If, Stmt
from polysched.ir.rename import fresh_names, rename_bound, used_names


def whole_points(fn: Function) -> Function:
    """`fn` with every kernel whose threads run points and no serial loop in two versions."""
    names = fresh_names("p", used_names(fn))

    def visit(node: Any) -> Any:
        if isinstance(node, For) and is_mapped(node):
            nest = thread_nest(node)
            conditions = whole_when(nest) if nest is not None and nest.points and not nest.serial else None
            return node if nest is None or conditions is None else _split(nest, conditions, names)
        return map_children(node, visit)

    return map_children(fn, visit)


def _split(nest: ThreadNest, conditions: list[Expr], names: Iterator[str]) -> tuple[Stmt, ...]:
    """All threads of a block test whether their points are whole; those that are not, whether they have any."""
    whole: tuple[Stmt, ...] = (nest.store,)
    partial: tuple[Stmt, ...] = (nest.store,)
    for side in reversed(nest.points):
        moved = substitute(whole, {side.loop.var: counted(side, side.var)})
        whole = (For(side.loop.var, Const(0), Const(side.trips), 1, moved, "unrolled", origin=side.loop.origin),)
        partial = (replace(side.loop, body=partial, kind="serial"),)
    if exists := [condition for side in nest.threads for condition in inside(side)]:
        partial = (If(conjunction(exists), partial),)
    whole, partial = (rename_bound(body, lambda _: next(names)) for body in (whole, partial))
    body: tuple[Stmt, ...] = (If(conjunction(conditions), whole, partial),) if conditions else whole
    body = on_threads(nest.threads, {side.loop.var: next(names) for side in nest.threads}, body)
    for loop in reversed(nest.blocks):
        body = (replace(loop, body=body),)
    return body


def whole_when(nest: ThreadNest) -> list[Expr] | None:
    """The conditions under which all points of a thread are in the domain; None if they are not linear."""
    found: list[Linear] = []
    for form in (form for side in (*nest.points, *nest.threads) for form in edges(side)):
        worst = least(form, nest.points)
        if worst is None:
            return None
        if not any(is_never_negative(added(worst, other, -1)) for other in ({}, *found)):
            found.append(worst)
    return [never_negative(form) for form in found]
