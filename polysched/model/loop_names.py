"""Names of loops: by what they count.

    band: S[i, j] -> floor(i/32)               floor((i)/32)
    band: S[i, j] -> i                         i
    band: S[i, j] -> i + j                     i+j
    band: T[i] -> -i                           i_2

Up or down, where the loop is first seen, and with a number where that name is taken.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count

from polysched.model.tree.nodes import Band, Member, Tree, children, with_children
from polysched.model.tree.text import member_text
from polysched.support import isl
from polysched.support.remembered import remembered


def named(tree: Tree) -> Tree:
    """`tree` with a name for each member that has none, or that of one before it."""
    every = _names(tree)
    if all(every) and len({*every}) == len(every):
        return tree
    taken: set[str] = set()

    def visit(node: Tree) -> Tree:
        if isinstance(node, Band):
            members = []
            for member in node.members:
                name = free(member.name or _what_it_counts(member), taken)
                taken.add(name)
                members.append(member if name == member.name else replace(member, name=name))
            if any(new is not old for new, old in zip(members, node.members, strict=True)):
                node = replace(node, members=tuple(members))
        return with_children(node, tuple(map(visit, children(node))))

    return visit(tree)


@remembered
def _names(tree: Tree) -> tuple[str, ...]:
    own = tuple(member.name for member in tree.members) if isinstance(tree, Band) else ()
    return sum(map(_names, children(tree)), own)


def free(name: str, taken: set[str]) -> str:
    """The name itself, or with a number if it is taken."""
    if name not in taken:
        return name
    stem = re.sub(r"_\d+$", "", name)
    return next(f"{stem}_{k}" for k in count(2) if f"{stem}_{k}" not in taken)


def _what_it_counts(member: Member) -> str:
    """The function of the first statement that moves with it, as in "t+i"; i of one that runs down, which is -i."""
    texts = [member_text(part).partition(" -> ")[2].replace(" ", "") for part in isl.maps_of(member.schedule)]
    text = next((text for text in texts if re.search("[a-zA-Z]", text)), "loop")
    return re.sub(r"^-(\w+)$", r"\1", text)
