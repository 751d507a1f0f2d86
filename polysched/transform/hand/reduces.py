"""What loops on threads, lanes and axes reduce: read from the tree, whatever edits came before and after the marks.

    mark: parallel                      mark: parallel:C
      band: k                    ->       band: k
        C[i, j] += ...                      C[i, j] += ...        if sums may be in any order

On a GPU the code for sums (`codegen/gpu/reduce.py`) has a kernel's outermost loop add up, or that on thread.x, or both
if they add to the same arrays, or one on blocks inside of threads, which get partners on thread.y; nothing but loops on
axes may be around, and statements without loops before and after in a thread. No other is said to reduce, so that it is
refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched import isl
from polysched.deps.coincidence import left_below
from polysched.deps.dependences import Dependences
from polysched.errors import InputError
from polysched.model.tree import Band, Concurrent, Filter, Map, Sequence, Tree, children, mark_of, walk, with_children
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

    on: tuple[str, ...] = ()  # which axes
    axes: bool = True  # loops on axes alone
    sums: tuple[str, ...] = ()  # what they reduce

    @property
    def is_in_threads(self) -> bool:
        return bool(self.on) and self.on[-1].startswith("thread")

    def names(self, mark: Concurrent, found: tuple[str, ...]) -> tuple[str, ...]:
        """What is left of the arrays found: what the loop may reduce here."""
        if not isinstance(mark, Map) or not self.on:
            return found
        in_columns = mark.axis.startswith("block") and self.is_in_threads and "thread.y" not in self.on
        may_be = mark.axis == "thread.x" or (in_columns and not self.sums)
        return found if self.axes and may_be and self.sums in ((), found) else ()


def _with_reduces(tree: Tree, dependences: Dependences, reaching: isl.UnionMap, around: _Around) -> Tree:
    if isinstance(tree, Band) and (mark := mark_of(tree, Concurrent)):
        first, *others = tree.members
        names = around.names(mark, reduced(first, dependences, reaching))
        if isinstance(mark, Map):
            around = replace(around, on=(*around.on, mark.axis), sums=(*around.sums, *names))
        marks = tuple(replace(each, reduces=names) if each is mark else each for each in first.marks)
        tree = replace(tree, members=(replace(first, marks=marks), *others))
        return _below(tree, dependences, reaching, around)
    is_among = isinstance(tree, Sequence) and around.is_in_threads and _is_around_one(tree)
    if not is_among and not isinstance(tree, Filter):
        around = replace(around, axes=not around.on)
    return _below(tree, dependences, reaching, around)


def _is_around_one(sequence: Sequence) -> bool:
    """Has one branch loops?"""
    return sum(any(isinstance(node, Band) for node in walk(branch)) for branch in sequence.children) == 1


def _below(tree: Tree, dependences: Dependences, reaching: isl.UnionMap, around: _Around) -> Tree:
    left = left_below(tree, reaching)
    return with_children(tree, tuple(_with_reduces(child, dependences, left, around) for child in children(tree)))
