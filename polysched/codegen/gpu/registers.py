"""Registers for elements that a thread makes from beginning to end, where staging has not put them there.

    for i (thread.x):                               for i (thread.x):
        C[i] = 0                                        C_0 = 0
        for k in 0..m:                      ->          for k in 0..m:
            C[i] = C[i] + A[i, k]                           C_0 = C_0 + A[i, k]
        C[i] = max(C[i], b)                             C[i] = max(C_0, b)

A thread with several points has as many registers, if all of its points are in the domain; one that is at an edge works
in memory.

Needs: names are bound once; subscripts are not linearized yet.
Keeps: every value, and the order of operations on each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from polysched.codegen.gpu.ends import Ends
from polysched.codegen.gpu.footprint import footprint
from polysched.codegen.gpu.points import whole_when
from polysched.codegen.gpu.staging_plan import have_own_elements
from polysched.codegen.gpu.thread_nest import ThreadNest, counted, inside, on_threads, thread_nest
from polysched.codegen.memory.contract import is_fixed
from polysched.codegen.parallel.survey import is_mapped
from polysched.ir.build import conjunction
from polysched.ir.node import map_children, map_list, rewrite, substitute, walk
from polysched.ir.nodes import Alloc, Array, Barrier, Const, Expr, For, Function, If, Load, Stmt, Store, Var
from polysched.ir.rename import fresh_names, rename_bound, used_names


def in_registers(fn: Function) -> Function:
    """`fn` with every kernel as above that stores to an element before or after a loop that updates it."""
    return map_children(fn, _Registers(fn).visit)


class _Registers:
    def __init__(self, fn: Function):
        self.taken = used_names(fn)
        self.names = fresh_names("q", self.taken)

    def visit(self, node: Any) -> Any:
        if not (isinstance(node, For) and is_mapped(node)):
            return map_children(node, self.visit)
        if any(isinstance(each, Barrier) for each in walk(node)):
            return node
        nest = thread_nest(node)
        if nest is None or not nest.points:
            return self.inside(node)
        conditions = whole_when(nest) if _is_fit(nest) else None
        return node if conditions is None else self.split(nest, conditions, _in_thread(node))

    # --- one element

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """The statements with a variable for each element that they make, if a loop is among them."""
        for stmt in body:
            if isinstance(stmt, Store) and _is_made(stmt, body):
                return self.block(self.with_variable(stmt, body))
        return map_list(body, self.inside)

    def inside(self, stmt: Stmt) -> Stmt:
        match stmt:
            case For(body=body):
                new = self.block(body)
                return stmt if new is body else replace(stmt, body=new)
            case If(then=then, other=other):
                new, otherwise = self.block(then), self.block(other)
                return stmt if new is then and otherwise is other else replace(stmt, then=new, other=otherwise)
        return stmt

    def with_variable(self, first: Store, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        array = Array(next(fresh_names(f"{first.array}_", self.taken)), first.value.dtype, (), "private")
        variable = Load(array.name, (), array.dtype)

        def rule(node: Any) -> Any:
            is_it = isinstance(node, Load | Store) and node.array == first.array
            return replace(node, array=array.name, index=()) if is_it else None

        done: list[Stmt] = []
        for stmt in body:
            done.append(replace(first, array=array.name, index=()) if stmt is first else rewrite(stmt, rule))
        last = done[-1]
        if isinstance(last, Store) and last.array == array.name:
            return (Alloc(array), *done[:-1], replace(last, array=first.array, index=first.index))
        return (Alloc(array), *done, Store(first.array, first.index, variable, first.loc))

    # --- several points

    def split(self, nest: ThreadNest, conditions: list[Expr], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """All threads of a block test whether their points are whole; those that are not, whether they have any."""
        partial: tuple[Stmt, ...] = rewrite(body, _rolled)
        if exists := [condition for side in nest.threads for condition in inside(side)]:
            partial = (If(conjunction(exists), partial),)
        whole, partial = self.whole(nest), rename_bound(partial, lambda _: next(self.names))
        chosen = (If(conjunction(conditions), whole, partial),) if conditions else whole
        chosen = on_threads(nest.threads, {side.loop.var: next(self.names) for side in nest.threads}, chosen)
        return _around(nest.blocks, chosen)

    def whole(self, nest: ThreadNest) -> tuple[Stmt, ...]:
        counters = {side.loop.var: next(self.names) for side in nest.points}
        extents = tuple(Const(side.trips) for side in nest.points)
        sums = Array(next(fresh_names(f"{nest.store.array}_", self.taken)), nest.store.value.dtype, extents, "private")
        ends = Ends(nest, Load(sums.name, tuple(map(Var, counters.values())), sums.dtype))

        def over_points(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
            for side in reversed(nest.points):
                counter = counters[side.loop.var]
                body = substitute(body, {side.loop.var: counted(side, Var(counter))})
                body = (For(counter, Const(0), Const(side.trips), 1, body, "unrolled", origin=side.loop.origin),)
            return rename_bound(body, lambda _: next(self.names))

        updates = _around(nest.serial[nest.shared :], over_points(ends.in_register((nest.store,))))
        body = (Alloc(sums), *over_points(ends.begin(())), *updates, *over_points(ends.end(())))
        return _around(nest.serial[: nest.shared], body)


def _is_made(first: Store, body: tuple[Stmt, ...]) -> bool:
    """Is it the first store to the one element of its array that the statements use, and does a loop update it?"""
    others = [stmt for stmt in body if stmt is not first]
    uses = [node for node in walk(body) if isinstance(node, Load | Store) and node.array == first.array]
    used_by = [stmt for stmt in body if any(node in uses for node in walk(stmt))]
    is_updated = any(isinstance(stmt, For) for stmt in used_by if stmt in others)
    is_one = all(node.index == first.index for node in uses) and is_fixed(first.index, body)
    return bool(first.index) and is_updated and is_one and used_by[0] is first


def _is_fit(nest: ThreadNest) -> bool:
    """Has the thread a sum for each point, of which nothing but what is at the point is made?"""
    sides = (*nest.threads, *nest.points)
    is_linear = all(footprint((part,), sides) is not None for part in nest.store.index)
    has_ends = bool(nest.before or nest.after)
    return has_ends and nest.has_one_element and is_linear and have_own_elements(nest.points, nest.store.index)


def _in_thread(kernel: For) -> tuple[Stmt, ...]:
    """What a thread runs."""
    match kernel.body:
        case (For() as inner,) if is_mapped(inner):
            return _in_thread(inner)
    return kernel.body


def _rolled(node: Any) -> Any:
    return replace(node, kind="serial") if isinstance(node, For) and node.kind == "unrolled" else None


def _around(loops: Sequence[For], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    return body
