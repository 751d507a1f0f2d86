"""Kernels that are one nest: blocks, threads, serial loops, a block of points, and one store.

    for b (block.x):
        for t in 16 * b..min(16 * b + 16, ..) (thread.x):         threads: 16, from 16 * b
            for k in 0..n by chunks:                              serial
                for j in 4 * t..min(4 * t + 4, m) (unrolled):     points: 4, from 4 * t
                    C[j] = C[j] + A[j, k]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polysched.codegen.passes.tile_nest import Side, side_of
from polysched.ir.effects import may_change
from polysched.ir.linear import Linear, added, cleared, expression, forms, is_never_negative, never_negative
from polysched.ir.nodes import Binary, Const, Expr, For, Let, Stmt, Store, Var

_MOST = 1024  # threads of a block


@dataclass(frozen=True)
class ThreadNest:
    """The loops of a kernel, outermost first, and the store inside."""

    blocks: tuple[For, ...]
    threads: tuple[Side, ...]
    serial: tuple[For, ...]
    points: tuple[Side, ...]
    store: Store

    @property
    def thread_names(self) -> set[str]:
        """What differs from one thread or point to another."""
        return {side.loop.var for side in (*self.threads, *self.points)}


def thread_nest(loop: For) -> ThreadNest | None:
    """`loop` as such a kernel; None if it is none, or has bounds that its own stores may change."""
    loops = [loop]
    while len(loops[-1].body) == 1 and isinstance(loops[-1].body[0], For):
        loops.append(loops[-1].body[0])
    body = loops[-1].body
    if len(body) != 1 or not isinstance(body[0], Store) or any(may_change(each.lo, each.hi) for each in loops):
        return None
    blocks = [each for each in loops if each.kind.startswith("block")]
    threads = [each for each in loops if each.kind.startswith("thread")]
    serial = [each for each in loops if each.kind == "serial"]
    points = [each for each in loops if each.kind == "unrolled"]
    if [*blocks, *threads, *serial, *points] != loops or not threads:
        return None
    thread_sides, point_sides = _sides(threads, []), _sides(points, serial)
    if thread_sides is None or point_sides is None:
        return None
    return ThreadNest(tuple(blocks), thread_sides, tuple(serial), point_sides, body[0])


def _sides(loops: list[For], around: list[For]) -> tuple[Side, ...] | None:
    """Each loop as a side of constant length, which starts at a place that neither `around` nor inner loops tell."""
    found = []
    for k, loop in enumerate(loops):
        side = side_of(loop, [other.var for other in (*around, *loops[k:])], _MOST)
        if side is None:
            return None
        found.append(side)
    return tuple(found)


def counted(side: Side, counter: Expr) -> Expr:
    """The side's variable, of which `counter` counts the iterations."""
    start = expression(side.start)
    return counter if start == Const(0) else Binary("+", start, counter)


def on_threads(sides: Sequence[Side], counters: dict[str, str], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """`body` for all threads of full sides, by the names of their counters."""
    lets = tuple(Let(side.loop.var, counted(side, Var(counters[side.loop.var]))) for side in sides)
    body = (*lets, *body)
    for side in reversed(sides):
        body = (For(counters[side.loop.var], Const(0), Const(side.trips), 1, body, side.loop.kind),)
    return body


def edges(side: Side) -> Iterator[Linear]:
    """Forms in the side's variable that are zero or more where an iteration of the full side is one of its loop."""
    first: Linear = {side.var: 1}
    last: Linear = {side.var: -1, None: -1}
    for low in forms(side.loop.lo, upper=False):
        if not is_never_negative(added(side.start, low, -1)):
            yield cleared(added(first, low, -1))
    for high in forms(side.loop.hi, upper=True):
        if not is_never_negative(added(high, added(side.start, {None: side.trips}, 1), -1)):
            yield cleared(added(high, last, 1))


def inside(side: Side) -> Iterator[Expr]:
    """When an iteration of the full side is one of its loop."""
    return (never_negative(form) for form in edges(side))
