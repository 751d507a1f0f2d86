"""What loops on threads, lanes and axes reduce: read from the tree, whatever edits came before and after the marks.

    mark: parallel                      mark: parallel:C
      band: k                    ->       band: k
        C[i, j] += ...                      C[i, j] += ...        if sums may be in any order

On a GPU `codegen/gpu/sums/reduce.py` has a kernel's outermost loop add up, or that on thread.x, or both if they add to
the same arrays, or one on blocks inside of threads, which get partners on thread.y; nothing but loops on axes may
be around, and statements without loops before and after in a thread. Rows: loops on thread.x one after the other in a
loop on blocks, each in one on thread.y where a block has several rows, of which those that reduce have no more values
than a block has threads. No other is said to reduce, so that it is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.config.target import LIMITS
from polysched.deps.coincidence import left_below
from polysched.deps.dependences import Dependences
from polysched.deps.phases import is_in_rows
from polysched.errors import InputError
from polysched.model.tree.nodes import (
    Band,
    Concurrent,
    Domain,
    Filter,
    InOrder,
    Map,
    Mark,
    Member,
    Tree,
    children,
    mark_of,
    own_marks,
    walk,
    with_children,
)
from polysched.support import isl
from polysched.transform.analysis.reductions import reduced
from polysched.transform.analysis.roles import Around
from polysched.transform.trees.fusion import are_same


def with_reduces(tree: Tree, dependences: Dependences) -> Tree:
    """`tree` with the arrays that each marked loop updates by reductions alone, if their order is free; else none."""
    return _with_reduces(tree, dependences, dependences.coincidence, _Around(isl.UnionSet("{ }")))


def require_reduces(tree: Tree, dependences: Dependences) -> None:
    """InputError if a mark of a tree that is given names what its loop does not reduce."""
    for node, around in Around((), dependences.coincidence).walk(tree):
        if (mark := mark_of(node, Concurrent)) and mark.reduces and isinstance(node, Band):
            found = reduced(node.members[0], dependences, around.reaching)
            if more := [name for name in mark.reduces if name not in found]:
                what = f"a loop is marked to reduce {', '.join(map(repr, more))}"
                hint = "leave it out of the mark"
                raise InputError(f"{what}, but it reduces {', '.join(found) or 'nothing'}", hint=hint)


@dataclass(frozen=True)
class _Around:
    """What is around a node in its kernel."""

    domain: isl.UnionSet
    members: tuple[Member, ...] = ()
    on: tuple[str, ...] = ()  # which axes
    axes: bool = True  # loops on axes alone
    among: bool = False  # statements before and after
    rows: bool = False  # loops on thread.x, one after the other, and what is on none
    sums: tuple[str, ...] = ()  # what the axes reduce

    def is_short(self, member: Member) -> bool:
        """Can each thread of a block have one value of the member, whatever the sizes?"""
        values = member.schedule.intersect_domain(self.domain).range().project_out_all_params()
        return values.is_subset(isl.UnionSet(f"{{ [x] : 0 <= x < {LIMITS.block} }}"))

    @property
    def is_in_threads(self) -> bool:
        return bool(self.on) and self.on[-1].startswith("thread")

    def is_over_rows(self, tree: Tree) -> bool:
        """Is it a loop over the rows of those that a thread along y has?"""
        return self.rows and self.on[-1] == "thread.y" and isinstance(tree, Band) and not own_marks(tree)

    def may_reduce(self, mark: Concurrent, found: tuple[str, ...], member: Member) -> tuple[str, ...]:
        """All the arrays found, if there is code for their sums here; else none."""
        if not isinstance(mark, Map) or (not self.on and mark.axis != "block.w"):
            return found
        if self.rows:
            return found if self.axes and not self.sums and self.is_short(member) else ()
        if self.sums:  # those of blocks, which their threads share
            return found if mark.axis == "thread.x" and self.sums == found else ()
        in_columns = mark.axis in ("block.x", "block.y", "block.z") and self.is_in_threads and "thread.y" not in self.on
        is_alone = self.axes and (len(found) == 1 or not self.among)
        return found if is_alone and (mark.axis == "thread.x" or in_columns) else ()


def _with_reduces(tree: Tree, dependences: Dependences, reaching: isl.UnionMap, around: _Around) -> Tree:
    if isinstance(tree, Domain):
        around = replace(around, domain=tree.domain)
    if isinstance(tree, Band) and (mark := mark_of(tree, Concurrent)):
        first, *others = tree.members
        names = around.may_reduce(mark, reduced(first, dependences, reaching), first)
        if isinstance(mark, Map):
            around = replace(around, on=(*around.on, mark.axis), sums=(*around.sums, *names))
        marks = tuple(replace(each, reduces=names) if each is mark else each for each in first.marks)
        tree = replace(tree, members=(replace(first, marks=marks), *others))
    elif isinstance(tree, InOrder) and around.is_in_threads and _is_around_one(tree, around):
        around = replace(around, among=True)
    elif is_in_rows(tree, around.on):
        around = replace(around, rows=True)
    elif not isinstance(tree, Filter | Mark) and not around.is_over_rows(tree):
        around = replace(around, axes=not around.on)
    if isinstance(tree, Band):
        around = replace(around, members=(*around.members, *tree.members))
    left = left_below(tree, reaching)
    return with_children(tree, tuple(_with_reduces(child, dependences, left, around) for child in children(tree)))


def _is_around_one(sequence: InOrder, around: _Around) -> bool:
    """Has one branch loops, and runs each whenever the others do?"""
    loops = [branch for branch in sequence.children if any(isinstance(node, Band) for node in walk(branch))]
    if len(loops) != 1:
        return False
    own, *others = (each.filter.intersect(around.domain) for each in (*loops, *sequence.children))
    return all(are_same(around.members, own, around.members, other) for other in others)
