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

from polysched.codegen.passes.count import trip_count
from polysched.ir.node import children, map_list, walk
from polysched.ir.nodes import Expr, For, Function, If, Let, Load, Stmt, Var

_MOST_LOADS = 64  # in an unrolled body: half of the registers that a thread has at full occupancy, for f64
_MOST_OPERATIONS = 1 << 14  # of an unrolled body, before the compiler finds what repeats in it


def hint_unrolling(fn: Function, *, most_trips: int = 8) -> Function:
    """`fn` with the kind "unrolled" for serial loops of at most `most_trips` constant iterations in thread loops."""
    body = map_list(fn.body, lambda stmt: _hinted(stmt, False, most_trips))
    return fn if body is fn.body else replace(fn, body=body)


def _hinted(stmt: Stmt, in_thread: bool, most_trips: int) -> Stmt:
    match stmt:
        case For(body=body):
            inside = in_thread or stmt.kind.startswith("thread.")
            new = map_list(body, lambda inner: _hinted(inner, inside, most_trips))
            stmt = stmt if new is body else replace(stmt, body=new)
            return replace(stmt, kind="unrolled") if in_thread and _is_small(stmt, most_trips) else stmt
        case If(then=then, other=other):
            parts = [map_list(part, lambda inner: _hinted(inner, in_thread, most_trips)) for part in (then, other)]
            same = parts[0] is then and parts[1] is other
            return stmt if same else replace(stmt, then=parts[0], other=parts[1])
    return stmt


def _is_small(loop: For, most_trips: int) -> bool:
    """Is it one of few iterations, and all in it unrolled, and not too much?"""
    trips = trip_count(loop)
    if loop.kind != "serial" or trips is None or not 1 < trips <= most_trips:
        return False
    if any(isinstance(node, For) and node.kind != "unrolled" for node in walk(loop.body)):
        return False
    unrolled = _Unrolled()
    operations = unrolled.operations(loop)
    return sum(unrolled.loads.values()) <= _MOST_LOADS and operations <= _MOST_OPERATIONS


@dataclass
class _Unrolled:
    """Counts what is left of loops that are unrolled."""

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
                return trips * self.all_of(node.body)
            case Let(name, value):
                self.changed_by[name] = self.changes(value)
                if self.folds(value):
                    self.free.add(name)
                return self.operations(value)
            case Stmt():
                return self.all_of(children(node))
            case Load():
                self.loads[node] = prod(self.trips[name] for name in self.changes(node))
            case Expr() if self.folds(node):
                return 0
        return (not isinstance(node, Var)) + self.all_of(children(node))

    def all_of(self, nodes: Iterable[Stmt | Expr]) -> int:
        return sum(map(self.operations, nodes))

    def changes(self, expr: Expr) -> set[str]:
        """Variables of the loops around that the expression changes with."""
        return set().union(*(self.changed_by.get(name, ()) for name in _names(expr)))

    def folds(self, expr: Expr) -> bool:
        return _names(expr) <= self.free and not any(isinstance(part, Load) for part in walk(expr))


def _names(expr: Expr) -> set[str]:
    return {node.name for node in walk(expr) if isinstance(node, Var)}
