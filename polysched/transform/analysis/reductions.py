"""Loops that carry nothing but updates of reductions: for threads where no loop is parallel, and for lanes.

    s = s + a[i] * b[i]            parallel("i"), of s          vectorize("i"), of s

What the mark names has to become private to the threads and lanes (codegen/parallel/privatize.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from polysched.deps.coincidence import carried
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
    nest_of,
    own_marks,
)
from polysched.support import isl
from polysched.support.remembered import remembered
from polysched.transform.analysis.roles import Around, statements_of, step, stride


def with_serial_inside(tree: Tree) -> Band | None:
    """The band and those right inside of it as one: a sum may have loops of several. None if a loop of the inner ones
    is coincident, or another band is in them."""
    members, child = nest_of(tree)
    if not isinstance(tree, Band) or any(member.coincident for member in members[len(tree.members) :]):
        return None
    band = replace(tree, members=members, child=child)
    return band if is_innermost(band) else None


def sums_for_threads(tree: Tree, dependences: Dependences) -> Iterator[tuple[Band, Member]]:
    """The outermost loop, and its band, of each nest of a tree in normal form that has no parallel loop.

    None unless the order of reductions is free. As for parallel loops, a single loop that others repeat does not pay.
    """
    return _threads(tree, dependences, Around((), dependences.coincidence))


def sums_for_lanes(tree: Tree, scop: Scop, dependences: Dependences, asked: Collection[str] = ()) -> Iterator[Member]:
    """The innermost loops that read no far elements, unless they are `asked` for all of their statements; none unless
    the order of reductions is free."""
    for band, inside in innermost_loops(tree, dependences):
        (last,) = band.members
        if last.marks or not reduced(last, dependences, inside.reaching):
            continue
        if _reads_rows(band, scop, inside.members) or all(s.name in asked for s in statements_of(band, scop)):
            yield last


def innermost_loops(tree: Tree, dependences: Dependences) -> Iterator[tuple[Band, Around]]:
    """The last loop of each innermost band, as a band, and what is around it; none that is unrolled, on lanes or in a
    product."""

    def is_mapped(node: Tree) -> bool:
        return any(isinstance(mark, Vector | Unroll | Product) for mark in own_marks(node))

    for node, around in Around((), dependences.coincidence).walk(tree, is_mapped):
        if isinstance(node, Band) and is_innermost(node):
            *outer, last = node.members
            yield replace(node, members=(last,)), around.below(Band(tuple(outer)))


def reduced(member: Member, dependences: Dependences, reaching: isl.UnionMap) -> tuple[str, ...]:
    """The arrays whose updates by reductions the member carries, if their order is free and it carries nothing else;
    else (). `reaching` are the dependences that nothing above the member orders."""
    return _reduced(member.schedule, dependences, reaching)


@remembered
def _reduced(schedule: isl.UnionMap, dependences: Dependences, reaching: isl.UnionMap) -> tuple[str, ...]:
    updates, member = _updates(dependences), Member(schedule)
    if not updates or not carried(member, dependences.validity.intersect(reaching)).is_empty():
        return ()
    return tuple(name for name, pairs in updates if not carried(member, pairs.intersect(reaching)).is_empty())


@remembered
def _updates(dependences: Dependences) -> tuple[tuple[str, isl.UnionMap], ...]:
    """Of each array, its updates by reductions; none unless their order is free."""
    is_free = dependences.reorder_reductions
    free = [d for d in dependences.of("flow", "anti", "output") if d.reduction and is_free]
    return tuple((name, union(d for d in free if d.array == name)) for name in sorted({d.array for d in free}))


def _threads(tree: Tree, dependences: Dependences, around: Around) -> Iterator[tuple[Band, Member]]:
    if own_marks(tree):  # what they say stays
        return
    if isinstance(tree, Band) and not any(isinstance(mark, Parallel) for mark in marks_in(tree)):
        found = next((member for member in tree.members if reduced(member, dependences, around.reaching)), None)
        if found and not (around.members and len(tree.members) == 1 and is_innermost(tree)):
            yield tree, found
            return
    below = around.below(tree)
    for child in children(tree):
        yield from _threads(child, dependences, below)


def _reads_rows(band: Band, scop: Scop, outer: tuple[Member, ...]) -> bool:
    """Does no access step further than by one along the last member of the band, inside of `outer`?"""
    loops = (*outer, band.members[-1])
    for statement in statements_of(band, scop):
        along = step(statement, loops, len(outer))
        if along is None or any(stride(access, along) is None for access in statement.accesses):
            return False
    return True
