"""Loops that run a fixed number of times: every instance must be in one of their iterations.

    mark: full:32
      band: S[i] -> i mod 32          what is not from 0 to 31 would never run
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.model.tree.nodes import Band, Filter, Full, Tree, children, mark_of
from polysched.support import isl


def outside_of_full_loops(tree: Tree, instances: isl.UnionSet) -> Iterator[isl.UnionSet]:
    """For each full loop, those of `instances` that reach it and are in none of its iterations."""
    if isinstance(tree, Filter):
        instances = instances.intersect(tree.filter)
    if isinstance(tree, Band) and (full := mark_of(tree, Full)):
        inside = isl.UnionSet(f"{{ [x] : 0 <= x < {full.size} }}")
        iterations = tree.members[0].schedule.intersect_range(inside)
        yield instances.subtract(iterations.domain())
    for child in children(tree):
        yield from outside_of_full_loops(child, instances)
