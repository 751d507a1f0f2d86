"""Threads with several points of their own: whole ones without guards, apart from those at an edge.

    for t (thread.y):                                        for t (thread.y):
        for i in 4 * t..min(n, 4 * t + 4) (unrolled):            if 4 * t + 4 <= n:
            B[i] = A[i]                               ->             for r in 0..4 (unrolled):
                                                                         B[4 * t + r] = A[4 * t + r]
                                                                 else:
                                                                     for i in 4 * t..min(n, 4 * t + 4):
                                                                         B[i] = A[i]

Unrolled, what neighboring points read is loaded once: it stays in registers. So are strips of points in the phases of a
kernel, between barriers, under whatever guards are around them.

Needs: names are bound once; steps are positive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from polysched.codegen.gpu.thread_nest import ThreadNest, each_kernel, edges, inside, on_threads, over_all, thread_nest
from polysched.codegen.lowered import around, is_mapped
from polysched.codegen.memory.tile_nest import least, side_of
from polysched.config.target import LIMITS
from polysched.ir.build import conjunction, where
from polysched.ir.integers.linear import Linear, added, is_never_negative, never_negative
from polysched.ir.node import rewrite, statements
from polysched.ir.nodes import Alloc, Barrier, Expr, For, Function, If, Stmt, Store, Var
from polysched.ir.rename import fresh_names, rename_bound, used_names


def whole_points(fn: Function) -> Function:
    """`fn` with every kernel whose threads run points and no serial loop in two versions."""
    names = fresh_names("p", used_names(fn))

    def in_two(kernel: For, host: dict[str, For]) -> Any:
        nest = thread_nest(kernel)
        conditions = whole_when(nest) if nest is not None and nest.points and not nest.serial else None
        if nest is None or conditions is None:
            return kernel
        whole = over_all(nest.points, {side.loop.var: side.var for side in nest.points}, (nest.store,))
        partial = around([replace(side.loop, kind="serial") for side in nest.points], (nest.store,))
        return split(nest, conditions, rename_bound(whole, lambda _: next(names)), partial, names)

    return each_kernel(fn, in_two)


def split(
    nest: ThreadNest, conditions: list[Expr], whole: tuple[Stmt, ...], partial: tuple[Stmt, ...], names: Iterator[str]
) -> tuple[Stmt, ...]:
    """All threads of a block test whether their points are whole; those that are not, whether they have any."""
    partial = where((condition for side in nest.threads for condition in inside(side)), *partial)
    partial = rename_bound(partial, lambda _: next(names))
    body: tuple[Stmt, ...] = (If(conjunction(conditions), whole, partial),) if conditions else whole
    return around(nest.blocks, on_threads(nest.threads, {s.loop.var: Var(next(names)) for s in nest.threads}, body))


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


def whole_strips(fn: Function) -> Function:
    """`fn` with the unrolled loop inside of threads in two versions, in every kernel whose phases share an array of the
    schedule's: what passes share between phases later has loops of its own."""
    names = fresh_names("p", used_names(fn))

    def in_two(kernel: For, host: dict[str, For]) -> Any:
        shares = any(isinstance(node, Alloc) and node.array.space == "shared" for node in statements(kernel))
        has_phases = shares and any(isinstance(node, Barrier) for node in statements(kernel))
        return rewrite(kernel, lambda node: _strip(node, names)) if has_phases else kernel

    return each_kernel(fn, in_two)


def _strip(node: Any, names: Iterator[str]) -> Any:
    """An unrolled loop around a store in two versions; None if it is none of constant length."""
    if not isinstance(node, For) or node.kind != "unrolled" or is_mapped(node):
        return None
    side = side_of(node, [node.var], LIMITS.block)
    if side is None or len(node.body) != 1 or not isinstance(node.body[0], Store):
        return None
    nest = ThreadNest((), (), (), (side,), node.body[0])
    conditions = whole_when(nest)
    if not conditions:
        return None
    whole = rename_bound(over_all(nest.points, {node.var: side.var}, node.body), lambda _: next(names))
    partial: tuple[Stmt, ...] = (replace(node, kind="serial"),)
    return If(conjunction(conditions), whole, rename_bound(partial, lambda _: next(names)))
