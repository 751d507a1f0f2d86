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
from polysched.errors import InputError
from polysched.model.tree import Band, Concurrent, Map, Tree, children, mark_of, with_children
from polysched.transform.reductions import reduced


def with_reduces(tree: Tree, dependences: Dependences) -> Tree:
    """`tree` with the arrays that each marked loop updates by reductions alone, if their order is free; else none."""
    return _with_reduces(tree, dependences, dependences.coincidence, _Around())


def require_reduces(tree: Tree, dependences: Dependences) -> None:
    """InputError if a mark of a tree that is given names what its loop does not reduce."""
    _require(tree, dependences, dependences.coincidence)


def _require(tree: Tree, dependences: Dependences, reaching: isl.UnionMap) -> None:
    if (mark := mark_of(tree, Concurrent)) and mark.reduces and isinstance(tree, Band):
        found = reduced(tree.members[0], dependences, reaching)
        if more := [name for name in mark.reduces if name not in found]:
            what = f"a loop is marked to reduce {', '.join(map(repr, more))}"
            raise InputError(f"{what}, but it reduces {', '.join(found) or 'nothing'}", hint="leave it out of the mark")
    left = left_below(tree, reaching)
    for child in children(tree):
        _require(child, dependences, left)


@dataclass(frozen=True)
class _Around:
    """What is around a node in its kernel."""

    kernel: bool = False
    axes: bool = True  # loops on axes alone
    sums: tuple[str, ...] = ()  # what they reduce

    def names(self, mark: Concurrent, found: tuple[str, ...]) -> tuple[str, ...]:
        """What is left of the arrays found: what the loop may reduce here."""
        if not isinstance(mark, Map) or not self.kernel:
            return found
        return found if self.axes and mark.axis == "thread.x" and self.sums in ((), found) else ()


def _with_reduces(tree: Tree, dependences: Dependences, reaching: isl.UnionMap, around: _Around) -> Tree:
    if isinstance(tree, Band) and (mark := mark_of(tree, Concurrent)):
        first, *others = tree.members
        names = around.names(mark, reduced(first, dependences, reaching))
        if isinstance(mark, Map):
            around = replace(around, kernel=True, sums=(*around.sums, *names))
        marks = tuple(replace(each, reduces=names) if each is mark else each for each in first.marks)
        tree = replace(tree, members=(replace(first, marks=marks), *others))
        return _below(tree, dependences, reaching, around)
    return _below(tree, dependences, reaching, replace(around, axes=not around.kernel))


def _below(tree: Tree, dependences: Dependences, reaching: isl.UnionMap, around: _Around) -> Tree:
    left = left_below(tree, reaching)
    return with_children(tree, tuple(_with_reduces(child, dependences, left, around) for child in children(tree)))
