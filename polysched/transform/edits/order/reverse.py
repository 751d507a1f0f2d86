"""Reversal: a loop runs backwards.

Legal where the loop carries no dependence: all that it would turn round is put in order by loops around it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from polysched.support import isl
from polysched.transform.edits.base.edit import Alternative, Draft, checked
from polysched.transform.edits.base.loops import loop, loops, with_member
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.order.reorder import interchange


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
