"""Parallel loops by hand: their iterations run on threads.

    band: i                   mark: parallel
      band: j          ->       band: i   coincident          parallel("i")
                                  band: j
"""

from __future__ import annotations

from polysched.errors import InputError
from polysched.model.tree import Mark, MarkValue, Parallel, Tree
from polysched.transform.hand.edit import Draft, checked
from polysched.transform.hand.loops import changed_at, loop, node_at


def parallel(draft: Draft, name: str) -> Draft:
    """The loop with its iterations on threads, which must not depend on each other."""
    return marked(draft, name, Parallel(), f"parallel({name})")


def marked(draft: Draft, name: str, mark: MarkValue, what: str) -> Draft:
    """The loop under a mark, checked; a loop has one mark at most."""
    tree = draft.nested
    place = loop(tree, name)
    above = node_at(tree, place.path[:-1])
    if isinstance(above, Mark):
        raise InputError(f"loop '{name}' is marked {type(above.mark).__name__.lower()} already")

    def change(node: Tree) -> Tree:
        return Mark(mark, node)

    return checked(draft, changed_at(tree, place.path, change), what)
