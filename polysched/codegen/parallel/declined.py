"""What a pass does not do of what the schedule asks: `Compiled.declined` tells it."""

from __future__ import annotations

from dataclasses import replace

from polysched.ir.node import statements
from polysched.ir.nodes import PARALLEL, For, Function
from polysched.model.loop_names import named
from polysched.model.tree.nodes import Band, Parallel, Tree, Vector, kind_of
from polysched.model.tree.nodes import walk as nodes_of
from polysched.support import trace


def decline(loop: For, reason: str) -> None:
    """The loop will not be of its kind."""
    trace.decline(_asked_for(loop), loop.origin or loop.var, reason)


def serial(loop: For, reason: str) -> For:
    """The loop without threads or lanes, which declines its kind."""
    decline(loop, reason)
    return replace(loop, kind="serial", when=(), reduces=())


def decline_prefetch(loop: For, array: str, reason: str) -> None:
    """The loop will not fetch the array ahead."""
    trace.decline(f"fetching {array} ahead", loop.origin or loop.var, reason)


def decline_lost(fn: Function, tree: Tree) -> Function:
    """`fn` itself; those loops of the tree, which it was lowered from, on threads or lanes that it has not run once."""
    made = {(node.origin, _asked_for(node)) for node in statements(fn.body) if isinstance(node, For)}
    for band in (node for node in nodes_of(named(tree)) if isinstance(node, Band)):
        first = band.members[0]
        for kind in (kind_of(mark) for mark in first.marks if isinstance(mark, Parallel | Vector)):
            if (first.name, kind) not in made:
                trace.decline(kind, first.name, "it runs once at most")
    return fn


def _asked_for(loop: For) -> str:
    """The kind that a schedule asks for; how threads share the iterations is up to us."""
    return "parallel" if loop.kind in PARALLEL else loop.kind
