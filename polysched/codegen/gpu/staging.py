"""Shared memory for what the threads of a block read again and again, and registers for what they add to.

    for i (thread.y), for j (thread.x):                     acc[8, 8] = C[i.., j..]
        for k0 in chunks of 16:                             for k0 in chunks of 16:
            for k in k0..min(m, k0 + 16):           ->          barrier; A_ = A[i0.., k0..]; B_ = B[k0.., j0..]; barrier
                for 8 x 8 points:                               for k in 0..16, for 8 x 8 points:
                    C[i, j] += A[i, k] * B[k, j]                    acc[..] += A_[k, ..] * B_[k, ..]
                                                            C[i.., j..] = acc[8, 8]

All threads run all of it, also those of partial tiles, whose copies hold zeros: nothing in the loop over k is guarded,
and no barrier diverges. Chunks that are not full are split off. Threads outside of the domain do not store.

With two buffers, a block copies one chunk while it computes with the one before: a single barrier a chunk, at which the
copies of the chunk have arrived, and no thread still reads the other buffer.

Needs: names are bound once; subscripts are not linearized yet; the loops of a kernel are perfectly nested.
Keeps: every value, and the order of operations on each element.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

from polysched.codegen.gpu.copies import Lanes, copied, element_of, fits_when
from polysched.codegen.gpu.ends import Ends
from polysched.codegen.gpu.footprint import in_locals
from polysched.codegen.gpu.kept import with_kept
from polysched.codegen.gpu.quotients import quotients_last
from polysched.codegen.gpu.staging_plan import NoCopies, Plan, Surroundings, plan_of, surroundings
from polysched.codegen.gpu.thread_nest import (
    ThreadNest,
    block_shape,
    each_kernel,
    each_phase,
    edges,
    inside,
    is_in_phases,
    on_threads,
    over,
    over_all,
    thread_nest,
    widened,
)
from polysched.codegen.lowered import around, bytes_of, private
from polysched.codegen.memory.tile_nest import full_when, mentions, side_of
from polysched.config.heuristics.gpu import UNROLLED_UPDATES
from polysched.config.target import LIMITS
from polysched.ir.build import binary, conjunction, floormod, where
from polysched.ir.integers.facts import Facts
from polysched.ir.integers.linear import Linear, added, cleared, expression, is_never_negative, never_negative
from polysched.ir.node import rewrite, statements, substitute, walk
from polysched.ir.nodes import (
    Alloc,
    Array,
    Barrier,
    Const,
    Expr,
    For,
    Function,
    If,
    Let,
    Load,
    Select,
    Stmt,
    Store,
    Var,
)
from polysched.ir.rename import fresh_names, rename_bound
from polysched.prelude.padding.padded_copy import is_zero_outside
from polysched.support import trace


def stage(fn: Function, *, double_buffer: bool = False, fast_math: bool = False, room: int = LIMITS.shared) -> Function:
    """`fn` with every kernel, and every phase of one, that updates elements in a serial loop of constant chunks as
    above; of kernels in phases, blocks share so many bytes."""
    known = surroundings(fn, 2 if double_buffer else 1)

    def staged(kernel: For, nest: ThreadNest | None, around: Surroundings, host: dict[str, For]) -> Any:
        try:
            nest = quotients_last(nest, Facts.of(fn)) if nest is not None and fast_math else nest
            return StagedKernel(plan_of(nest, around), around, host).statements()
        except NoCopies as why:
            for loop in _chunks(kernel):
                trace.decline("copied in chunks", loop.origin, str(why))
            return kernel

    def in_phases(kernel: For, host: dict[str, For]) -> Any:
        if not is_in_phases(kernel):
            return staged(kernel, with_kept(thread_nest(kernel), host), replace(known, host=host), host)
        shape, own = block_shape(kernel), _shared(kernel)

        def phase(part: For) -> Any:
            nest = thread_nest(part)
            if nest is None or (nest := widened(nest, shape)) is None:
                return part
            around = replace(known, shared=[each.name for each in own], room=room - sum(map(bytes_of, own)))
            made = staged(part, nest, around, host)
            own.extend(each for each in _shared(made) if each not in own)
            return made

        return each_phase(kernel, phase)

    return each_kernel(fn, in_phases)


def _shared(body: Any) -> list[Array]:
    """The arrays that the threads of a block share."""
    return [node.array for node in statements(body) if isinstance(node, Alloc) and node.array.space == "shared"]


def _chunks(kernel: For) -> list[For]:
    """The serial loops of constant length that begin where another one has come to, as one over tiles does."""
    serial = [node for node in statements(kernel) if isinstance(node, For) and node.kind == "serial"]
    counters = {Var(loop.var) for loop in serial}
    begun = [loop for loop in serial if not counters.isdisjoint(walk(loop.lo))]
    return [loop for loop in begun if side_of(loop, [loop.var], LIMITS.block)]


class StagedKernel:
    """Builds the kernel of a plan."""

    line = 1  # elements that are copied at a time

    def __init__(self, plan: Plan, known: Surroundings, host: dict[str, For]):
        self.plan, self.extents = plan, known.extents
        self.names = fresh_names("s", known.taken)
        nest = plan.nest
        inner = (*nest.blocks, *plan.outer, *plan.between)
        self.loops = {**host, **{loop.var: loop for loop in inner}}  # around a chunk, the same for all threads
        self.counters = {side.loop.var: Var(next(self.names)) for side in plan.sides}
        self.lets: list[Stmt] = []
        self.lanes = self.block_lanes()
        self.own, shape = self.register(), tuple(map(Const, self.registers()))
        self.sums = private(nest.store.array, nest.store.value.dtype, shape, known.taken)
        self.ends = Ends(nest, Load(self.sums.name, self.own, self.sums.dtype))
        self.thread_inside = self.named([cond for side in nest.threads for cond in inside(side)])

    def registers(self) -> tuple[int, ...]:
        """The shape of what holds the sums of a thread."""
        return tuple(side.trips for side in self.plan.nest.points)

    def register(self) -> tuple[Var, ...]:
        """Which of them is a point's."""
        return tuple(self.counters[side.loop.var] for side in self.plan.nest.points)

    def block_lanes(self) -> Lanes:
        first, *others = self.plan.nest.threads
        number: Expr = self.counters[first.loop.var]
        for side in others:
            number = binary("+", binary("*", number, side.trips), self.counters[side.loop.var])
        if others:
            name = next(self.names)
            self.lets.append(Let(name, number))
            number = Var(name)
        return Lanes(number, prod(side.trips for side in self.plan.nest.threads), self.names, self.lets)

    def named(self, conditions: list[Expr]) -> list[Expr]:
        """The conditions under one name, if there are any."""
        if not conditions:
            return []
        let = Let(next(self.names), conjunction(conditions))
        self.lets.append(let)
        return [Var(let.name, let.value.dtype)]

    def statements(self) -> tuple[Stmt, ...]:
        plan, nest = self.plan, self.plan.nest
        body = around(plan.outer, self.sums_around(self.chunks()) if nest.serial else self.from_copies())
        copies = tuple(Alloc(staged.copy) for staged in plan.copies)
        body = (*self.lets, *body) if nest.blocks else (*copies, *self.lets, *body)  # not with what the host allocates
        body = on_threads(nest.threads, self.counters, body)
        return around(nest.blocks, (*copies, *body) if nest.blocks else body)

    def renamed(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return rename_bound(body, lambda name: next(self.names))

    # --- the sums

    def sums_around(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        conditions = [*self.thread_inside, *self.points_inside()]
        before, after = self.ends.begin(conditions), self.ends.end(conditions)
        before, after = self.renamed(self.over_points(before)), self.renamed(self.over_points(after))
        return (Alloc(self.sums), *before, *body, *after)

    def from_copies(self) -> tuple[Stmt, ...]:
        """All points of a nest without sums, of which some operands are read from copies."""
        store = self.plan.nest.store
        copies = self.inner_and_edge([], lambda facts: (Barrier(), *self.fills(facts, None), Barrier()))
        values = {v: element_of(s, self.plan.sides, self.counters, Const(0)) for v, s in self.plan.staged.items()}
        value = rewrite(store.value, lambda node: values.get(node) if isinstance(node, Expr) else None)
        body = where((*self.thread_inside, *self.points_inside()), replace(store, value=value))
        return (*copies, *self.renamed(self.over_points(body)))

    def points_inside(self) -> list[Expr]:
        """When a point of a thread that has any is in the domain: conditions that others do not imply."""
        found = [form for side in reversed(self.plan.nest.points) for form in edges(side)]
        kept: list[Linear] = []
        for form in found:
            local = in_locals(form, self.plan.sides, self.counters)
            others = (in_locals(other, self.plan.sides, self.counters) for other in kept)
            if not any(self.grows(added(local, other, -1)) for other in others):
                kept.append(form)
        return [never_negative(form) for form in kept]

    def grows(self, form: Linear) -> bool:
        """Is it a sum of counters, never negative?"""
        counters = set(self.counters.values())
        return all(f >= 0 and (a is None or a in counters) for a, f in form.items() if f)

    def over_points(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return over_all(self.plan.nest.points, self.counters, body)

    # --- chunks

    def chunks(self) -> tuple[Stmt, ...]:
        """The loops around the chunks, with full ones apart, and there those of blocks that no edge cuts."""
        if not self.plan.between:
            return self.chunk(None if self.full_when() else [])
        *outer, loop = self.plan.between
        full = self.full_when()
        limits = _limits(full, loop)
        body: tuple[Stmt, ...]
        if limits is None:
            body = (replace(loop, body=self.chunk(None)),)
        elif not limits:
            body = self.inner_and_edge([], lambda facts: self.full_chunks(loop, loop.hi, facts))
        else:
            last, again = Var(next(self.names)), next(self.names)
            partial = substitute(self.chunk(None), {loop.var: Var(again)})
            body = (
                Let(last.name, binary("max", binary("min", loop.hi, *limits), loop.lo)),
                *self.inner_and_edge(full, lambda facts: self.full_chunks(loop, last, facts)),
                replace(loop, var=again, lo=last, body=partial),
            )
        return around(outer, body)

    def full_when(self) -> list[Linear]:
        """Forms that are zero or more where a chunk is full."""
        found: list[Linear] = []
        for form in map(cleared, full_when(self.plan.chunk)):
            if not is_never_negative(form) and form not in found:
                found.append(form)
        return found

    def inner_and_edge(self, facts: list[Linear], body: Callable[[list[Linear]], tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
        """`body` given the facts; apart for blocks whose copies lie inside of the arrays whatever the loops do."""
        inner = [loop.var for loop in (*self.plan.outer, *self.plan.between)]
        edges = [
            form
            for staged in self.plan.copies
            for form in fits_when(staged, self.extents[staged.load.array], self.loops, facts)
            if not mentions(form, inner)
        ]
        if not edges:
            return self.renamed(body(facts))
        condition = conjunction(dict.fromkeys(never_negative(form) for form in edges))
        return (If(condition, self.renamed(body([*facts, *edges])), self.renamed(body(facts))),)

    def full_chunks(self, loop: For, end: Expr, facts: list[Linear]) -> tuple[Stmt, ...]:
        """The full chunks, up to `end`, where `facts` are never negative."""
        if loop.step != 1 or not any(staged.buffers > 1 for staged in self.plan.copies):  # else chunks take turns
            return (replace(loop, hi=end, body=self.chunk(facts)),)
        now, then = Var(loop.var), binary("+", Var(loop.var), loop.step)
        first = substitute(self.fills(facts, floormod(now, 2)), {loop.var: loop.lo})
        following = substitute(self.fills(facts, floormod(now, 2)), {loop.var: then})
        updates = self.updates(is_full=True, slot=floormod(now, 2))
        body = (Barrier(arrivals=True), If(binary("<", then, end), following), *updates)
        return (Barrier(), If(binary("<", loop.lo, end), first), replace(loop, hi=end, body=body))

    def chunk(self, full: list[Linear] | None) -> tuple[Stmt, ...]:
        """Copies and updates of one chunk; all of it if `full` are forms that are never negative here."""
        updates = self.updates(is_full=full is not None, slot=Const(0))
        return self.renamed((Barrier(), *self.fills(full or [], None), Barrier(), *updates))

    def fills(self, facts: list[Linear], slot: Expr | None) -> tuple[Stmt, ...]:
        filled: list[Stmt] = []
        for staged in self.plan.copies:
            extents = self.extents[staged.load.array]
            filled += copied(staged, extents, self.lanes, self.loops, facts, slot, self.line)
        return self.renamed(tuple(filled))

    def without_guards(self, value: Expr) -> Expr:
        """The value without the padding that copies have as zeros, too."""

        def rule(node: Any) -> Any:
            match node:
                case Select(_, Load(array) as load) if load in self.plan.staged:
                    return load if is_zero_outside(node, self.extents[array]) else None
            return None

        return rewrite(value, rule)

    def updates(self, *, is_full: bool, slot: Expr) -> tuple[Stmt, ...]:
        plan, store = self.plan, self.plan.nest.store
        counters: dict[str, Expr] = {**self.counters}
        if not is_full:
            counters |= {s.loop.var: binary("-", s.var, expression(s.start)) for s in plan.chunk}
        values: dict[Expr, Expr] = {
            value: element_of(staged, plan.sides, counters, slot) for value, staged in plan.staged.items()
        }
        values[Load(store.array, store.index, self.sums.dtype)] = self.ends.register
        plain = self.without_guards(store.value)
        new = rewrite(plain, lambda node: values.get(node) if isinstance(node, Expr) else None)
        update: tuple[Stmt, ...] = (Store(self.sums.name, self.own, new, store.loc),)
        body = self.over_points(update if plan.runs_anywhere else where(self.points_inside(), *update))
        kind = "unrolled" if prod(s.trips for s in (*plan.chunk, *plan.nest.points)) <= UNROLLED_UPDATES else "serial"
        for side in reversed(plan.chunk):
            counter = self.counters[side.loop.var]
            body = over(side, counter, body, kind) if is_full else (replace(side.loop, body=body),)
        return body if plan.runs_anywhere else where(self.thread_inside, *body)


def _limits(full: list[Linear], loop: For) -> list[Expr] | None:
    """The ends of the iterations for which the forms are not negative; None if the loop does not begin with these."""
    key, limits = Var(loop.var), []
    for form in full:
        factor, rest = form.get(key, 0), {atom: f for atom, f in form.items() if atom != key}
        if factor >= 0 or loop.step != 1 or mentions(rest, [loop.var]):
            return None
        limits.append(binary("+", binary("floordiv", expression(rest), -factor), 1))
    return limits
