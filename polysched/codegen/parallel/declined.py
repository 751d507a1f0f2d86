"""What a pass does not do of what the schedule asks: `Compiled.declined` tells it."""

from __future__ import annotations

from polysched.ir.node import walk
from polysched.ir.nodes import PARALLEL, For, Function
from polysched.model.loop_names import named
from polysched.model.tree.nodes import Band, Parallel, Tree, Vector, mark_of
from polysched.model.tree.nodes import walk as nodes_of
from polysched.support import trace

_KINDS = {Parallel: PARALLEL, Vector: {"vector"}}


def decline(loop: For, reason: str) -> None:
    """The loop will not be of its kind."""
    trace.decline(loop.kind, loop.origin or loop.var, reason)


def decline_lost(tree: Tree, fn: Function) -> None:
    """Those loops of the tree on threads or lanes that `fn`, lowered from it, has not: they run once."""
    made = {(node.origin, node.kind) for node in walk(fn.body) if isinstance(node, For)}
    for band in (node for node in nodes_of(named(tree)) if isinstance(node, Band)):
        for mark, kinds in _KINDS.items():
            name = band.members[0].name
            if mark_of(band, mark) and not any((name, kind) in made for kind in kinds):
                trace.decline(mark.__name__.lower(), name, "it runs once at most")
