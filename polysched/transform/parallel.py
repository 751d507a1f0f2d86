"""Marks the outermost coincident loop of every nest, to run on parallel threads.

    band: k                                   mark: parallel
          i   coincident          ->          band: i   coincident
                                                    k

One parallel loop on a path: threads started inside threads only cost. Nor do they pay for a single loop that others
repeat: it would have to be very long.
"""

from __future__ import annotations

from dataclasses import replace

from polysched import isl
from polysched.model.tree import (
    Band,
    Domain,
    Member,
    Parallel,
    Tree,
    Vector,
    children,
    is_innermost,
    mark_of,
    marks_in,
    with_children,
)


def mark_parallel(tree: Tree, *, is_repeated: bool = False, domain: isl.UnionSet | None = None) -> Tree:
    """`tree` with the first coincident member of each outermost band that has one marked; `is_repeated` by loops above.

    In a permutable band that member moves to the front; in another one the members before it become an outer band. A
    loop that runs once for all of the `domain`, of which a whole tree tells, is passed over, as one over a single tile,
    and so is a band of such if a loop inside of it is parallel.
    """
    if isinstance(tree, Domain):
        return replace(tree, child=mark_parallel(tree.child, domain=tree.domain))
    if mark_of(tree, Vector) and is_repeated:
        return tree
    repeats = is_repeated or isinstance(tree, Band)
    is_short = isinstance(tree, Band) and is_repeated and len(tree.members) == 1 and is_innermost(tree)
    if not (isinstance(tree, Band) and any(m.coincident for m in tree.members)) or is_short:
        below = (mark_parallel(child, is_repeated=repeats, domain=domain) for child in children(tree))
        return with_children(tree, tuple(below))
    k = for_threads(tree, domain)
    if k is None:
        inside = mark_parallel(tree.child, is_repeated=is_repeated, domain=domain)
        if any(isinstance(mark, Parallel) for mark in marks_in(inside)):
            return replace(tree, child=inside)
        k = next(k for k, member in enumerate(tree.members) if member.coincident)
    before, chosen, after = tree.members[:k], tree.members[k], tree.members[k + 1 :]
    if tree.permutable:
        before, after = (), (*before, *after)
    # Threads bring more than lanes, which the compiler may add.
    marks = (*(mark for mark in chosen.marks if not isinstance(mark, Vector)), Parallel())
    inner = Band((replace(chosen, marks=marks), *after), tree.permutable, tree.child)
    return Band(before, tree.permutable, inner) if before else inner


def for_threads(band: Band, domain: isl.UnionSet | None) -> int | None:
    """The first coincident member that runs more than once; None if there is none."""
    parallel = (k for k, member in enumerate(band.members) if member.coincident)
    return next((k for k in parallel if not _runs_once(band.members[k], domain)), None)


def _runs_once(member: Member, domain: isl.UnionSet | None) -> bool:
    if domain is None:
        return False
    values = member.schedule.intersect_domain(domain).range()
    return values.n_set() == 1 and bool(isl.sets_of(values)[0].is_singleton())
