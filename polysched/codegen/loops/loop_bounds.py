"""Guards turned into the bounds and strides of the loops around them: iterations that do nothing are not run.

    for r in 0..R:                                          for r in max(0, pad - y)..min(R, h + pad - y):
        if 0 <= y + r - pad && y + r - pad < h:     ->          acc[] = acc[] + a[y + r - pad]
            acc[] = acc[] + a[y + r - pad]

    for r in 0..R:                                          first = floormod(y + p, 2)
        if floormod(y + p - r, 2) == 0:             ->      source = floordiv(y + p - first, 2)
            acc[] = acc[] + a[floordiv(y + p - r, 2)]       for k in 0..floordiv(R - first + 1, 2):
                                                                acc[] = acc[] + a[source - k]

    for r in 0..R:                                          if x < w:
        if x < w && c[r]:                           ->          for r in 0..R:
            S                                                       if c[r]: S

Where no quotient is carried along, a constant stride is just that: for r in floormod(y + p, 2)..R by 2.

Needs: variables and sizes that are positions, of which no sum wraps (inequalities.py).
Keeps: which elements are stored, and what traps: a condition is tested earlier, or on fewer iterations, only if it and
what goes untested cannot trap. Loads may fall away with iterations that do nothing; none are added. Loops with barriers
or shuffles stay as they are, since all threads must meet there, and so do the block and thread loops of a GPU, what a
mapping has unrolled, and full loops. Loops of at most `tiny_loop` iterations, and SIMD ones of constant length, keep
their bounds; where no other loop is around tiny ones or in them, they keep their guards, too: in straight code,
predicates are cheaper than jumps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from polysched.codegen.loops.guards import Variables, guarded_update, taken_apart
from polysched.codegen.loops.inequalities import is_position, is_total
from polysched.codegen.loops.narrowed_loop import NarrowedLoop
from polysched.codegen.lowered import changed, is_mapped
from polysched.ir.integers.facts import Facts
from polysched.ir.node import map_list, statements, walk
from polysched.ir.nodes import LARGEST_SIZE, SHUFFLE, Alloc, Barrier, Call, Expr, For, Function, If, Let, Stmt
from polysched.ir.rename import fresh_names, used_names
from polysched.model.loops import trip_count


def loop_bounds(fn: Function, *, fast_math: bool = False, tiny_loop: int = 0, largest: int = LARGEST_SIZE) -> Function:
    """`fn` with loops that run only where their guards let them.

    With `fast_math`, zero times anything is zero: a padded factor guards its product. No array has more than `largest`
    elements, and no size is larger.
    """
    while True:  # until what is known from conditions that have moved out is used, too
        body = _Walk(fn, fast_math, tiny_loop).block(fn.body, Facts.of(fn, largest))
        if body is fn.body:
            return fn
        fn = replace(fn, body=body)


class _Walk:
    """Rewrites loops, inner ones first: their conditions move out and become bounds of outer ones."""

    def __init__(self, fn: Function, fast_math: bool, tiny_loop: int):
        self.fast_math, self.tiny_loop = fast_math, tiny_loop
        self.fn, self.sizes, self.variables = fn, frozenset(fn.sizes), Variables(fn)

    @cached_property
    def positions(self) -> set[str]:
        return _positions(self.fn)

    @cached_property
    def names(self) -> dict[str, Iterator[str]]:
        taken = used_names(self.fn)
        return {stem: fresh_names(stem, taken) for stem in ("first", "step", "quotient")}

    def fresh(self, stem: str) -> str:
        """A name for a position."""
        name = next(self.names[stem])
        self.positions.add(name)
        return name

    def block(self, statements: tuple[Stmt, ...], facts: Facts, *, is_repeated: bool = False) -> tuple[Stmt, ...]:
        """The statements rewritten; `is_repeated` if a loop of a thread, one that is not unrolled, repeats them."""

        def rewritten(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
            nonlocal facts
            match stmt:
                case For(body=body):
                    again = not is_mapped(stmt) and (is_repeated or not self.is_tiny(stmt))
                    new = changed(stmt, body=self.block(body, facts.inside(stmt), is_repeated=again))
                    return new if not is_repeated and self.is_straight(stmt) else self.loop(new, facts)
                case If(cond, then, other):
                    then = self.block(then, facts.under(cond), is_repeated=is_repeated)
                    other = self.block(other, facts.unless(cond), is_repeated=is_repeated)
                    return changed(stmt, then=then, other=other)
                case Let():
                    facts = facts.binding(stmt)
            return stmt

        return map_list(statements, rewritten)

    def loop(self, loop: For, facts: Facts) -> Stmt | tuple[Stmt, ...]:
        """What does the same as `loop`, whose body is rewritten."""
        steps, guarded = taken_apart(loop.body)
        update = guarded_update(guarded, self.variables, facts.inside(loop), fast_math=self.fast_math)
        chosen, updated = taken_apart(update) if update is not guarded else ([], guarded)
        if not (steps or chosen) or not _may_change(loop):
            return loop
        if not is_total(loop.lo, facts) or not is_total(loop.hi, facts):
            return loop
        narrowed = NarrowedLoop(loop, facts, self.positions, self.sizes, is_fixed=self.is_fixed(loop))
        narrowed.take([*steps, *chosen])
        if not narrowed.is_changed:
            return loop
        kept = narrowed.kept
        if kept[len(kept) - len(chosen) :] == chosen:  # no loop can use them, or there are none
            kept, updated = kept[: len(kept) - len(chosen)], guarded
        return narrowed.statements(kept, updated, self.fresh)

    def is_tiny(self, loop: For) -> bool:
        """Will a compiler unroll it?"""
        trips = trip_count(loop)
        return trips is not None and trips <= self.tiny_loop

    def is_straight(self, loop: For) -> bool:
        """Will nothing of it be a loop?"""
        return all(self.is_tiny(node) for node in statements(loop) if isinstance(node, For))

    def is_fixed(self, loop: For) -> bool:
        """Must its bounds stay as they are?"""
        return self.is_tiny(loop) or (loop.kind == "vector" and trip_count(loop) is not None)


def _positions(fn: Function) -> set[str]:
    """Names of what is computed from sizes and loop variables alone."""
    values: dict[str, list[Expr]] = {size: [] for size in fn.sizes}
    for node in walk(fn.body):
        match node:
            case For(var, lo, hi):
                values.setdefault(var, []).extend((lo, hi))
            case Let(name, value):
                values.setdefault(name, []).append(value)
    positions = set(values)
    while data := {name for name in positions if not all(is_position(value, positions) for value in values[name])}:
        positions -= data
    return positions


def _may_change(loop: For) -> bool:
    """May threads differ in how often they run it, and is it not spelled out?"""
    if loop.step < 0 or loop.full or is_mapped(loop):
        return False
    if loop.kind == "unrolled" and trip_count(loop) is not None:
        return False

    def is_met_by_all(node: Any) -> bool:
        match node:
            case Barrier():
                return True
            case Call(fn):
                return fn == SHUFFLE
            case Alloc(array):
                return array.space == "shared"
        return False

    return not any(map(is_met_by_all, walk(loop.body)))
