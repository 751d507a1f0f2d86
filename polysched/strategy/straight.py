"""Simpler loops inside of a loop that runs serially: there, its own value is constant. As edits, they are skews,
reversals and shifts.

    band: t                          band: t              .skew("2t+i", by="t", factor=-2)
      band: 2t + i, 2t + j     ->      band: i, j         .skew("2t+j", by="t", factor=-2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polysched.errors import InputError
from polysched.model.tree.nodes import Band, Member
from polysched.strategy.script import Script
from polysched.support import isl
from polysched.support.remembered import remembered
from polysched.transform.edits.base.loops import loop

_MOST = 4  # times the outer member, in either direction


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
        now, found = _without(now, around)
        skews += found
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
    pieces = _with_function(after, after.function.sub(before.function)).pieces
    values = {aff.get_constant_val().to_python() if aff.is_cst() else None for aff in pieces}
    return values.pop() if len(values) == 1 else None


def _reversed(member: Member) -> Member:
    return _with_function(member, member.function.neg())


# --- which loops are simpler


def unskew(band: Band, outer: Sequence[Member]) -> Band:
    """`band`, inside of serial loops over `outer`, with members that have the least coefficients that multiples of
    `outer` leave: those of one statement count from zero, and those that outer ones determine are gone. The order of
    instances stays."""
    members: list[Member] = []
    for member in band.members:
        member, _ = _without(member, outer)
        left = (_without_multiple(member, each, _best_factor(member, each)) for each in members)
        if not any(map(_is_constant, (member, *left))):
            members.append(replace(member, schedule=_from_zero(member.schedule)))
    return replace(band, members=tuple(members))


def in_order(band: Band) -> Band:
    """`band`, whose loops run one inside of the other as they stand, with members simplified inside of earlier ones.
    They are no longer permutable."""
    members: list[Member] = []
    for member in band.members:
        members.append(_without(member, members)[0])
    return replace(band, members=tuple(members), permutable=len(members) == 1)


def upright(member: Member) -> Member:
    """The member, whose iterations may run in any order, the other way round if it falls with all iterators."""
    kind = isl.dim_type.in_
    factors = [_coefficient(aff, kind, k) for aff in member.pieces for k in range(aff.dim(kind))]
    return _reversed(member) if min(factors, default=0) < 0 >= max(factors) else member


def _is_constant(member: Member) -> bool:
    """Has it one value, for all instances?"""
    affs = member.pieces
    return all(aff.is_cst() for aff in affs) and len({str(aff.get_constant_val()) for aff in affs}) == 1


def _without(member: Member, outer: Sequence[Member]) -> tuple[Member, list[tuple[Member, int]]]:
    """The member less multiples of loops of `outer`, one after the other, as long as that helps; and these."""
    found: list[tuple[Member, int]] = []
    while True:
        before = len(found)
        for each in outer:
            if factor := _best_factor(member, each):
                member = _without_multiple(member, each, factor)
                found.append((each, factor))
        if len(found) == before:
            return member, found


def _best_factor(member: Member, outer: Member) -> int:
    """The multiple of `outer` without which the member is simplest."""
    return _best(member.schedule, outer.schedule)


@remembered
def _best(schedule: isl.UnionMap, outer: isl.UnionMap) -> int:
    factors = (0, *(k for k in range(-_MOST, _MOST + 1) if k))
    return min(factors, key=lambda k: _size(_without_multiple(Member(schedule), Member(outer), k)))


def _without_multiple(member: Member, outer: Member, factor: int) -> Member:
    """The member less so many times another one."""
    return replace(member, schedule=_less(member.schedule, outer.schedule, factor)) if factor else member


@remembered
def _less(schedule: isl.UnionMap, outer: isl.UnionMap, factor: int) -> isl.UnionMap:
    times = Member(outer).function.scale_val(isl.Val(factor))
    return isl.UnionMap.from_union_pw_aff(Member(schedule).function.sub(times))


@remembered
def _from_zero(schedule: isl.UnionMap) -> isl.UnionMap:
    affs = Member(schedule).pieces
    constant = affs[0].get_constant_val() if len(affs) == 1 else isl.Val(0)  # no piece at all: it never runs
    if constant.is_zero() or not constant.is_int():
        return schedule
    moved = isl.PwAff.from_aff(affs[0].add_constant_val(isl.Val(0).sub(constant)))
    return isl.UnionMap.from_union_pw_aff(isl.UnionPwAff.from_pw_aff(moved))


def _with_function(member: Member, function: isl.UnionPwAff) -> Member:
    return replace(member, schedule=isl.UnionMap.from_union_pw_aff(function))


def _size(member: Member) -> int:
    """The sum of the absolute coefficients of iterators and sizes."""
    kinds = (isl.dim_type.in_, isl.dim_type.param)
    return sum(abs(_coefficient(aff, kind, k)) for aff in member.pieces for kind in kinds for k in range(aff.dim(kind)))


def _coefficient(aff: isl.Aff, kind: isl.dim_type, position: int) -> int:
    return int(aff.get_coefficient_val(kind, position).get_num_si())
