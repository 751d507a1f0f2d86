"""Loops that carry nothing but updates of reductions: for threads where no loop is parallel, and for lanes.

    s = s + a[i] * b[i]            parallel("i"), of s          vectorize("i"), of s

What the mark names has to become private to the threads and lanes (codegen/parallel/privatize.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from polysched.deps.coincidence import carried, left_below
from polysched.deps.dependences import Dependences, union
from polysched.model.scop import Scop
from polysched.model.tree.nodes import (
    Band,
    Member,
    Parallel,
    Product,
    Tree,
    Unroll,
    Vector,
    children,
    is_innermost,
    marks_in,
    own_marks,
)
from polysched.support import isl
from polysched.transform.analysis.roles import statements_of
from polysched.transform.analysis.strides import step, stride


def sums_for_threads(tree: Tree, dependences: Dependences) -> Iterator[tuple[Band, Member]]:
    """The outermost loop, and its band, of each nest of a tree in normal form that has no parallel loop.

    None unless the order of reductions is free. As for parallel loops, a single loop that others repeat does not pay.
    """
    return _threads(tree, _Reaching.of(dependences), is_repeated=False)


def sums_for_lanes(tree: Tree, scop: Scop, dependences: Dependences, asked: Collection[str] = ()) -> Iterator[Member]:
    """The innermost loops that read no far elements, unless they are `asked` for all of their statements; none unless
    the order of reductions is free."""
    return _lanes(tree, scop, _Reaching.of(dependences), (), asked)


def reduced(member: Member, dependences: Dependences, reaching: isl.UnionMap) -> tuple[str, ...]:
    """The arrays whose updates by reductions the member carries, if their order is free and it carries nothing else;
    else (). `reaching` are the dependences that nothing above the member orders."""
    return _Reaching.of(dependences).within(reaching).reduced(member)


@dataclass(frozen=True)
class _Reaching:
    """The dependences that nothing above a node orders."""

    ordered: isl.UnionMap
    updates: tuple[tuple[str, isl.UnionMap], ...]  # of each array, its updates by reductions

    @classmethod
    def of(cls, dependences: Dependences) -> _Reaching:
        is_free = dependences.reorder_reductions
        free = [d for d in dependences.of("flow", "anti", "output") if d.reduction and is_free]
        names = sorted({d.array for d in free})
        updates = tuple((name, union(d for d in free if d.array == name)) for name in names)
        return cls(dependences.validity, updates)

    def below(self, node: Tree) -> _Reaching:
        """The same for the children of `node`."""
        updates = tuple((name, left_below(node, pairs)) for name, pairs in self.updates)
        return _Reaching(left_below(node, self.ordered), updates)

    def within(self, pairs: isl.UnionMap) -> _Reaching:
        """Those of these pairs."""
        updates = tuple((name, reached.intersect(pairs)) for name, reached in self.updates)
        return _Reaching(self.ordered.intersect(pairs), updates)

    def reduced(self, member: Member) -> tuple[str, ...]:
        """The arrays whose updates the member carries, if it carries nothing else; else ()."""
        if not carried(member, self.ordered).is_empty():
            return ()
        return tuple(name for name, pairs in self.updates if not carried(member, pairs).is_empty())


def _threads(tree: Tree, reaching: _Reaching, *, is_repeated: bool) -> Iterator[tuple[Band, Member]]:
    if own_marks(tree):  # what they say stays
        return
    if isinstance(tree, Band) and not any(isinstance(mark, Parallel) for mark in marks_in(tree)):
        found = next((member for member in tree.members if reaching.reduced(member)), None)
        if found and not (is_repeated and len(tree.members) == 1 and is_innermost(tree)):
            yield tree, found
            return
    inside, is_repeated = reaching.below(tree), is_repeated or isinstance(tree, Band)
    for child in children(tree):
        yield from _threads(child, inside, is_repeated=is_repeated)


def _lanes(
    tree: Tree, scop: Scop, reaching: _Reaching, outer: tuple[Member, ...], asked: Collection[str]
) -> Iterator[Member]:
    if any(isinstance(mark, Vector | Unroll | Product) for mark in own_marks(tree)):
        return
    if isinstance(tree, Band) and is_innermost(tree):
        *others, last = tree.members
        inside = reaching.below(Band(tuple(others))) if others else reaching
        names = () if last.marks else inside.reduced(last)
        every = (*outer, *others)
        if names and (_reads_rows(tree, scop, every) or all(s.name in asked for s in statements_of(tree, scop))):
            yield last
        return
    inside = reaching.below(tree)
    outer = (*outer, *tree.members) if isinstance(tree, Band) else outer
    for child in children(tree):
        yield from _lanes(child, scop, inside, outer, asked)


def _reads_rows(band: Band, scop: Scop, outer: tuple[Member, ...]) -> bool:
    """Does no access step further than by one along the last member of the band, inside of `outer`?"""
    loops = (*outer, band.members[-1])
    for statement in statements_of(band, scop):
        along = step(statement, loops, len(outer))
        if along is None or any(stride(access, along) is None for access in (*statement.reads, *statement.writes)):
            return False
    return True
