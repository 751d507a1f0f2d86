"""Is a tree that comes from elsewhere one that a nest can run by, as far as its nodes go?

    domain: ...                          InputError: the mark parallel is above a sequence, not above a loop
      mark: parallel
        sequence: ...

Whether it keeps the order of dependences is for `deps/legality.py`, which takes all this for granted.
"""

from __future__ import annotations

from collections.abc import Iterable

from polysched.errors import InputError
from polysched.model.tree.nodes import (
    BESIDE,
    WIDTHS,
    Band,
    Domain,
    Extension,
    Filter,
    LoopMark,
    Mark,
    Prefetch,
    Storage,
    Tree,
    Vector,
    children,
    mark_of,
    own_marks,
    walk,
)
from polysched.support import isl

_MOST_AHEAD = 2**31 - 1  # as of other whole numbers in edits


def require_form(tree: Tree, sizes: Iterable[str]) -> Tree:
    """The tree itself; InputError for one with nodes or marks where they have no meaning, or with sizes that the nest,
    which has `sizes`, does not have."""
    if not isinstance(tree, Domain):
        raise InputError("a schedule tree starts with a 'domain'")
    below = [node for child in children(tree) for node in walk(child)]
    for node in below:
        if isinstance(node, Domain | Extension):
            name = type(node).__name__.lower()
            raise InputError(
                f"a schedule has no '{name}' node inside", hint="the instances that run are those at its top"
            )
        own = [type(mark).__name__.lower() for mark in own_marks(node) if not isinstance(mark, BESIDE)]
        if isinstance(node, Mark) and isinstance(node.mark, LoopMark):
            name = type(node.mark).__name__.lower()
            raise InputError(f"the mark {name} is a node", hint="a loop has it in its member's `marks`")
        if len(own) > 1:
            raise InputError(f"a loop has the marks {' and '.join(own)}", hint="one says how it runs")
        if (lanes := mark_of(node, Vector)) and lanes.width not in WIDTHS:
            raise InputError(f"{lanes.width} lanes are no power of two from 2 to {WIDTHS[-1]}")
        if (fetch := mark_of(node, Prefetch)) and fetch.ahead > _MOST_AHEAD:
            raise InputError(f"no loop has {fetch.ahead} iterations ahead", hint=f"at most {_MOST_AHEAD}")
        if mark_of(node, Storage):
            raise InputError("a tree has no arrays of its own", hint="edits such as cache_read add them")
    schedules = (member.schedule for node in below if isinstance(node, Band) for member in node.members)
    parts: list[isl.UnionSet | isl.UnionMap] = [tree.domain, *schedules]
    parts += [node.filter for node in below if isinstance(node, Filter)]
    unknown = sorted({name for part in parts for name in isl.sizes_of(part.get_space())} - set(sizes))
    if unknown:
        known = ", ".join(sizes) or "none"
        raise InputError(f"the nest has no size {', '.join(unknown)}", hint=f"its sizes are: {known}")
    return tree
