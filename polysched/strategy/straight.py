"""Loops made simpler inside of others, as `transform/trees/unskew.py` does it: skews, reversals and shifts.

    band: t                 .skew("2t+i", by="t", factor=-2)          band: t
      band: 2t + i    ->                                       ->       band: i
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from polysched.errors import InputError
from polysched.model.tree.nodes import Member
from polysched.strategy.script import Script
from polysched.transform.edits.base.loops import loop
from polysched.transform.trees.unskew import multiples, with_function, without_multiple


def straighten(script: Script, members: Sequence[Member], outer: Sequence[Member]) -> None:
    """The loops of these names as they are here: without multiples of `outer` and of one another, upwards, from zero
    on. InputError if that is not all in which they differ."""
    for k, member in enumerate(members):
        before = loop(script.draft.nested, member.name).member
        if not before.schedule.is_equal(member.schedule):
            _straightened(script, before, member, (outer, members[:k]))


def _straightened(script: Script, before: Member, after: Member, outer: Sequence[Sequence[Member]]) -> None:
    name, skews, now = before.name, [], before
    for around in outer:
        found = multiples(now, around)
        skews += found
        now = reduce(lambda member, skew: without_multiple(member, *skew), found, now)
        upwards, downwards = (_distance(each, after) for each in (now, _reversed(now)))
        if upwards is not None or downwards is not None:
            break
    else:
        raise script.refused(InputError(f"no edits make loop '{name}' simpler"))
    for each, factor in skews:
        script.do("skew", name, by=each.name, factor=-factor)
    if upwards is None:
        script.do("reverse", name)
    if distance := downwards if upwards is None else upwards:
        script.do("shift", "*", name, distance)


def _distance(before: Member, after: Member) -> int | None:
    """What is to be added to all values of one to have those of the other; None if it is not one constant."""
    pieces = with_function(after, after.function.sub(before.function)).pieces
    values = {aff.get_constant_val().to_python() if aff.is_cst() else None for aff in pieces}
    return values.pop() if len(values) == 1 else None


def _reversed(member: Member) -> Member:
    return with_function(member, member.function.neg())
