"""Parallel loops by hand: their iterations run on threads.

    band: i                   mark: parallel
      band: j          ->       band: i   coincident          parallel("i")
                                  band: j

Iterations must not depend on each other. Where the order of reductions is free they may update the same elements: each
thread has a private copy of the arrays that the mark names, or, where the code cannot have one, the loop runs serially.
"""

from __future__ import annotations

from collections.abc import Iterable

from polysched.model.tree import LoopMark, Parallel, marked_as
from polysched.transform.hand.edit import Alternative, Draft, checked, reaching
from polysched.transform.hand.lifts import lifts
from polysched.transform.hand.loops import Loop, changed_at, unmarked
from polysched.transform.reductions import reduced


def parallel(draft: Draft, name: str) -> Draft:
    """The loop with its iterations on threads, which must not depend on each other but by updates of reductions."""
    place = unmarked(draft.nested, name, may_be_full=True)
    what, mark = f"parallel({name})", Parallel(reduced_by(draft, place))
    return marked(draft, place.name, mark, what, lifts(draft, place, parallel))


def marked(draft: Draft, name: str, mark: LoopMark, what: str, alternatives: Iterable[Alternative] = ()) -> Draft:
    """The loop with a mark, checked; it has no other that says how it runs."""
    tree = draft.nested
    place = unmarked(tree, name, may_be_full=True)
    edited = changed_at(tree, place.path, lambda _: marked_as(place.band, mark))
    return checked(draft, edited, what, alternatives)


def reduced_by(draft: Draft, place: Loop) -> tuple[str, ...]:
    """The arrays that the loop's iterations update by reductions of which the order is free; () if it carries more."""
    pairs = reaching(draft.nested, place.path, draft.dependences.coincidence)
    return reduced(place.member, draft.dependences, pairs)
