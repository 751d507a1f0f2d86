"""Sequences that stay flat: parts of a sequence stand directly in it, whatever edits put there.

    sequence                            sequence
      filter: S                           filter: S
      filter: T, U               ->       filter: T
        sequence                          filter: U
          filter: T
          filter: U
"""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import replace

from polysched.model.tree.nodes import Filter, Sequence, Tree
from polysched.transform.edits.base.loops import changed_at, node_at


def flat(branches: Several[Filter]) -> Sequence:
    """The branches as a sequence; those that are sequences are in it by their parts."""
    parts = []
    for branch in branches:
        if isinstance(branch.child, Sequence):
            inner = flat(branch.child.children).children
            parts += [replace(part, filter=part.filter.intersect(branch.filter)) for part in inner]
        else:
            parts.append(branch)
    return Sequence(tuple(parts))


def with_parts(tree: Tree, path: Several[int], parts: Sequence) -> Tree:
    """`tree` with a sequence where the path leads, flat with the one that is directly around."""
    tree = changed_at(tree, path, lambda node: parts)
    around = path[:-2]
    if len(path) >= 2 and isinstance(node := node_at(tree, around), Sequence):
        return changed_at(tree, around, lambda _: flat(node.children))
    return tree
