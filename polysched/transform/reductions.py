"""Marks loops that carry nothing but updates of reductions: on threads where no loop is parallel, and as SIMD.

    band: i                             mark: parallel, of s
                            ->            band: i
    s = s + a[i] * b[i]

What the mark names has to become private to the threads and lanes (codegen/passes/privatize.py).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from polysched import isl
from polysched.deps.coincidence import carried, left_below, together
from polysched.deps.dependences import Dependences, union
from polysched.model.scop import Scop
from polysched.model.tree import (
    Band,
    Member,
    Parallel,
    Tree,
    Unroll,
    Vector,
    children,
    is_innermost,
    marked_as,
    marks_in,
    own_marks,
    with_children,
)
from polysched.transform.roles import statements_of
from polysched.transform.strides import step, stride


def reduce_on_threads(tree: Tree, dependences: Dependences) -> Tree:
    """`tree` with the outermost loop that carries reductions alone marked, in each nest that has no parallel loop.

    Nothing changes unless the order of reductions is free. As for parallel loops, a single loop that others repeat
    does not pay.
    """
    return _threads(tree, _Reaching.of(dependences), is_repeated=False) if dependences.reorder_reductions else tree


def reduce_on_lanes(tree: Tree, scop: Scop, dependences: Dependences, asked: Collection[str] = ()) -> Tree:
    """`tree` with every innermost loop that carries reductions alone, and reads no far elements unless it is `asked`
    for all of its statements, marked for SIMD."""
    if not dependences.reorder_reductions:
        return tree
    return _lanes(tree, scop, _Reaching.of(dependences), (), asked)


def reduced(member: Member, dependences: Dependences, reaching: isl.UnionMap) -> tuple[str, ...]:
    """The arrays whose updates by reductions the member carries, if their order is free and it carries nothing else;
    else (). `reaching` are the dependences that nothing above the member orders."""
    if not dependences.reorder_reductions:
        return ()
    return _Reaching.of(dependences).within(reaching).reduced(member)


@dataclass(frozen=True)
class _Reaching:
    """The dependences that nothing above a node orders."""

    ordered: isl.UnionMap
    updates: tuple[tuple[str, isl.UnionMap], ...]  # of each array, its updates by reductions

    @classmethod
    def of(cls, dependences: Dependences) -> _Reaching:
        free = [d for d in dependences.of("flow", "anti", "output") if d.reduction]
        names = sorted({d.array for d in free})
        updates = tuple((name, union(d for d in free if d.array == name)) for name in names)
        return cls(dependences.validity, updates)

    def below(self, node: Tree) -> _Reaching:
        """The same for the children of `node`."""
        updates = tuple((name, left_below(node, pairs)) for name, pairs in self.updates)
        return _Reaching(left_below(node, self.ordered), updates)

    def inside(self, member: Member) -> _Reaching:
        """The same within one iteration of the member."""
        return self.within(together(member))

    def within(self, pairs: isl.UnionMap) -> _Reaching:
        """Those of these pairs."""
        updates = tuple((name, reached.intersect(pairs)) for name, reached in self.updates)
        return _Reaching(self.ordered.intersect(pairs), updates)

    def reduced(self, member: Member) -> tuple[str, ...]:
        """The arrays whose updates the member carries, if it carries nothing else; else ()."""
        if not carried(member, self.ordered).is_empty():
            return ()
        return tuple(name for name, pairs in self.updates if not carried(member, pairs).is_empty())


def _threads(tree: Tree, reaching: _Reaching, *, is_repeated: bool) -> Tree:
    if own_marks(tree):  # what they say stays
        return tree
    if isinstance(tree, Band) and not any(isinstance(mark, Parallel) for mark in marks_in(tree)):
        return _on_threads(tree, reaching, is_repeated) or _below(tree, reaching, is_repeated=True)
    return _below(tree, reaching, is_repeated or isinstance(tree, Band))


def _below(tree: Tree, reaching: _Reaching, is_repeated: bool) -> Tree:
    inside = reaching.below(tree)
    return with_children(tree, tuple(_threads(child, inside, is_repeated=is_repeated) for child in children(tree)))


def _on_threads(band: Band, reaching: _Reaching, is_repeated: bool) -> Tree | None:
    """The band with its first member that can be marked, in front if the band is permutable."""
    for k, member in enumerate(band.members):
        names = reaching.reduced(member)
        before, after = band.members[:k], band.members[k + 1 :]
        if band.permutable:
            before, after = (), (*before, *after)
        is_single = not after and is_innermost(band)
        if names and not (is_single and (is_repeated or before)):
            inner = marked_as(Band((member, *after), band.permutable, band.child), Parallel(names))
            return Band(before, band.permutable, inner) if before else inner
        if not band.permutable:
            reaching = reaching.inside(member)
    return None


def _lanes(tree: Tree, scop: Scop, reaching: _Reaching, outer: tuple[Member, ...], asked: Collection[str]) -> Tree:
    if any(isinstance(mark, Vector | Unroll) for mark in own_marks(tree)):
        return tree
    if isinstance(tree, Band) and len(tree.members) > 1 and is_innermost(tree):
        *others, last = tree.members
        tree = replace(tree, members=tuple(others), child=Band((last,), True, tree.child))
    if isinstance(tree, Band) and not own_marks(tree) and len(tree.members) == 1 and is_innermost(tree):
        names = reaching.reduced(tree.members[0])
        pays = _reads_rows(tree, scop, outer) or all(s.name in asked for s in statements_of(tree, scop))
        return marked_as(tree, Vector(names)) if names and pays else tree
    return _lanes_below(tree, scop, reaching, outer, asked)


def _lanes_below(
    tree: Tree, scop: Scop, reaching: _Reaching, outer: tuple[Member, ...], asked: Collection[str]
) -> Tree:
    inside = reaching.below(tree)
    outer = (*outer, *tree.members) if isinstance(tree, Band) else outer
    return with_children(tree, tuple(_lanes(child, scop, inside, outer, asked) for child in children(tree)))


def _reads_rows(band: Band, scop: Scop, outer: tuple[Member, ...]) -> bool:
    """Does no access step further than by one along the only member of the band?"""
    loops = (*outer, *band.members)
    for statement in statements_of(band, scop):
        along = step(statement, loops, len(outer))
        if along is None or any(stride(access, along) is None for access in (*statement.reads, *statement.writes)):
            return False
    return True
