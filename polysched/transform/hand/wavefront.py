"""Wavefronts by hand: the sum of nested loops goes through them, and what is left inside is parallel (Lamport, 1974).

    band: i                 band: i     i + j
      band: j        ->       band: j     coincident          wavefront("i", "j")

The sum takes the place of the outermost loop, and its name unless another is given: its iterations are those of a
wavefront, and which of them it is follows from the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce

from polysched import isl
from polysched.errors import InputError
from polysched.transform.hand.edit import Alternative, Draft, checked
from polysched.transform.hand.loops import chain, given, with_member
from polysched.transform.hand.nesting import require_nested
from polysched.transform.hand.skew import skewings


def wavefront(draft: Draft, loops: Sequence[str], name: str = "") -> Draft:
    """The sum of the loops in the place of the outermost, called `name` or as that one; the others inside, parallel."""
    if len(loops) < 2:
        raise InputError("a wavefront goes through two loops or more", hint="name one around it or inside, too")
    require_nested(draft, loops, lambda nested, there: wavefront(nested, there, name))
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
