"""Lanes that read zeros around data apart from those inside of it, where several loads are guarded.

    for x in 0..n (vector):                       first = y >= 1 ? min(n, 1) : n
        o[y, x] = max(                    ->      for x in 0..first (vector):
            y >= 1 && x >= 1                          as it was
                ? a[y - 1, x - 1] : 0,            for x in first..n (vector):
            ...)                                      o[y, x] = max(a[y - 1, x - 1], ...)

A guarded load needs a mask, which compilers have for neighbors alone, and which costs more than what is made of it.

Needs: names are bound once; subscripts are not linearized yet; after `accumulate`.
Keeps: every value, and what is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeGuard

from polysched.codegen.memory.full_part import part_of
from polysched.config.heuristics.cpu import GUARDED_LOADS
from polysched.ir.dtypes import i64
from polysched.ir.effects import may_change
from polysched.ir.integers.linear import Linear, added, forms
from polysched.ir.node import map_children, rewrite, statements, walk
from polysched.ir.nodes import Alloc, Binary, Expr, For, Function, If, Let, Load, Select, Stmt, Store, Var
from polysched.ir.rename import bound_names, fresh_names, rename_bound, used_names


def borders_apart(fn: Function) -> Function:
    """`fn` with each SIMD loop of several guarded loads in up to three parts, of which one has no guards."""
    names = fresh_names("g", used_names(fn))
    whole = {stmt.array.name for stmt in fn.body if isinstance(stmt, Alloc)}
    local = (node.array for node in statements(fn.body) if isinstance(node, Alloc))
    registers = {array.name for array in local if array.shape} - whole

    def visit(node: Any) -> Any:
        if isinstance(node, For) and node.kind == "vector":
            return _parts(node, registers, names) or node
        return map_children(node, visit)

    return map_children(fn, visit)


def _parts(loop: For, registers: set[str], names: Iterator[str]) -> tuple[Stmt, ...] | None:
    """The loop in its parts; None if it is no such loop, or a row of a register tile."""
    is_flat = all(isinstance(stmt, Store | Let | Alloc | If) for stmt in statements(loop.body))
    is_tile = any(isinstance(stmt, Store) and stmt.array in registers for stmt in statements(loop.body))
    guarded = [node for node in walk(loop.body) if _is_guarded(node)]
    if not is_flat or is_tile or loop.step != 1 or loop.reduces or len(guarded) < GUARDED_LOADS:
        return None
    if may_change(loop.lo, loop.hi, *(select.cond for select in guarded)):
        return None
    conditions = [form for select in guarded for form in _conditions(select.cond)]
    known = [form for form in conditions if form is not None]
    found = part_of(loop.var, known, {loop.var, *bound_names(loop.body)}) if len(known) == len(conditions) else None
    if found is None:
        return None
    first, last = Var(next(names)), Var(next(names))
    begin, end = found.ends(loop, first)
    inside = rewrite(loop.body, lambda node: node.then if node in guarded else None)

    def part(lo: Expr, hi: Expr, body: tuple[Stmt, ...]) -> For:
        (copy,) = rename_bound((replace(loop, lo=lo, hi=hi, body=body),), lambda name: next(names))
        return copy

    before = (Let(first.name, begin), part(loop.lo, first, loop.body))
    if not found.highs:
        return (*before, part(first, loop.hi, inside))
    return (*before, Let(last.name, end), part(first, last, inside), part(last, loop.hi, loop.body))


def _is_guarded(node: Any) -> TypeGuard[Select | If]:
    match node:
        case Select(then=Load()) | If(other=()):
            return any(isinstance(inner, Load) for inner in walk(node.then))
    return False


def _conditions(cond: Expr) -> Iterator[Linear | None]:
    """Forms that are zero or more where the condition holds, and only there; None for one that has none."""
    match cond:
        case Binary("&&", left, right):
            yield from _conditions(left)
            yield from _conditions(right)
        case Binary(">=", above, below) | Binary("<=", below, above) if above.dtype == i64:
            yield _difference(above, below, 0)
        case Binary(">", above, below) | Binary("<", below, above) if above.dtype == i64:
            yield _difference(above, below, -1)
        case _:
            yield None


def _difference(above: Expr, below: Expr, more: int) -> Linear | None:
    highs, lows = forms(above, upper=True), forms(below, upper=False)
    return added(added(highs[0], lows[0], -1), {None: more}, 1) if len(highs) == len(lows) == 1 else None
