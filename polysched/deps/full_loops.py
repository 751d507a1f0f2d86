"""Loops that run a fixed number of times: every instance must be in one of their iterations.

    mark: full:32
      band: S[i] -> i mod 32          what is not from 0 to 31 would never run
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched import isl
from polysched.model.tree import Band, Filter, Full, Mark, Tree, children


def outside_of_full_loops(tree: Tree, instances: isl.UnionSet) -> Iterator[isl.UnionSet]:
    """For each full loop, those of `instances` that reach it and are in none of its iterations."""
    if isinstance(tree, Filter):
        instances = instances.intersect(tree.filter)
    if isinstance(tree, Mark) and isinstance(tree.mark, Full):
        inside = isl.UnionSet(f"{{ [x] : 0 <= x < {tree.mark.size} }}")
        iterations = _band_below(tree).members[0].schedule.intersect_range(inside)
        yield instances.subtract(iterations.domain())
    for child in children(tree):
        yield from outside_of_full_loops(child, instances)


def _band_below(tree: Tree) -> Band:
    while not isinstance(tree, Band):
        (tree,) = children(tree)
    return tree
