"""Simpler loops inside of a loop that runs serially: there, its own value is constant. As edits, they are skews,
reversals and shifts.

    band: t                          band: t              .skew("2t+i", by="t", factor=-2)
      band: 2t + i, 2t + j     ->      band: i, j         .skew("2t+j", by="t", factor=-2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polysched.deps.distance import MOST_SKEW
from polysched.model.tree.nodes import Band, Member
from polysched.strategy.script import Script
from polysched.support import isl
from polysched.support.remembered import remembered


@dataclass(frozen=True)
class Simpler(Member):
    """A loop as edits make it."""

    skews: tuple[tuple[str, int], ...] = ()  # by which loop, and how often
    is_reversed: bool = False
    shift: int = 0  # after that


def straighten(script: Script, members: Sequence[Member]) -> None:
    """The loops of these names as they are here."""
    for member in members:
        if isinstance(member, Simpler):
            for by, factor in member.skews:
                script.do("skew", member.name, by=by, factor=factor)
            if member.is_reversed:
                script.do("reverse", member.name)
            if member.shift:
                script.do("shift", "*", member.name, member.shift)


# --- which loops are simpler


def unskew(band: Band, outer: Sequence[Member]) -> Band:
    """`band`, inside of serial loops over `outer`, with members that have the least coefficients that multiples of
    `outer` leave: those of one statement count from zero, and those that outer ones determine are gone. The order of
    instances stays."""
    members: list[Member] = []
    for member in band.members:
        member = _without(member, outer)
        left = (_without_multiple(member, each, _best_factor(member, each)) for each in members)
        if not any(map(_is_constant, (member, *left))):
            members.append(_from_zero(member))
    return replace(band, members=tuple(members))


def in_order(band: Band) -> Band:
    """`band`, whose loops run one inside of the other as they stand, with members simplified inside of earlier ones.
    They are no longer permutable."""
    members: list[Member] = []
    for member in band.members:
        members.append(_without(member, members))
    return replace(band, members=tuple(members), permutable=len(members) == 1)


def upright(member: Member) -> Member:
    """The member, whose iterations may run in any order, the other way round if it falls with all iterators."""
    kind = isl.dim_type.in_
    factors = [_coefficient(aff, kind, k) for aff in member.pieces for k in range(aff.dim(kind))]
    if not min(factors, default=0) < 0 >= max(factors):
        return member
    now = _simpler(member, isl.UnionMap.from_union_pw_aff(member.function.neg()))
    return replace(now, is_reversed=not now.is_reversed, shift=-now.shift)


def _is_constant(member: Member) -> bool:
    """Has it one value, for all instances?"""
    affs = member.pieces
    return all(aff.is_cst() for aff in affs) and len({str(aff.get_constant_val()) for aff in affs}) == 1


def _without(member: Member, outer: Sequence[Member]) -> Member:
    """The member less multiples of loops of `outer`, one after the other, as long as that helps."""
    helps = True
    while helps:
        helps = False
        for each in outer:
            if factor := _best_factor(member, each):
                member, helps = _without_multiple(member, each, factor), True
    return member


def _best_factor(member: Member, outer: Member) -> int:
    """The multiple of `outer` without which the member is simplest; none of a loop over tiles."""
    return 0 if outer.rounds else _best(member.schedule, outer.schedule)


@remembered
def _best(schedule: isl.UnionMap, outer: isl.UnionMap) -> int:
    factors = (0, *(k for k in range(-MOST_SKEW, MOST_SKEW + 1) if k))
    ours, theirs = _coefficients(schedule), _coefficients(outer)
    if ours is not None and theirs is not None and ours.keys() <= theirs.keys():
        return min(factors, key=lambda k: sum(abs(ours[each] - k * theirs[each]) for each in ours))
    return min(factors, key=lambda k: _size(_without_multiple(Member(schedule), Member(outer), k)))


@remembered
def _coefficients(schedule: isl.UnionMap) -> dict[tuple[str, str | int | None], int] | None:
    """Those of iterators and sizes, by statement; None where a statement has several pieces, or a quotient."""
    found: dict[tuple[str, str | int | None], int] = {}
    names = set[str]()
    for aff in Member(schedule).pieces:
        name = aff.get_domain_space().get_tuple_name(isl.dim_type.set)
        if name in names or aff.dim(isl.dim_type.div) or not aff.get_denominator_val().is_one():
            return None
        names.add(name)
        for k in range(aff.dim(isl.dim_type.in_)):
            found[name, k] = _coefficient(aff, isl.dim_type.in_, k)
        for k in range(aff.dim(isl.dim_type.param)):
            found[name, aff.get_dim_name(isl.dim_type.param, k)] = _coefficient(aff, isl.dim_type.param, k)
    return found


def _without_multiple(member: Member, outer: Member, factor: int) -> Member:
    """The member less so many times another one."""
    if not factor:
        return member
    now = _simpler(member, _less(member.schedule, outer.schedule, factor))
    return replace(now, skews=(*now.skews, (outer.name, factor if now.is_reversed else -factor)))


@remembered
def _less(schedule: isl.UnionMap, outer: isl.UnionMap, factor: int) -> isl.UnionMap:
    times = Member(outer).function.scale_val(isl.Val(factor))
    return isl.UnionMap.from_union_pw_aff(Member(schedule).function.sub(times))


def _from_zero(member: Member) -> Member:
    schedule, constant = _counted(member.schedule)
    if not constant:
        return member
    now = _simpler(member, schedule)
    return replace(now, shift=now.shift - constant)


@remembered
def _counted(schedule: isl.UnionMap) -> tuple[isl.UnionMap, int]:
    """The values of one statement less the constant in them, and this."""
    affs = Member(schedule).pieces
    constant = affs[0].get_constant_val() if len(affs) == 1 else isl.Val(0)  # no piece at all: it never runs
    if constant.is_zero() or not constant.is_int():
        return schedule, 0
    moved = isl.PwAff.from_aff(affs[0].add_constant_val(constant.neg()))
    return isl.UnionMap.from_union_pw_aff(isl.UnionPwAff.from_pw_aff(moved)), int(constant.to_python())


def _simpler(member: Member, schedule: isl.UnionMap) -> Simpler:
    """The member with these values, and the edits so far."""
    return Simpler(**{**vars(member), "schedule": schedule})


def _size(member: Member) -> int:
    """The sum of the absolute coefficients of iterators and sizes."""
    kinds = (isl.dim_type.in_, isl.dim_type.param)
    return sum(abs(_coefficient(aff, kind, k)) for aff in member.pieces for kind in kinds for k in range(aff.dim(kind)))


def _coefficient(aff: isl.Aff, kind: isl.dim_type, position: int) -> int:
    return int(aff.get_coefficient_val(kind, position).get_num_si())
