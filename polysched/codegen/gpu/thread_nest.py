"""Kernels that are one nest: blocks, threads, serial loops, a block of points, and one store; or have more at the same
points before and after the serial loops.

    for b (block.x):
        for t in 16 * b..min(16 * b + 16, ..) (thread.x):         threads: 16, from 16 * b
            for h in 4 * t..min(4 * t + 4, m) (unrolled):
                C[h] = 0                                          before, at j
            for k in 0..n by chunks:                              serial
                for j in 4 * t..min(4 * t + 4, m) (unrolled):     points: 4, from 4 * t
                    C[j] = C[j] + A[j, k]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from polysched.codegen.lowered import chain, from_start, if_changed, is_mapped, nested
from polysched.codegen.memory.tile_nest import Side, mentions, side_of
from polysched.config.target import LIMITS
from polysched.ir.effects import may_change
from polysched.ir.integers.linear import Linear, added, cleared, expression, forms, is_never_negative, never_negative
from polysched.ir.node import map_children, substitute, walk
from polysched.ir.nodes import Const, Expr, For, Function, Let, Load, Stmt, Store, Var


@dataclass(frozen=True)
class ThreadNest:
    """The loops of a kernel, outermost first, and the store inside; and what runs at each point before and after the
    serial loops but for the outer ones, of which there are `shared`; and what is loaded of the store's array that no
    point stores, as far as that is known."""

    blocks: tuple[For, ...]
    threads: tuple[Side, ...]
    serial: tuple[For, ...]
    points: tuple[Side, ...]
    store: Store
    before: tuple[Store, ...] = ()
    after: tuple[Store, ...] = ()
    shared: int = 0
    kept: frozenset[Load] = frozenset()

    @property
    def has_one_element(self) -> bool:
        """Does a point use but one element of the array that it adds to, beside those that are kept? At last it may
        store to another one."""
        array, own = self.store.array, self.store.index
        every = (*self.before, self.store, *self.after)
        loads = (node for node in walk(every) if isinstance(node, Load) and node.array == array)
        loads = (load for load in loads if load not in self.kept)
        users = [each for each in every if any(getattr(node, "array", "") == array for node in walk(each))]
        elsewhere = [each for each in users if each.array == array and each.index != own]
        return all(load.index == own for load in loads) and (not elsewhere or elsewhere == users[-1:])

    @property
    def is_uniform(self) -> bool:
        """Do all threads of a block run the same iterations of serial loops, which say nothing of which points they
        have?"""
        bounds = [form for loop in self.serial for bound in (loop.lo, loop.hi) for form in forms(bound, upper=True)]
        serial = {Var(loop.var) for loop in self.serial}
        edges = [node for side in self.points for condition in inside(side) for node in walk(condition)]
        differs = {side.loop.var for side in (*self.threads, *self.points)}
        return not any(mentions(form, differs) for form in bounds) and serial.isdisjoint(edges)


def thread_nest(loop: For) -> ThreadNest | None:
    """`loop` as such a kernel; None if it is none, or has bounds that its own stores may change."""
    outer = chain((loop,))
    body = outer[-1].body
    sums = [k for k, stmt in enumerate(body) if isinstance(stmt, For) and stmt.kind == "serial"]
    if len(body) > 1 and len(sums) != 1:
        return None
    place = sums[0] if len(body) > 1 else 0
    loops = [*outer, *chain(body[place : place + 1])]
    body = loops[-1].body
    if len(body) != 1 or not isinstance(body[0], Store) or any(may_change(each.lo, each.hi) for each in loops):
        return None
    blocks = list(takewhile(lambda each: not is_mapped(each, "thread"), loops))  # and what is around all threads
    inner, kinds = loops[len(blocks) :], ("thread", "serial", "unrolled")
    threads, serial, points = ([each for each in inner if each.kind.startswith(kind)] for kind in kinds)
    if [*blocks, *threads, *serial, *points] != loops or not threads or (blocks and not is_mapped(blocks[0])):
        return None
    thread_sides, point_sides = _sides(threads, []), _sides(points, serial)
    if thread_sides is None or point_sides is None:
        return None
    nest = ThreadNest(tuple(blocks), thread_sides, tuple(serial), point_sides, body[0])
    if len(outer[-1].body) == 1:
        return nest
    before, after = (_at_points(part, points) for part in (outer[-1].body[:place], outer[-1].body[place + 1 :]))
    if before is None or after is None:
        return None
    return replace(nest, before=before, after=after, shared=sum(each.kind == "serial" for each in outer[len(blocks) :]))


def _at_points(body: Sequence[Stmt], points: Sequence[For]) -> tuple[Store, ...] | None:
    """The stores of these statements, each of which runs at all points, for one point; None if some do not."""
    found: list[Stmt] = []
    for stmt in body:
        loops, names = chain((stmt,)), dict[str, Expr]()
        inside: tuple[Stmt, ...] = loops[-1].body if loops else (stmt,)
        for own, point in zip(loops, points, strict=False):
            bounds = substitute((own.lo, own.hi), names)
            if (*bounds, own.step, own.kind) != (point.lo, point.hi, point.step, point.kind):
                return None
            names[own.var] = Var(point.var)
        if len(loops) != len(points) or not all(isinstance(each, Store) for each in inside):
            return None
        found += substitute(inside, names)
    return tuple(each for each in found if isinstance(each, Store))


def _sides(loops: list[For], around: list[For]) -> tuple[Side, ...] | None:
    """Each loop as a side of constant length, which starts at a place that neither `around` nor inner loops tell."""
    found = []
    for k, loop in enumerate(loops):
        side = side_of(loop, [other.var for other in (*around, *loops[k:])], LIMITS.block)
        if side is None:
            return None
        found.append(side)
    return tuple(found)


def each_kernel(fn: Function, change: Callable[[For, dict[str, For]], Any]) -> Function:
    """`fn` with what `change` makes of each kernel, given the loops of the host around it by their variables."""
    host: dict[str, For] = {}

    def visit(node: Any) -> Any:
        if is_mapped(node):
            return change(node, host)
        if not isinstance(node, For):
            return map_children(node, visit)
        host[node.var] = node
        new = map_children(node, visit)
        del host[node.var]
        return new

    return map_children(fn, visit)


def blocks_of(kernel: For) -> list[For]:
    """Its loops over blocks, each all there is in the one around."""
    blocks = [kernel] if is_mapped(kernel, "block") else []
    while blocks and len(blocks[-1].body) == 1 and is_mapped(blocks[-1].body[0], "block"):
        blocks += blocks[-1].body  # type: ignore[arg-type]  # a loop
    return blocks


def is_in_phases(kernel: For) -> bool:
    """Do loops over threads follow one another in its blocks?"""
    blocks = blocks_of(kernel)
    return bool(blocks) and sum(_down_to_threads(stmt) is not None for stmt in blocks[-1].body) > 1


def _down_to_threads(stmt: Stmt) -> list[For] | None:
    """The serial loops around a loop over threads, if that is all there is in them; None if there is none."""
    loops = chain((stmt,))
    outer = list(takewhile(lambda each: each.kind == "serial", loops))
    return outer if loops[len(outer) :] and is_mapped(loops[len(outer)], "thread") else None


def block_shape(kernel: For) -> dict[str, int | None]:
    """How many threads its loops ask for at most along each axis; None where that is unknown."""
    shape: dict[str, int | None] = {}
    for loop in walk(kernel):
        if is_mapped(loop, "thread"):
            side = side_of(loop, [loop.var], LIMITS.block)
            size = side.trips if side else None
            known = shape.get(loop.kind, 0)
            shape[loop.kind] = None if size is None or known is None else max(size, known)
    return shape


def each_phase(kernel: For, change: Callable[[For], Any]) -> For:
    """The kernel with what `change` makes of each of its phases, given as a kernel of its own."""
    blocks, body = blocks_of(kernel), list[Stmt]()
    for stmt in blocks[-1].body:
        part = nested(blocks, (stmt,))
        made = part if _down_to_threads(stmt) is None else change(part)
        if made is part:
            body.append(stmt)
        else:
            (made,) = made if isinstance(made, tuple) else (made,)
            body += blocks_of(made)[-1].body
    new = if_changed(blocks[-1].body, tuple(body))
    return kernel if new is blocks[-1].body else nested(blocks, new)


def widened(nest: ThreadNest, shape: Mapping[str, int | None]) -> ThreadNest | None:
    """The nest with all threads of a block of that shape; None if they are not known, or more than one are in no loop
    of the nest."""
    known = {side.loop.kind: side.trips for side in nest.threads}
    if any(size is None or (size > 1 and axis not in known) for axis, size in shape.items()):
        return None
    threads = (replace(side, trips=shape[side.loop.kind] or 1) for side in nest.threads)
    return replace(nest, threads=tuple(threads))


def counted(side: Side, counter: Expr) -> Expr:
    """The side's variable, of which `counter` counts the iterations."""
    return from_start(expression(side.start), counter)


def over(side: Side, counter: Var, body: tuple[Stmt, ...], kind: str) -> tuple[Stmt, ...]:
    """`body` for all of the full side, counted from zero."""
    body = substitute(body, {side.loop.var: counted(side, counter)})
    return (For(counter.name, Const(0), Const(side.trips), 1, body, kind, origin=side.loop.origin),)


def over_all(sides: Sequence[Side], counters: Mapping[str, Var], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """`body` for all points of full sides."""
    for side in reversed(sides):
        body = over(side, counters[side.loop.var], body, "unrolled")
    return body


def on_threads(sides: Sequence[Side], counters: Mapping[str, Var], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """`body` for all threads of full sides."""
    body = (*(Let(side.loop.var, counted(side, counters[side.loop.var])) for side in sides), *body)
    for side in reversed(sides):
        own = side.loop
        body = (For(counters[own.var].name, Const(0), Const(side.trips), 1, body, own.kind, origin=own.origin),)
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
