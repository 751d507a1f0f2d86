"""Reordering: nested loops in another order, or a loop backwards.

Reversal is legal where the loop carries no dependence: all that it would turn round is put in order by loops around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from polysched.support import isl
from polysched.transform.edits.base.edit import Alternative, Draft, checked
from polysched.transform.edits.base.loops import chain, loop, loops, with_member
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.order.nesting import require_nested
from polysched.transform.edits.order.skew import skewings


@edit("order", "i, j, k -> k, i, j")
def reorder(draft: Draft, *loops: str) -> Draft:
    """The loops in the order in which they are named, outermost first.

    Loops between them that are not named stay where they are. IllegalSchedule if that breaks a dependence; InputError
    if the loops are not nested with nothing but other loops in between, or are marked.

        for i:                   for k:
            for j:          ->       for i:              reorder("k", "i", "j")
                for k: S                 for j: S
    """
    names = [loop(draft.nested, name).name for name in loops]
    require_nested(draft, names, lambda nested, there: reorder(nested, *there))
    return _reordered(draft, names, f"reorder({', '.join(loops)})")


@edit("order", "i, j -> j, i")
def interchange(draft: Draft, one: str, other: str) -> Draft:
    """Two loops in each other's place.

    It raises what `reorder` does.

        for i:                   for j:
            for j: S        ->       for i: S            interchange("i", "j")
    """
    require_nested(draft, (one, other), lambda nested, there: interchange(nested, *there))
    outer, inner = (place.name for place in chain(draft.nested, [one, other]))
    return _reordered(draft, [inner, outer], f"interchange({one}, {other})")


def _reordered(draft: Draft, names: Sequence[str], what: str) -> Draft:
    tree = draft.nested
    places = chain(tree, names)
    for place, name in zip(places, names, strict=True):
        tree = with_member(tree, place.path, loop(draft.nested, name).member)
    nest = [place.name for place in places]
    alternatives = skewings(draft, nest, lambda skewed: _reordered(skewed, names, what), order=names)
    return checked(draft, tree, what, alternatives)


@edit("order", "i -> -i")
def reverse(draft: Draft, name: str) -> Draft:
    """The loop from its last iteration to the first.

    IllegalSchedule if it carries a dependence.

        for i in 0..n: S    ->    for i in n - 1..-1 by -1: S        reverse("i")
    """
    place = loop(draft.nested, name)
    inside = [each.name for each in loops(draft.nested) if place.is_around(each)][1:]

    def when_inside(other: str) -> Draft:
        return _reversed(interchange(draft, place.name, other), place.name)

    alternatives = [(f"interchange {place.name} and {other} first", partial(when_inside, other)) for other in inside]
    return _reversed(draft, name, alternatives)


def _reversed(draft: Draft, name: str, alternatives: Iterable[Alternative] = ()) -> Draft:
    place = loop(draft.nested, name)
    member = replace(place.member, schedule=isl.UnionMap.from_union_pw_aff(place.member.function.neg()))
    tree = with_member(draft.nested, place.path, member)
    return checked(draft, tree, f"reverse({name})", alternatives)
