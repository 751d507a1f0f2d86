"""Parallel loops by hand: their iterations run on threads."""

from __future__ import annotations

from collections.abc import Iterable

from polysched.model.tree.nodes import LoopMark, Parallel, marked_as
from polysched.transform.edits.base.edit import Alternative, Draft, checked
from polysched.transform.edits.base.loops import changed_at, unmarked
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.run.lifts import lifts


@edit("run", "i -> i")
def parallel(draft: Draft, name: str) -> Draft:
    """The loop with its iterations on threads.

    They must not depend on each other, or IllegalSchedule says where they do. Where sums may be in any order they may
    update the same elements: each thread has a private copy of the arrays that the mark names, as the tree says in the
    end, or, where the code cannot have one, the loop runs serially.

        for i: S            ->    parallel for i: S                  parallel("i")
    """
    place = unmarked(draft.nested, name, may_be_full=True)
    return marked(draft, place.name, Parallel(), f"parallel({name})", lifts(draft, place, parallel))


def marked(draft: Draft, name: str, mark: LoopMark, what: str, alternatives: Iterable[Alternative] = ()) -> Draft:
    """The loop with a mark, checked; it has no other that says how it runs."""
    tree = draft.nested
    place = unmarked(tree, name, may_be_full=True)
    edited = changed_at(tree, place.path, lambda _: marked_as(place.band, mark))
    return checked(draft, edited, what, alternatives)
