"""Loops of a GPU that reduce: every thread adds up a part, threads are combined in a tree, blocks by a second kernel.

    for i in 0..n (block.x, reduces s):                 for b in 0..min(1024, (n + 255) / 256) (block.x):
        s[0] = s[0] + a[i]                                  for t in 0..256 (thread.x):
                                                                acc = -0.0
                                                 ->             for i in 256 * b + t..n by 262144:
                                                                    acc = acc + a[i]
                                                                <tree over t>
                                                                if t == 0: part[b] = acc
                                                        for t in 0..256 (thread.x):     the parts in the same way,
                                                            ...                         then s[0] = s[0] + acc

    for i in .. (block.x, thread.y):                    32 lanes for each i: lane t has j = t, t + 32, ...
        for j in 0..m (thread.x, reduces y):     ->     <tree over t>
            y[i] = y[i] + A[i, j]                       if t == 0: y[i] = y[i] + acc

    for j in .. (block.x, thread.x):                    for b in 0..32 (block.y): 4 threads for each j:
        for i in 0..n (block.y, reduces y):      ->         thread t has i = 4 * b + t, 4 * b + t + 128, ...
            y[j] = y[j] + A[i, j]                           <tree over t>; if t == 0: part[b, j] = acc
                                                        for j .., for b: y[j] = y[j] + part[b, j]

Without a loop on thread.y, all threads of the block are lanes for its i. Of two loops that reduce, the outer one is on
the blocks, iteration i on block i modulo 1024, and the inner one on their threads. Few iterations are left to one
block, which needs no second kernel.

The order of the operations depends on nothing but the sizes. A thread takes its iterations in their order, and its team
combines the threads in a tree, as `teams.py` says. The blocks of one sum are added up as iterations of a
block are, those of columns first to last. The old value of the element comes before all of it, but for columns, where
the blocks follow it one after the other.

Needs: names are bound once; subscripts are not linearized yet; steps are positive.
Keeps: which updates each element gets; the order of those of floats is another one. A loop that does more than update
fixed elements runs serially.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import prod
from typing import Any

from polysched.codegen.gpu.sums.elements import guards_of
from polysched.codegen.gpu.sums.rows import in_rows, is_in_rows
from polysched.codegen.gpu.sums.teams import Adder, Finish, Team
from polysched.codegen.gpu.thread_nest import inside, on_threads
from polysched.codegen.lowered import around as in_loops
from polysched.codegen.lowered import is_mapped, private
from polysched.codegen.memory.tile_nest import side_of
from polysched.codegen.parallel.declined import serial
from polysched.codegen.parallel.updates import Update, updates_in
from polysched.config.heuristics.gpu import COLUMN, FEW_TERMS, SUM_BLOCKS, SUM_PARTS, SUM_THREADS
from polysched.config.target import LIMITS
from polysched.ir.build import add, binary, conjunction, floordiv, mul, where
from polysched.ir.dtypes import boolean
from polysched.ir.effects import may_change
from polysched.ir.integers.trips import bounded, most_trips, trips
from polysched.ir.node import arrays_of, map_blocks, rewrite, statements, walk
from polysched.ir.nodes import Alloc, Array, Binary, Const, Expr, For, Function, If, Let, Load, Stmt, Store, Var
from polysched.ir.rename import fresh_names, rename_bound, used_names


def reduce_on_gpu(fn: Function, *, shuffles: bool) -> Function:
    """`fn` without block and thread loops that reduce; `shuffles` between the lanes of a warp, or shared memory."""
    if not any(isinstance(node, For) and node.reduces for node in statements(fn.body)):
        return fn
    reducer = _Reducer(fn, shuffles)
    body = reducer.block(fn.body)
    return replace(fn, body=(*map(Alloc, reducer.parts), *body))


_Nest = Callable[[Team, tuple[Stmt, ...]], tuple[Stmt, ...]]


class _Reducer:
    def __init__(self, fn: Function, shuffles: bool):
        self.taken = used_names(fn)
        self.teams = Adder(self.taken, shuffles)
        self.names = fresh_names("r", self.taken)
        self.arrays = arrays_of(fn)
        self.parts: list[Array] = []  # what blocks have added up: made once, since loops of the host may be around

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """The statements, which the host runs, with kernels that add up in place of loops; an element that they add to
        is begun and finished in them, too."""
        done: list[Stmt] = []
        rest = list(body)
        while rest:
            stmt = rest.pop(0)
            if isinstance(stmt, For) and is_in_rows(stmt):
                loops = [node for node in statements(stmt) if isinstance(node, For)]
                done.append(in_rows(stmt, self.arrays, self.teams, _finish(loops)))
            elif is_mapped(stmt) and any(map(_reduces, walk(stmt))):
                ends = _Ends(_at_end(done[::-1], stmt)[::-1], _at_end(rest, stmt))
                done, rest = done[: len(done) - len(ends.before)], rest[len(ends.after) :]
                done += self.kernels(stmt, ends) or (*ends.before, _serial(stmt), *ends.after)
            else:
                done.append(stmt if is_mapped(stmt) else map_blocks(stmt, self.block))
        return tuple(done)

    def kernels(self, loop: For, ends: _Ends) -> tuple[Stmt, ...] | None:
        """The nest as one kernel or two; None if it is no such nest."""
        around: list[For] = []
        while not loop.reduces:
            inside = [(k, stmt) for k, stmt in enumerate(loop.body) if isinstance(stmt, For)]
            if len(inside) != 1 or may_change(loop.lo, loop.hi) or any(ends.stores):
                return None
            around.append(loop)
            ((k, inner),) = inside
            ends, loop = _Ends(loop.body[:k], loop.body[k + 1 :]), inner
        updates = updates_in(loop, self.arrays)
        if updates is None or any(update.row for update in updates) or may_change(loop.lo, loop.hi):
            return None
        if any(ends.stores) and not ends.fit(loop, updates):
            return None
        if around:
            guarded = guards_of(loop, around, updates)
            if guarded is None or (guarded[0] and any(ends.stores)):
                return None
            return self.in_teams(around, guarded[1], updates, ends, guarded[0])
        return self.on_blocks(loop, updates, ends) if _is_on_threads(loop) else None

    def in_teams(
        self, around: list[For], loop: For, updates: list[Update], ends: _Ends, guards: Sequence[Expr]
    ) -> tuple[Stmt, ...] | None:
        blocks = [each for each in around if each.kind.startswith("block")]
        threads = around[len(blocks) :]
        axis = loop.kind if loop.kind.startswith("thread") else "thread.y"
        names = [each.var for each in threads]
        sides = [side for each in threads if (side := side_of(each, names, LIMITS.block)) is not None]
        if len(sides) < len(threads) or any(each.kind in (loop.kind, axis) for each in around):
            return None
        size = COLUMN if axis != loop.kind else _dealt_to(loop) or (LIMITS.warp if sides else SUM_THREADS)
        if prod(side.trips for side in sides) * size > LIMITS.block:
            return None
        counters, member = {side.loop.var: Var(next(self.names)) for side in sides}, next(self.names)
        setup: list[Stmt] = []
        when: tuple[Expr, ...] = ()
        if conditions := [*(condition for side in sides for condition in inside(side)), *guards]:
            exists = next(self.names)
            setup.append(Let(exists, conjunction(conditions)))
            when = (Var(exists, boolean),)
        place = tuple((counters[side.loop.var], side.trips) for side in sides)

        def nest(team: Team, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
            own = For(member, Const(0), Const(team.size), 1, (*setup, *body), axis, origin=loop.origin)
            return in_loops(blocks, on_threads(sides, counters, (own,)))

        if axis != loop.kind:
            team = Team(Var(member), size, place, when, "columns")
            return self.on_columns(around, loop, updates, team, nest, ends, guards)
        team = Team(Var(member), size, place, when)
        own = _strided(loop, team.thread, team.size)
        return nest(team, self.teams.summed((own,), updates, team, _finish(around, ends)))

    def on_columns(
        self,
        around: list[For],
        loop: For,
        updates: list[Update],
        team: Team,
        nest: _Nest,
        ends: _Ends,
        guards: Sequence[Expr],
    ) -> tuple[Stmt, ...] | None:
        """Blocks for parts of the loop as well, and the nest again to add these up."""
        count = bounded(trips(loop), {each.var: each for each in around})
        if count is None:
            return None
        blocks = binary("min", floordiv(add(count, team.size - 1), team.size), SUM_PARTS)
        parts = {update.array.name: self.part(update, SUM_PARTS, update.array.shape) for update in updates}
        self.parts += parts.values()
        block = next(self.names)

        def keep(update: Update, value: Expr) -> tuple[Stmt, ...]:
            part = Store(parts[update.array.name].name, (Var(block), *update.index), value)
            return where(update.bounds(around), part)

        first = add(mul(Var(block), team.size), team.thread)
        share = nest(team, self.teams.summed((_strided(loop, first, team.size * SUM_PARTS),), updates, team, keep))

        def combined(update: Update) -> tuple[Stmt, ...]:
            number = next(self.names)
            added = For(number, Const(0), blocks, 1, self.all_added([update], parts, number))
            return where(ends.bounds(update, around), added)

        added = (stmt for update in updates for stmt in combined(update))
        combine = in_loops(around, where(guards, *ends.before, *added, *ends.after))
        combine = rename_bound(combine, lambda _: next(self.names))
        return (For(block, Const(0), blocks, 1, share, loop.kind, origin=loop.origin), *combine)

    def on_blocks(self, loop: For, updates: list[Update], ends: _Ends) -> tuple[Stmt, ...]:
        finish, count, dealt = _finish((), ends), trips(loop), _dealt_to(loop)
        lanes = [node for node in walk(loop.body) if is_mapped(node, "thread.x")]
        size = dealt or max((_dealt_to(each) or SUM_THREADS for each in lanes), default=SUM_THREADS)

        def alone() -> For:
            return self.on_threads(lambda thread: _strided(loop, thread, size), updates, finish, size)

        if dealt:
            return (If(binary("<", loop.lo, loop.hi), (alone(),), ends.stores),)
        width = 1 if lanes else size  # iterations that a block does at once
        parts = {update.array.name: self.part(update, SUM_BLOCKS) for update in updates}
        self.parts += parts.values()
        block, number = next(self.names), next(self.names)
        blocks = binary("min", floordiv(add(count, width - 1), width) if width > 1 else count, SUM_BLOCKS)

        def share(thread: Expr) -> For:
            first = Var(block) if width == 1 else add(mul(Var(block), width), thread)
            body = rewrite(loop.body, lambda n: _strided(n, thread, size) if is_mapped(n, "thread.x") else None)
            return _strided(replace(loop, body=body), first, width * SUM_BLOCKS)

        def keep(update: Update, value: Expr) -> tuple[Stmt, ...]:
            return (Store(parts[update.array.name].name, (Var(block),), value),)

        combine = For(number, Const(0), blocks, 1, self.all_added(updates, parts, number))
        shares = self.on_threads(share, updates, keep, size, repeats=True)
        grid: tuple[Stmt, ...] = (
            For(block, Const(0), blocks, 1, (shares,), "block.x", origin=loop.origin),
            self.on_threads(lambda thread: _strided(combine, thread, size), updates, finish, size),
        )
        if width > 1:
            grid = (If(binary("<=", count, FEW_TERMS), (alone(),), grid),)
        return (If(binary("<", loop.lo, loop.hi), grid, ends.stores),)

    def part(self, update: Update, count: int, shape: tuple[Expr, ...] = ()) -> Array:
        """What each of so many blocks has added up, for one element or for all of an array."""
        return private(update.array.name, update.array.dtype, (Const(count), *shape), self.taken)

    def all_added(self, updates: list[Update], parts: dict[str, Array], number: str) -> tuple[Stmt, ...]:
        """The elements, updated with the part of this number."""

        def added(update: Update) -> Store:
            part = parts[update.array.name]
            return _added(update, Load(part.name, (Var(number), *update.index[: len(part.shape) - 1]), part.dtype))

        return tuple(map(added, updates))

    def on_threads(
        self, share: Callable[[Expr], For], updates: list[Update], finish: Finish, size: int, *, repeats: bool = False
    ) -> For:
        """The threads of a block, each with its share of a loop."""
        thread = Var(next(self.names))
        own = share(thread)
        body = self.teams.summed((own,), updates, Team(thread, size, repeats=repeats), finish)
        return For(thread.name, Const(0), Const(size), 1, body, "thread.x", origin=own.origin)


@dataclass(frozen=True)
class _Ends:
    """What is done to the element of a sum before and after it: in a team, by its first thread, with the sum."""

    before: tuple[Stmt, ...] = ()
    after: tuple[Stmt, ...] = ()

    @property
    def stores(self) -> tuple[Stmt, ...]:
        return (*self.before, *self.after)

    def fit(self, loop: For, updates: list[Update]) -> bool:
        """Are there stores alone, of which the loop needs no other than those to the one element that it updates?"""
        used = {node.array for node in walk(loop) if isinstance(node, Load | Store)}
        elements = [(update.array.name, update.index) for update in updates]
        stored = [(stmt.array, stmt.index) if isinstance(stmt, Store) else None for stmt in self.stores]
        return len(updates) == 1 and all(each and (each in elements or each[0] not in used) for each in stored)

    def bounds(self, update: Update, around: Sequence[For]) -> tuple[Expr, ...]:
        """The conditions that there is such an element; none where it is stored before or after."""
        stored = [(stmt.array, stmt.index) for stmt in self.stores if isinstance(stmt, Store)]
        return () if (update.array.name, update.index) in stored else update.bounds(around)

    def around(self, *added: Stmt) -> tuple[Stmt, ...]:
        """All of it, in one store where it can be."""
        done: list[Stmt] = []
        for stmt in (*self.before, *added, *self.after):
            last = done[-1] if done else None
            both = _as_one(last, stmt) if isinstance(last, Store) and isinstance(stmt, Store) else None
            done[-1:] = [both] if both else [*done[-1:], stmt]
        return tuple(done)


def _finish(around: Sequence[For], ends: _Ends = _Ends()) -> Finish:
    """What ends a sum in these loops: its element, updated with one more value, if there is that element."""

    return lambda update, value: ends.around(*where(ends.bounds(update, around), _added(update, value)))


def _added(update: Update, value: Expr) -> Store:
    old = Load(update.array.name, update.index, update.array.dtype)
    return Store(update.array.name, update.index, Binary(update.op, old, value))


def _reduces(node: Any) -> bool:
    return isinstance(node, For) and bool(node.reduces)


def _at_end(stmts: Sequence[Stmt], loop: For) -> tuple[Stmt, ...]:
    """The first of the statements that store to the element that the loop updates, if it is one."""
    elements = {(node.array, node.index) for node in statements(loop) if isinstance(node, Store)}
    is_own = (isinstance(stmt, Store) and {(stmt.array, stmt.index)} == elements for stmt in stmts)
    return tuple(stmt for stmt, _ in zip(stmts, takewhile(bool, is_own), strict=False)) if loop.reduces else ()


def _as_one(one: Store, other: Store) -> Store | None:
    """The second of two stores to an element, computed from what the first one stores; None if that is used twice."""
    element = Load(one.array, one.index, one.value.dtype)
    uses = sum(node == element for node in walk(other))
    if (one.array, one.index) != (other.array, other.index) or uses > 1:
        return None
    return replace(other, value=rewrite(other.value, lambda node: one.value if node == element else None))


def _strided(loop: For, first: Expr, stride: int) -> For:
    """Every `stride`-th iteration from the one of number `first` on."""
    start = first if loop.step == 1 else mul(first, loop.step)
    lo = start if loop.lo == Const(0) else add(loop.lo, start)
    return replace(loop, lo=lo, step=loop.step * stride, kind="serial", reduces=())


def _dealt_to(loop: For) -> int | None:
    """The threads of whole warps that add up a loop inside if its iterations are dealt out in turns, one of them to
    each iteration of this one; None if they are not."""
    turns = most_trips(loop.lo, loop.hi, loop.step)
    match loop.body:
        case (For(step=step, kind="serial"),) if loop.kind == "thread.x" and step == turns:
            return LIMITS.team(step)
    return None


def _is_on_threads(loop: For) -> bool:
    """Is all that it stores inside of thread loops that reduce, or are there none?"""
    lanes = [node for node in walk(loop.body) if is_mapped(node)]
    if any(not is_mapped(each, "thread.x") or not each.reduces or may_change(each.lo, each.hi) for each in lanes):
        return False
    inside = sum(isinstance(node, Store) for each in lanes for node in statements(each.body))
    return not lanes or inside == sum(isinstance(node, Store) for node in statements(loop.body))


def _serial(loop: For) -> For:
    """The nest with every loop that reduces in one thread."""
    why = "the kernel around it is more than sums of which parts can be made"
    return rewrite(loop, lambda node: serial(node, why) if _reduces(node) else None)
