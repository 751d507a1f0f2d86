"""What loops on threads, lanes and axes reduce: read from the tree, whatever edits came before and after the marks.

    mark: parallel                      mark: parallel:C
      band: k                    ->       band: k
        C[i, j] += ...                      C[i, j] += ...        if sums may be in any order

On a GPU the code for sums (`codegen/gpu/reduce.py`) has a kernel's outermost loop add up, or that on thread.x, or both
if they add to the same arrays; nothing but loops on axes may be around. No other is said to reduce, so that it is
refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched import isl
from polysched.deps.coincidence import left_below
from polysched.deps.dependences import Dependences
from polysched.model.tree import Band, Map, Mark, Parallel, Tree, Vector, children, with_children
from polysched.transform.reductions import reduced


def with_reduces(tree: Tree, dependences: Dependences) -> Tree:
    """`tree` with the arrays that each marked loop updates by reductions alone, if their order is free; else none."""
    return _with_reduces(tree, dependences, dependences.coincidence, _Around())


@dataclass(frozen=True)
class _Around:
    """What is around a node in its kernel."""

    kernel: bool = False
    axes: bool = True  # loops on axes alone
    sums: tuple[str, ...] = ()  # what they reduce

    def names(self, mark: Parallel | Vector | Map, found: tuple[str, ...]) -> tuple[str, ...]:
        """What is left of the arrays found: what the loop may reduce here."""
        if not isinstance(mark, Map) or not self.kernel:
            return found
        return found if self.axes and mark.axis == "thread.x" and self.sums in ((), found) else ()


def _with_reduces(tree: Tree, dependences: Dependences, reaching: isl.UnionMap, around: _Around) -> Tree:
    if isinstance(tree, Mark) and isinstance(tree.mark, Parallel | Vector | Map) and isinstance(tree.child, Band):
        names = around.names(tree.mark, reduced(tree.child.members[0], dependences, reaching))
        if isinstance(tree.mark, Map):
            around = replace(around, kernel=True, sums=(*around.sums, *names))
        child = _below(tree.child, dependences, reaching, around)
        return replace(tree, mark=replace(tree.mark, reduces=names), child=child)
    return _below(tree, dependences, reaching, replace(around, axes=not around.kernel))


def _below(tree: Tree, dependences: Dependences, reaching: isl.UnionMap, around: _Around) -> Tree:
    left = left_below(tree, reaching)
    return with_children(tree, tuple(_with_reduces(child, dependences, left, around) for child in children(tree)))
