"""Hints to unroll: constant loops of few iterations in the threads of a GPU, as far as registers allow.

    for c in 0..n:                                  for c in 0..n:
        for r in 0..3:                      ->          for r in 0..3 (unrolled):
            s[] = s[] + A[c * 3 + r]                        s[] = s[] + A[c * 3 + r]

nvcc unrolls one such loop by itself, but not several in each other, where what depends on their variables alone folds:
the conditions of a transformed convolution, the signs in a transform of Winograd's. Everything that is loaded may be in
registers at once then, so loops stay whose unrolled body would load more than those hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import prod

from polysched.codegen.lowered import changed, names_in
from polysched.config.heuristics.gpu import UNROLLED_LOADS, UNROLLED_OPERATIONS
from polysched.ir.node import children, map_blocks, map_list, rewrite, statements, stored
from polysched.ir.nodes import Expr, For, Function, Let, Load, Stmt, Var
from polysched.model.loops import trip_count


def hint_unrolling(fn: Function, *, most_trips: int) -> Function:
    """`fn` with the kind "unrolled" for serial loops of at most `most_trips` constant iterations in thread loops."""
    return changed(fn, body=map_list(fn.body, lambda stmt: _hinted(stmt, False, most_trips)))


def _hinted(stmt: Stmt, in_thread: bool, most_trips: int) -> Stmt:
    if isinstance(stmt, For):
        if in_thread and _is_small(stmt, most_trips):
            return rewrite(stmt, lambda node: replace(node, kind="unrolled") if _is_serial(node) else None)
        in_thread = in_thread or stmt.kind.startswith("thread.")
    return map_blocks(stmt, lambda block: map_list(block, lambda inner: _hinted(inner, in_thread, most_trips)))


def _is_serial(node: object) -> bool:
    return isinstance(node, For) and node.kind == "serial" and trip_count(node) != 1


def _is_small(loop: For, most_trips: int) -> bool:
    """Is it one of few iterations, and all in it are, and not too much together?"""
    for node in statements(loop):
        if isinstance(node, For):
            trips = trip_count(node)
            if node.kind not in ("serial", "unrolled") or trips is None or not 1 <= trips <= most_trips:
                return False
    if trip_count(loop) == 1:
        return False
    unrolled = _Unrolled(stored(loop))
    operations = unrolled.operations(loop)
    return sum(unrolled.loads.values()) <= UNROLLED_LOADS and operations <= UNROLLED_OPERATIONS


@dataclass
class _Unrolled:
    """Counts what is left of loops that are unrolled, where the compiler computes once what is the same."""

    written: frozenset[str]  # arrays
    trips: dict[str, int] = field(default_factory=dict)  # of the loops around, by their variables
    changed_by: dict[str, set[str]] = field(default_factory=dict)  # which of them change a name that is bound in them
    free: set[str] = field(default_factory=set)  # names that nothing else changes
    loads: dict[Load, int] = field(default_factory=dict)  # from how many elements

    def operations(self, node: Stmt | Expr) -> int:
        """The operations of all iterations, but for those that fold: on variables of these loops and constants."""
        match node:
            case For(var):
                trips = trip_count(node)
                assert trips is not None, "a loop without a constant number of iterations is not unrolled"
                self.trips[var], self.changed_by[var] = trips, {var}
                self.free.add(var)
                operations = self.all_of(node.body)
                del self.trips[var]
                return operations
            case Let(name, value):
                self.changed_by[name] = self.changes(value)
                if self.folds(value):
                    self.free.add(name)
                return self.operations(value)
            case Stmt():
                return self.all_of(children(node))
            case Load(index=()):  # a variable
                return 0
            case Load():
                self.loads[node] = prod(self.trips[name] for name in self.changes(node))
            case Expr() if self.folds(node):
                return 0
        return (0 if isinstance(node, Var | Load) else self.times(node)) + self.all_of(children(node))

    def all_of(self, nodes: Iterable[Stmt | Expr]) -> int:
        return sum(map(self.operations, nodes))

    def times(self, expr: Expr) -> int:
        """How many values the expression has: one in each iteration, if it loads what changes."""
        if not self.written.isdisjoint(names_in(expr)):
            return prod(self.trips.values())
        return prod(self.trips[name] for name in self.changes(expr))

    def changes(self, expr: Expr) -> set[str]:
        """Variables of the loops around that the expression changes with."""
        return set().union(*(self.changed_by.get(name, ()) for name in names_in(expr))) & set(self.trips)

    def folds(self, expr: Expr) -> bool:
        return names_in(expr) <= self.free
