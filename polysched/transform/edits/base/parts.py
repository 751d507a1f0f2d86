"""A loop in parts that run one after the other, each with its own copy of the loop and all below.

    band: i              sequence
      band: j      ->      filter: S[i, j] : i <= 0
                             band: i_2                  in_parts(tree, loop(tree, "i").path, (first, rest), keeps=1)
                               band: j_2
                           filter: S[i, j] : i > 0
                             band: i
                               band: j

The loops of one part keep their names, and so do those that it has not. Sequences stay flat: parts of one stand
directly in it, whatever edits put there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from polysched.model.tree.instances import only
from polysched.model.tree.nodes import Band, Filter, InOrder, Tree, children, walk, with_children
from polysched.support import isl
from polysched.transform.edits.base.loops import changed_at, free, loops, node_at


def in_parts(tree: Tree, path: Sequence[int], parts: Sequence[isl.UnionSet], keeps: int) -> Tree:
    """`tree` with the instances of each part in turn where the path leads; they are disjoint, and none is empty."""
    node = node_at(tree, path)
    branches = [Filter(part, only(node, part)) for part in parts]
    return with_parts(tree, path, InOrder(with_names_of_their_own(tree, branches, keeps)))


def with_names_of_their_own(tree: Tree, branches: Sequence[Filter], keeps: int = 0) -> tuple[Filter, ...]:
    """The branches with names for their loops that no other of them, nor of `tree`, has; one of them keeps its own."""
    taken, shown = {each.name for each in loops(tree)}, _loop_names(branches[keeps])
    done = list(branches)
    for k, branch in enumerate(branches):
        if k != keeps:
            done[k] = called_otherwise(branch, shown, taken)
            shown |= _loop_names(done[k])
    return tuple(done)


def flat(branches: Sequence[Filter]) -> InOrder:
    """The branches as a sequence; those that are sequences are in it by their parts."""
    parts = []
    for branch in branches:
        if isinstance(branch.child, InOrder):
            inner = flat(branch.child.children).children
            parts += [replace(part, filter=part.filter.intersect(branch.filter)) for part in inner]
        else:
            parts.append(branch)
    return InOrder(tuple(parts))


def with_parts(tree: Tree, path: Sequence[int], parts: InOrder) -> Tree:
    """`tree` with a sequence where the path leads, flat with the one that is directly around."""
    tree = changed_at(tree, path, lambda node: parts)
    around = path[:-2]
    if len(path) >= 2 and isinstance(node := node_at(tree, around), InOrder):
        return changed_at(tree, around, lambda _: flat(node.children))
    return tree


def _loop_names(tree: Tree) -> set[str]:
    return {member.name for node in walk(tree) if isinstance(node, Band) for member in node.members}


def called_otherwise(tree: Any, shown: set[str], taken: set[str]) -> Any:
    """The node with a fresh name, which is `taken` from now on, for every loop that is `shown` elsewhere."""
    if isinstance(tree, Band):
        members = []
        for member in tree.members:
            name = free(member.name, taken) if member.name in shown else member.name
            members.append(replace(member, name=name))
            taken.add(name)
        tree = replace(tree, members=tuple(members))
    return with_children(tree, tuple(called_otherwise(child, shown, taken) for child in children(tree)))
