"""Statements that are in no loop on some axis of their kernel, on the first block and thread there.

    mark: map:block.x                        mark: map:block.x
      band: i                                  band: i
        sequence                                 sequence
          filter: S                                filter: S
            mark: map:thread.x  band: j   ->         mark: map:thread.x  band: j
          filter: T                                filter: T
                                                     mark: map:thread.x  band: T -> 0

Left alone, every thread would run the loops and conditions around T, and only the first its stores; but a variable
that sums up in T, or a condition in it, would read in all threads what the first one writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polysched.deps.phases import is_in_rows, is_kernel
from polysched.model.tree.nodes import (
    Band,
    Domain,
    Filter,
    InOrder,
    Map,
    Member,
    Set,
    Storage,
    Tree,
    children,
    mark_of,
    marks_in,
    with_children,
)
from polysched.support import isl


def on_first_threads(tree: Tree) -> Tree:
    """`tree` with every statement of a kernel on all of the kernel's axes."""
    assert isinstance(tree, Domain)
    return _kernels(tree, tree.domain)


def _kernels(tree: Tree, instances: isl.UnionSet) -> Tree:
    if not is_kernel(tree):
        return _below(tree, instances, _kernels)
    axes = {mark.axis for mark in marks_in(tree) if isinstance(mark, Map)}
    for axis in sorted(axes - set(_teams(tree)), reverse=True):
        tree = _on_axis(tree, axis, instances)
    return tree


def _teams(tree: Tree, on: tuple[str, ...] = ()) -> Iterator[str]:
    """The axes of sums whose first thread the code for them sees to: all but those of loops one after the other."""
    if mark := mark_of(tree, Map):
        on = (*on, mark.axis)
        if mark.reduces:
            yield mark.axis
    if not is_in_rows(tree, on):
        for child in children(tree):
            yield from _teams(child, on)


def _on_axis(tree: Tree, axis: str, instances: isl.UnionSet) -> Tree:
    """In a loop of one iteration on the axis whatever is in none: around as much as is in no such loop, nor has arrays
    of its own, which may be those of a block, nor other loops on blocks or threads, between which these may wait."""
    if instances.is_empty() or ((mark := mark_of(tree, Map)) and mark.axis == axis):
        return tree
    side = axis.partition(".")[0]
    if any(isinstance(m, Storage) or (isinstance(m, Map) and m.axis.startswith(side)) for m in marks_in(tree)):
        return _below(tree, instances, lambda child, reaching: _on_axis(child, axis, reaching))
    first = isl.UnionMap.from_domain_and_range(instances, isl.UnionSet("{ [0] }"))
    return Band((Member(first, coincident=True, marks=(Map(axis),)),), True, tree)


def _below(tree: Tree, instances: isl.UnionSet, change: Callable[[Tree, isl.UnionSet], Tree]) -> Tree:
    """The node with its children changed, of which each is given what reaches it."""
    if isinstance(tree, InOrder | Set):
        return with_children(tree, tuple(_below(branch, instances, change) for branch in tree.children))
    reaching = instances.intersect(tree.filter) if isinstance(tree, Filter) else instances
    return with_children(tree, tuple(change(child, reaching) for child in children(tree)))
