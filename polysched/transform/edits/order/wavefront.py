"""Wavefronts by hand: the sum of nested loops goes through them, what is left inside is parallel (Lamport, 1974)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce

from polysched.errors import InputError
from polysched.support import isl
from polysched.transform.edits.base.edit import Alternative, Draft, checked
from polysched.transform.edits.base.loops import chain, given, with_member
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.order.nesting import require_nested
from polysched.transform.edits.order.skew import skewings


@edit("order", "i, j -> i+j, j")
def wavefront(draft: Draft, *loops: str, name: str = "") -> Draft:
    """The sum of nested loops in the place of the outermost of them; the others inside are parallel.

    It is called `name`, or as the outermost loop: its iterations are those of a wavefront, and which of them it is
    follows from the other loops. IllegalSchedule if the loops are not permutable.

        for i in 0..n:                for w in 0..2 * n - 1:
            for j in 0..n: S     ->       parallel for j: S          S of (w - j, j): wavefront("i", "j", name="w")
    """
    if len(loops) < 2:
        raise InputError("a wavefront goes through two loops or more", hint="name one around it or inside, too")
    require_nested(draft, loops, lambda nested, there: wavefront(nested, *there, name=name))
    names = [place.name for place in chain(draft.nested, loops)]
    alternatives = skewings(draft, names, lambda skewed: _wavefront(skewed, names, name))
    return _wavefront(draft, names, name, alternatives)


def _wavefront(draft: Draft, loops: Sequence[str], name: str, alternatives: Iterable[Alternative] = ()) -> Draft:
    tree = draft.nested
    outer, *inner = chain(tree, loops)
    total = reduce(isl.UnionPwAff.add, (each.member.function for each in inner), outer.member.function)
    called = outer.name if name in ("", outer.name) else given(tree, name)
    front = replace(outer.member, schedule=isl.UnionMap.from_union_pw_aff(total), name=called)
    tree = with_member(tree, outer.path, front)
    for each in inner:
        tree = with_member(tree, each.path, replace(each.member, coincident=True))
    return checked(draft, tree, f"wavefront({', '.join(loops)})", alternatives)
