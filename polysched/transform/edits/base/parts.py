"""A loop in parts that run one after the other, each with its own copy of the loop and all below.

    band: i              sequence
      band: j      ->      filter: S[i, j] : i <= 0
                             band: i_2                  in_parts(tree, loop(tree, "i").path, (first, rest), keeps=1)
                               band: j_2
                           filter: S[i, j] : i > 0
                             band: i
                               band: j

The loops of one part keep their names, and so do those that it has not.
"""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import replace

from polysched.model.tree.nodes import Band, Filter, Sequence, Set, Tree, children, walk, with_children
from polysched.support import isl
from polysched.transform.edits.base.loops import free, loops, node_at
from polysched.transform.edits.base.sequences import with_parts


def in_parts(tree: Tree, path: Several[int], parts: Several[isl.UnionSet], keeps: int) -> Tree:
    """`tree` with the instances of each part in turn where the path leads; they are disjoint, and none is empty."""
    node, taken = node_at(tree, path), {each.name for each in loops(tree)}
    copies = [only(node, part) for part in parts]
    shown = loop_names(copies[keeps])
    for k, copy in enumerate(copies):
        if k != keeps:
            copies[k] = called_otherwise(copy, shown, taken)
            shown |= loop_names(copies[k])
    branches = [Filter(part, copy) for part, copy in zip(parts, copies, strict=True)]
    return with_parts(tree, path, Sequence(tuple(branches)))


def only(tree: Tree, part: isl.UnionSet) -> Tree:
    """The node for these instances alone: without statements that have none of them."""
    match tree:
        case Band(members=members, child=child):
            kept = (replace(m, schedule=m.schedule.intersect_domain(part)) for m in members)
            return replace(tree, members=tuple(kept), child=only(child, part))
        case Sequence(children=branches) | Set(children=branches):
            own = [Filter(both, only(b.child, both)) for b in branches if (both := b.filter.intersect(part)).n_set()]
            own = [branch for branch in own if not branch.filter.is_empty()]
            return own[0].child if len(own) == 1 else replace(tree, children=tuple(own))
    return with_children(tree, tuple(only(child, part) for child in children(tree)))


def loop_names(tree: Tree) -> set[str]:
    return {member.name for node in walk(tree) if isinstance(node, Band) for member in node.members}


def called_otherwise(tree: Tree, shown: set[str], taken: set[str]) -> Tree:
    """The node with a fresh name, which is `taken` from now on, for every loop that is `shown` elsewhere."""
    if isinstance(tree, Band):
        members = []
        for member in tree.members:
            name = free(member.name, taken) if member.name in shown else member.name
            members.append(replace(member, name=name))
            taken.add(name)
        tree = replace(tree, members=tuple(members))
    return with_children(tree, tuple(called_otherwise(child, shown, taken) for child in children(tree)))
