"""Phases of a kernel: what its threads do between two barriers.

    mark: map:block.x                       T[i] reads what S[i - 1] has written, on another thread; but the sequence
      band: i_o                             is around all thread loops, so that all threads of the block wait for each
        sequence                            other between its children. With the sequence inside of one thread loop they
          filter: S                         would not.
            mark: map:thread.x  band: i
          filter: T
            mark: map:thread.x  band: i

Different threads of one block are ordered by the sequences and serial loops of their kernel that are around all thread
loops, and by nothing else; blocks are not ordered at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from polysched.deps.coincidence import left_below
from polysched.model.tree.nodes import (
    Band,
    Filter,
    InOrder,
    Leaf,
    Map,
    Storage,
    Tree,
    children,
    mark_of,
    marks_in,
    reached,
    walk,
)
from polysched.support import isl


def left_to_threads(kernel: Tree, pairs: isl.UnionMap) -> isl.UnionMap:
    """The part of `pairs` that nothing around the thread loops of a kernel orders."""
    if isinstance(kernel, Leaf) or is_on_threads(kernel):
        return pairs
    below = left_below(kernel, pairs)
    return reduce(isl.UnionMap.union, (left_to_threads(child, below) for child in children(kernel)))


def between_threads(kernel: Tree, pairs: isl.UnionMap) -> isl.UnionMap:
    """The part of `pairs` whose ends different threads of a kernel may run, of one block or of two."""
    apart = isl.UnionMap("{ }")
    on_threads = (loops for axis, loops in axes(kernel).items() if axis.startswith("thread"))
    for loops in on_threads:
        values = reduce(isl.UnionMap.union, (schedule for schedule, _ in loops))
        ends = values.domain()
        on_first = pairs.subtract_domain(ends).subtract_range(ends)
        apart = apart.union(pairs.subtract(on_first).subtract(values.apply_range(values.reverse())))
    return apart


def misplaced(tree: Tree, instances: isl.UnionSet, shared: frozenset[str]) -> Iterator[tuple[isl.UnionSet, str]]:
    """Those of the instances, which reach the node, that use one of the `shared` arrays, of which each block has one,
    where it belongs to a thread or to several blocks; and in which way."""
    for node, reaching, around in reached(tree, instances):
        storage = mark_of(node, Storage)
        for name in sorted(shared.intersection(storage.arrays)) if storage else ():
            if any(map(is_on_threads, around)):
                yield reaching, f" uses '{name}', shared by a block, which belongs to a loop on threads"
            if any((mark := mark_of(band, Map)) and mark.reduces for band in around):
                yield reaching, f" uses '{name}', shared by a block, which belongs to a loop whose threads add up"
            if any(is_kernel(inner) and not is_on_threads(inner) for inner in walk(node)):
                yield reaching, f" uses '{name}', shared by a block, which belongs to a loop around one on blocks"


def axes(tree: Tree, passing: isl.UnionSet | None = None) -> dict[str, list[tuple[isl.UnionMap, Map]]]:
    """The loops over blocks and threads by axis, each with the value that an instance has there."""
    found: dict[str, list[tuple[isl.UnionMap, Map]]] = {}
    if isinstance(tree, Band) and (mark := mark_of(tree, Map)):
        schedule = tree.members[0].schedule
        found[mark.axis] = [(schedule if passing is None else schedule.intersect_domain(passing), mark)]
    if isinstance(tree, Filter):
        passing = tree.filter if passing is None else passing.intersect(tree.filter)
    for child in children(tree):
        for axis, loops in axes(child, passing).items():
            found.setdefault(axis, []).extend(loops)
    return found


def is_in_rows(tree: Tree, on: tuple[str, ...]) -> bool:
    """Is it a sequence inside of loops on axes, `on` blocks alone, with loops on thread.x, and on no others but on
    thread.y, for the rows of a block?"""
    inside = {mark.axis for mark in marks_in(tree) if isinstance(mark, Map)} if isinstance(tree, InOrder) else set()
    return {"thread.x"} <= inside <= {"thread.x", "thread.y"} and bool(on) and all(a.startswith("block") for a in on)


def is_kernel(tree: Tree) -> bool:
    """Is it a loop on an axis of the grid?"""
    return mark_of(tree, Map) is not None


def is_on_threads(tree: Tree) -> bool:
    return (mark := mark_of(tree, Map)) is not None and mark.axis.startswith("thread")
