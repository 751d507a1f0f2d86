"""Parallel loops by hand: their iterations run on threads.

    band: i                   mark: parallel
      band: j          ->       band: i   coincident          parallel("i")
                                  band: j

Iterations must not depend on each other. Where the order of reductions is free they may update the same elements: each
thread has a private copy of the arrays that the mark names, or, where the code cannot have one, the loop runs serially.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from polysched.model.tree import Band, Mark, MarkValue, Parallel, Tree
from polysched.transform.hand.edit import Alternative, Draft, checked, reaching
from polysched.transform.hand.loops import Loop, changed_at, loops, unmarked
from polysched.transform.hand.reorder import interchange
from polysched.transform.hand.skew import skew
from polysched.transform.reductions import reduced


def parallel(draft: Draft, name: str) -> Draft:
    """The loop with its iterations on threads, which must not depend on each other but by updates of reductions."""
    place = unmarked(draft.nested, name, may_be_full=True)
    what, mark = f"parallel({name})", Parallel(reduced_by(draft, place))
    return marked(draft, place.name, mark, what, _alternatives(draft, place))


def marked(draft: Draft, name: str, mark: MarkValue, what: str, alternatives: Iterable[Alternative] = ()) -> Draft:
    """The loop under a mark, checked; a loop has one mark at most."""
    tree = draft.nested
    place = unmarked(tree, name, may_be_full=True)

    def change(node: Tree) -> Tree:
        return Mark(mark, node)

    return checked(draft, changed_at(tree, place.path, change), what, alternatives)


def reduced_by(draft: Draft, place: Loop) -> tuple[str, ...]:
    """The arrays that the loop's iterations update by reductions of which the order is free; () if it carries more."""
    pairs = reaching(draft.nested, place.path, draft.dependences.coincidence)
    return reduced(place.member, draft.dependences, pairs)


def reduction_freed(draft: Draft) -> Draft:
    """The draft with the order of reductions free, which changes how floats are rounded."""
    return replace(draft, dependences=replace(draft.dependences, reorder_reductions=True))


FREE = "if sums may be in any order, schedule with Options(reorder_reductions=True)"


def _alternatives(draft: Draft, place: Loop) -> Iterator[Alternative]:
    yield FREE, lambda: parallel(reduction_freed(draft), place.name)
    for array in _arrays(draft):
        text = f"give each iteration its own '{array}'"
        yield text, lambda array=array: parallel(_without_reuse(draft, array), place.name)  # type: ignore[misc]
    for inner in loops(draft.nested):
        if len(inner.path) > len(place.path) and inner.path[: len(place.path)] == place.path:
            yield f"'{inner.name}' is parallel", lambda inner=inner: parallel(draft, inner.name)  # type: ignore[misc]
    if isinstance(below := place.band.child, Band):
        (member,) = below.members
        yield (
            f"skew '{member.name}' by it and interchange them: then it is parallel inside, a wavefront",
            lambda: parallel(interchange(skew(draft, member.name, place.name), place.name, member.name), place.name),
        )


def _arrays(draft: Draft) -> list[str]:
    return sorted({each.array for each in draft.dependences.of("anti", "output")})


def _without_reuse(draft: Draft, array: str) -> Draft:
    """The draft without the dependences that are there because elements of the array are used again."""
    pairs = draft.dependences.pairs
    kept = tuple(each for each in pairs if each.array != array or each.kind == "flow")
    return replace(draft, dependences=replace(draft.dependences, pairs=kept))
