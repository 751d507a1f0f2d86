"""What loops on threads, lanes and axes reduce: read from the tree, whatever edits came before and after the marks.

    mark: parallel                      mark: parallel:C
      band: k                    ->       band: k
        C[i, j] += ...                      C[i, j] += ...        if sums may be in any order

On a GPU the code for sums (`codegen/gpu/reduce.py`) has a kernel's outermost loop add up, or that on thread.x: nothing
but loops on axes may be around it. No other is said to reduce, so that it is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from polysched import isl
from polysched.deps.coincidence import left_below
from polysched.deps.dependences import Dependences
from polysched.model.tree import Band, Map, Mark, Parallel, Tree, Vector, children, with_children
from polysched.transform.reductions import reduced

_Around = Literal["host", "axes", "more"]  # what is around in a kernel: none is, loops on axes alone, or more


def with_reduces(tree: Tree, dependences: Dependences) -> Tree:
    """`tree` with the arrays that each marked loop updates by reductions alone, if their order is free; else none."""
    return _with_reduces(tree, dependences, dependences.coincidence, "host")


def _with_reduces(tree: Tree, dependences: Dependences, reaching: isl.UnionMap, around: _Around) -> Tree:
    inside: _Around = "host" if around == "host" else "more"
    if isinstance(tree, Mark) and isinstance(tree.mark, Parallel | Vector | Map) and isinstance(tree.child, Band):
        axis = tree.mark.axis if isinstance(tree.mark, Map) else ""
        may = not axis or around == "host" or (around == "axes" and axis == "thread.x")
        names = reduced(tree.child.members[0], dependences, reaching) if may else ()
        inside = "axes" if axis and around != "more" else inside
        child = _below(tree.child, dependences, reaching, inside)
        return replace(tree, mark=replace(tree.mark, reduces=names), child=child)
    return _below(tree, dependences, reaching, inside)


def _below(tree: Tree, dependences: Dependences, reaching: isl.UnionMap, around: _Around) -> Tree:
    left = left_below(tree, reaching)
    return with_children(tree, tuple(_with_reduces(child, dependences, left, around) for child in children(tree)))
