"""Registers for elements that a thread makes from beginning to end, or adds to, where staging has not put them there.

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

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from polysched.codegen.gpu.ends import Ends
from polysched.codegen.gpu.kept import with_kept
from polysched.codegen.gpu.points import split, whole_when
from polysched.codegen.gpu.staging_plan import around_sums, have_own_elements
from polysched.codegen.gpu.thread_nest import ThreadNest, each_kernel, each_phase, is_in_phases, over_all, thread_nest
from polysched.codegen.lowered import around, is_mapped, moved, private, rolled
from polysched.codegen.memory.contract import is_fixed
from polysched.codegen.memory.runs_when import runs_when
from polysched.ir.build import where
from polysched.ir.node import map_blocks, map_list, statements, variables, walk
from polysched.ir.nodes import Alloc, Barrier, Const, Expr, For, Function, Load, Stmt, Store, Var
from polysched.ir.rename import fresh_names, rename_bound, used_names


def in_registers(fn: Function) -> Function:
    """`fn` with every kernel as above that updates an element in a loop: with several points, or with stores to it
    before or after the loop."""
    registers = _Registers(fn)

    def of_phases(kernel: For, host: dict[str, For]) -> Any:
        return each_phase(kernel, registers.kernel) if is_in_phases(kernel) else registers.kernel(kernel, host)

    return each_kernel(fn, of_phases)


class _Registers:
    def __init__(self, fn: Function):
        self.taken = used_names(fn)
        self.names = fresh_names("q", self.taken)

    def kernel(self, loop: For, host: Mapping[str, For] | None = None) -> Any:
        """`loop` with registers; what it keeps of its array is known from the `host`'s loops, if they are given."""
        if any(isinstance(each, Barrier) for each in statements(loop)):
            return loop
        nest = thread_nest(loop) if host is None else with_kept(thread_nest(loop), host)
        if nest is None or not nest.points:
            return map_blocks(loop, self.block)
        outer, conditions = around_sums(nest, nest.serial), whole_when(nest)
        if outer is None or conditions is None or not _is_fit(nest, conditions):
            return loop
        runs = [] if nest.before or nest.after else runs_when(nest.serial[outer:])
        if runs is None:
            return loop
        return split(nest, conditions, self.whole(nest, outer, runs), rolled(_in_thread(loop)), self.names)

    # --- one element

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """The statements with a variable for each element that they make, if a loop is among them."""
        for stmt in body:
            if isinstance(stmt, Store) and _is_made(stmt, body):
                return self.block(self.with_variable(stmt, body))
        return map_list(body, lambda stmt: map_blocks(stmt, self.block))

    def with_variable(self, first: Store, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        variable = private(first.array, first.value.dtype, (), self.taken)
        places = {(first.array, first.index): (variable.name, ())}
        begin = replace(first, array=variable.name, index=())
        done = [begin if stmt is first else moved(stmt, places) for stmt in body]
        last = done[-1]
        if isinstance(last, Store) and last.array == variable.name:
            return (Alloc(variable), *done[:-1], replace(last, array=first.array, index=first.index))
        value = Load(variable.name, (), variable.dtype)
        return (Alloc(variable), *done, Store(first.array, first.index, value, first.loc))

    # --- several points

    def whole(self, nest: ThreadNest, outer: int, runs: list[Expr]) -> tuple[Stmt, ...]:
        """The sums of a thread inside of so many outer loops, where `runs` say that they have terms."""
        counters = {side.loop.var: Var(next(self.names)) for side in nest.points}
        extents = tuple(Const(side.trips) for side in nest.points)
        sums = private(nest.store.array, nest.store.value.dtype, extents, self.taken)
        ends = Ends(nest, Load(sums.name, tuple(counters.values()), sums.dtype))

        def over_points(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
            return rename_bound(over_all(nest.points, counters, body), lambda _: next(self.names))

        updates = around(nest.serial[outer:], over_points(ends.in_register((nest.store,))))
        body = (Alloc(sums), *over_points(ends.begin(())), *updates, *over_points(ends.end(())))
        return around(nest.serial[:outer], where(runs, *body))


def _is_fit(nest: ThreadNest, conditions: Sequence[Expr]) -> bool:
    """Has a thread a sum for each point, of which nothing but what is at the point is made, and all points in all of
    the serial loops or none?"""
    own = Load(nest.store.array, nest.store.index, nest.store.value.dtype)
    is_sum = bool(nest.before or nest.after) or (bool(nest.serial) and own in walk(nest.store.value))
    is_fixed = variables(tuple(conditions)).isdisjoint(loop.var for loop in nest.serial)
    return is_sum and is_fixed and nest.has_one_element and have_own_elements(nest)


def _is_made(first: Store, body: tuple[Stmt, ...]) -> bool:
    """Is it the first store to the one element of its array that the statements use, and does a loop update it?"""
    others = [stmt for stmt in body if stmt is not first]
    uses = [node for node in walk(body) if isinstance(node, Load | Store) and node.array == first.array]
    used_by = [stmt for stmt in body if any(node in uses for node in walk(stmt))]
    is_updated = any(isinstance(stmt, For) for stmt in used_by if stmt in others)
    is_one = all(node.index == first.index for node in uses) and is_fixed(first.index, body)
    return bool(first.index) and is_updated and is_one and used_by[0] is first


def _in_thread(kernel: For) -> tuple[Stmt, ...]:
    """What a thread runs."""
    match kernel.body:
        case (For() as inner,) if is_mapped(inner):
            return _in_thread(inner)
    return kernel.body
