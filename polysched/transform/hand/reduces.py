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
from polysched.model.tree import Band, Concurrent, Map, Tree, children, mark_of, with_children
from polysched.transform.reductions import reduced

_Around = Literal["host", "axes", "more"]  # what is around in a kernel: none is, loops on axes alone, or more


def with_reduces(tree: Tree, dependences: Dependences) -> Tree:
    """`tree` with the arrays that each marked loop updates by reductions alone, if their order is free; else none."""
    return _with_reduces(tree, dependences, dependences.coincidence, "host")


def _with_reduces(tree: Tree, dependences: Dependences, reaching: isl.UnionMap, around: _Around) -> Tree:
    if isinstance(tree, Band) and (mark := mark_of(tree, Concurrent)):
        axis = mark.axis if isinstance(mark, Map) else ""
        may = not axis or around == "host" or (around == "axes" and axis == "thread.x")
        first, *others = tree.members
        names = reduced(first, dependences, reaching) if may else ()
        marks = tuple(replace(each, reduces=names) if each is mark else each for each in first.marks)
        tree = replace(tree, members=(replace(first, marks=marks), *others))
        return _below(tree, dependences, reaching, "axes" if axis and around != "more" else _inside(around))
    return _below(tree, dependences, reaching, _inside(around))


def _inside(around: _Around) -> _Around:
    return "host" if around == "host" else "more"


def _below(tree: Tree, dependences: Dependences, reaching: isl.UnionMap, around: _Around) -> Tree:
    left = left_below(tree, reaching)
    return with_children(tree, tuple(_with_reduces(child, dependences, left, around) for child in children(tree)))
