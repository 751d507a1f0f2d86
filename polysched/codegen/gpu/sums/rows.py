"""Rows: kernels whose blocks add up between other loops on their threads.

    for i in 0..n (block.x):                        for i in 0..n (block.x):
        for t in 0..1 (thread.x): m = -inf              for t in 0..1 (thread.x): m = -inf
        barrier                                         barrier
        for t in 0..min(d, 256) (thread.x,              for t in 0..256 (thread.x):
                                 reduces m):                acc = -inf
            for j in t..d by 256:              ->           if t < d:
                m = max(m, x[i, j])                             for j in t..d by 256: acc = max(acc, x[i, j])
        barrier                                             <tree over t>
        for t in 0..min(d, 256) (thread.x):                 if t == 0: m = max(m, acc)
            for j in t..d by 256:                       barrier
                y[i, j] = x[i, j] - m                   ...

Each sum has all threads of the block, so that they meet at the barriers of its tree; iteration t stays on thread t, as
in the loops beside it. What is not on threads is on the first one (`codegen/gpu/first_thread.py`), as is the end of
each sum. A block that has several rows has them on thread.y, where each thread may have some one after the other: each
row has a team along x, and those past the last row go along, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polysched.codegen.gpu.sums.elements import guards_of
from polysched.codegen.gpu.sums.teams import Adder, Finish, Team
from polysched.codegen.gpu.thread_nest import block_shape, inside, is_in_phases, on_threads, over
from polysched.codegen.lowered import chain, is_mapped
from polysched.codegen.memory.tile_nest import Side, side_of
from polysched.codegen.parallel.declined import serial
from polysched.codegen.parallel.updates import Update, updates_in
from polysched.config.heuristics.gpu import UNKNOWN_BLOCK
from polysched.config.target import LIMITS
from polysched.ir.build import binary, conjunction, where
from polysched.ir.dtypes import boolean
from polysched.ir.integers.trips import most_trips
from polysched.ir.node import rewrite, statements, substitute, walk
from polysched.ir.nodes import Array, Const, Expr, For, Let, Stmt, Var
from polysched.ir.rename import fresh_names


def is_in_rows(kernel: For) -> bool:
    """Are there loops on thread.x, some of which reduce, one after the other in its loops on blocks, each in one on
    thread.y where a block has several rows?"""
    loop = kernel
    while len(loop.body) == 1 and is_mapped(loop.body[0], "block"):
        (loop,) = loop.body  # type: ignore[assignment]  # a loop on blocks
    is_one = len(loop.body) == 1 and isinstance(loop.body[0], For)
    axes = {node.kind for node in walk(loop.body) if is_mapped(node)}
    sums = {node.kind for node in statements(kernel) if isinstance(node, For) and node.reduces}
    is_wide = axes == {"thread.x", "thread.y"} and is_in_phases(kernel)
    return is_mapped(loop, "block") and not is_one and sums == {"thread.x"} and (axes == sums or is_wide)


def in_rows(kernel: For, arrays: Mapping[str, Array], adder: Adder, finish: Finish) -> For:
    """The kernel with its sums on all threads of a block; on one thread if there is one that they cannot add up."""
    lanes = [node for node in walk(kernel) if is_mapped(node, "thread.x")]
    lengths = [most_trips(Const(0) if each.reduces else each.lo, each.hi, each.step) for each in lanes]
    most = max(UNKNOWN_BLOCK["x"] if length is None else length for length in lengths)
    size = LIMITS.team(most)
    rows, beside = {loops[-1].var: loops[:-1] for loops in _around_sums(kernel)}, block_shape(kernel).get("thread.y", 1)
    sums = {each.var: _sum(each, rows.get(each.var, []), kernel, arrays) for each in lanes if each.reduces}
    if beside is None or size * beside > LIMITS.block or None in sums.values():
        return _on_one_thread(kernel)

    teams = {(rows.get(each.var) or [each])[0].var: each for each in lanes if each.reduces}

    def rule(node: Any) -> Any:
        lane = teams.get(node.var) if isinstance(node, For) else None
        own = sums[lane.var] if lane is not None else None
        return None if lane is None or own is None else _in_team(lane, own.beside(beside), size, adder, finish)

    return rewrite(kernel, rule)


@dataclass(frozen=True)
class _Sum:
    """A loop on threads of x that adds up, without the conditions under which it has anything to do; and the rows that
    it does so for, on thread.y and in its threads."""

    loop: For
    updates: list[Update]
    guards: tuple[Expr, ...]
    rows: tuple[Side, ...]

    def beside(self, threads: int) -> _Sum:
        """With so many threads along y, whether or not all have rows: they meet at the same barriers."""
        rows = (replace(side, trips=threads) if is_mapped(side.loop) else side for side in self.rows)
        return replace(self, rows=tuple(rows))


def _in_team(lane: For, own: _Sum, size: int, adder: Adder, finish: Finish) -> tuple[Stmt, ...]:
    """The sum by teams of so many threads."""
    names = fresh_names("r", adder.taken)
    counters = {side.loop.var: Var(next(names)) for side in own.rows}
    when, setup = own.guards, list[Stmt]()
    if conditions := [condition for side in own.rows for condition in inside(side)]:
        exists = Let(next(names), conjunction((*conditions, *own.guards)))
        when, setup = (Var(exists.name, boolean),), [exists]
    place = tuple((counters[side.loop.var], side.trips) for side in own.rows if is_mapped(side.loop))
    team = Team(Var(lane.var), size, place, when)
    body = (*setup, *adder.summed(_share(own.loop, size, adder.taken), own.updates, team, finish))
    done: tuple[Stmt, ...] = (replace(lane, lo=Const(0), hi=Const(size), body=body, reduces=()),)
    for side in reversed(own.rows):
        is_on_threads, counter = is_mapped(side.loop), counters[side.loop.var]
        done = on_threads((side,), counters, done) if is_on_threads else over(side, counter, done, "serial")
    return done


def _around_sums(kernel: For) -> list[list[For]]:
    """The loops from those on thread.y down to each that reduces, where nothing is beside them."""
    chains = (chain((node,)) for node in walk(kernel) if is_mapped(node, "thread.y"))
    return [loops[: k + 1] for loops in chains for k, loop in enumerate(loops) if loop.reduces]


def _sum(loop: For, rows: Sequence[For], kernel: For, arrays: Mapping[str, Array]) -> _Sum | None:
    """The loop in these rows; None if there are no parts of what it updates, its iterations are no numbers of threads,
    or a block has not always as many rows."""
    if not rows and any(is_mapped(each, "thread.y") for each in walk(kernel)):
        return None
    names = [each.var for each in rows]
    sides = (side_of(each, names[k:], LIMITS.block) for k, each in enumerate(rows))
    found = tuple(side for side in sides if side is not None)
    if len(found) < len(rows):
        return None
    updates = updates_in(loop, arrays)
    if updates is None or any(each.row for each in updates):
        return None
    if loop.step != 1 or most_trips(loop.lo, Const(0), 1) != 0:
        return None
    around = [*(node for node in walk(kernel) if is_mapped(node, "block")), *rows]
    guarded = guards_of(loop, around, updates)
    return None if guarded is None else _Sum(guarded[1], updates, guarded[0], found)


def _share(loop: For, size: int, taken: set[str]) -> tuple[Stmt, ...]:
    """What the thread of that number, the loop's variable, runs of it: the one iteration that it has, or each `size`-th
    where there may be more."""
    thread = Var(loop.var)
    low = [binary(">=", thread, loop.lo)] if loop.lo != Const(0) else []
    high = [binary("<", thread, loop.hi)] if loop.hi != Const(size) else []
    most = most_trips(Const(0), loop.hi, 1)
    if most is not None and most <= size:
        return where([*low, *high], *loop.body)
    turn = next(fresh_names(f"{loop.var}_", taken))
    body = substitute(where(low, *loop.body), {loop.var: Var(turn)})
    return (For(turn, thread, loop.hi, size, body),)


def _on_one_thread(kernel: For) -> For:
    def rule(node: Any) -> Any:
        if not is_mapped(node, "thread.x"):
            return None
        why = "not all that it adds up are parts of fixed elements"
        return serial(node, why) if node.reduces else replace(node, kind="serial")

    return rewrite(kernel, rule)
