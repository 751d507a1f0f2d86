"""Parallel loops that never have work for a second thread are serial: a region costs even where it starts no threads.
So are those inside of another one, which has all threads.

    for c0 in 0..1 (parallel): ...                              for c0 in 0..1: ...
    for c1 in 0..8 (parallel if false): ...            ->       for c1 in 0..8: ...

Needs: conditions and bounds simplified. Keeps: the order of iterations.
"""

from __future__ import annotations

from polysched.codegen.lowered import changed
from polysched.codegen.parallel.declined import serial
from polysched.ir.dtypes import boolean
from polysched.ir.integers.trips import most_trips
from polysched.ir.node import map_children, map_list
from polysched.ir.nodes import PARALLEL, Const, Expr, For, Function, Stmt

_NEVER = Const(False, boolean)


def without_idle_threads(fn: Function) -> Function:
    """`fn` with loops on threads only where sizes may make several iterations of them worth it; the same object if it
    has no others."""
    return changed(fn, body=map_list(fn.body, lambda stmt: _settled(stmt, None)))


def _settled(node: Expr | Stmt, around: For | None) -> Expr | Stmt:
    """The node in such a loop."""
    if isinstance(node, Expr):
        return node
    if isinstance(node, For) and node.kind in PARALLEL:
        if reason := _why_idle(node, around):
            node = serial(node, reason)
        else:
            around = node
    return map_children(node, lambda child: _settled(child, around))


def _why_idle(loop: For, around: For | None) -> str:
    if around:
        return f"it is inside of loop '{around.origin or around.var}', which has the threads"
    if most_trips(loop.lo, loop.hi, loop.step) in (0, 1):
        return "it runs once at most"
    return "at no size there is enough work for threads" if _NEVER in loop.when else ""
