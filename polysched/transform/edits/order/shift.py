"""Shifting: instances of some statements run later along a loop, by a constant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial

from polysched.errors import InputError
from polysched.model.tree.nodes import Member
from polysched.support import isl
from polysched.transform.edits.base.edit import Alternative, Draft, checked
from polysched.transform.edits.base.loops import loop, with_member
from polysched.transform.edits.base.registry import edit

_NEARBY = 4  # smaller shifts that are tried for a hint


@edit("order", "i -> i")
def shift(draft: Draft, statements: str, name: str, by: int) -> Draft:
    """Instances of the statements, a pattern, `by` later along a loop around them; earlier if it is negative.

    It is in units of what the loop counts: where that steps by 2, shifted by 1 falls between iterations.
    IllegalSchedule if it breaks a dependence; InputError if no statement in the loop fits.

        for i in 0..n:                for i in 0..n + 1:
            S(i)                 ->       if i < n: S(i)
            T(i)                          if i > 0: T(i - 1)         shift("T", "i", 1)
    """
    place = loop(draft.nested, name)
    moved = tuple(each for each in place.statements if fnmatchcase(each, statements))
    if not moved:
        inside = ", ".join(place.statements)
        raise InputError(f"no statement in loop '{place.name}' fits '{statements}'", hint=f"there are: {inside}")
    if by == 0:
        raise InputError("a shift by 0 changes nothing", hint="give another distance")
    nearer = [by - k if by > 0 else by + k for k in range(1, min(abs(by), _NEARBY + 1))]

    def shifted_by(distance: int, alternatives: Iterable[Alternative] = ()) -> Draft:
        member = shifted(place.member, moved, distance)
        tree = with_member(draft.nested, place.path, member)
        return checked(draft, tree, f"shift({statements}, {name}, {distance})", alternatives)

    return shifted_by(by, [(f"shift by {k}", partial(shifted_by, k)) for k in nearer])


def shifted(member: Member, statements: tuple[str, ...], by: int) -> Member:
    """The member with `by` added to its value for these statements."""
    schedule = isl.UnionMap("{ }")
    for values in isl.maps_of(member.schedule):
        if values.get_tuple_name(isl.dim_type.in_) in statements:
            values = values.apply_range(isl.Map(f"{{ [x] -> [x + {by}] }}"))
        schedule = schedule.add_map(values)
    return replace(member, schedule=schedule)
