"""Simpler loops inside of a loop that runs serially: there, its own value is constant.

    band: t                          band: t
      band: 2t + i, 2t + j     ->      band: i, j
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polysched.model.tree.nodes import Band, Member
from polysched.support import isl
from polysched.support.remembered import remembered

_MOST = 4  # times the outer member, in either direction


def unskew(band: Band, outer: Sequence[Member]) -> Band:
    """`band`, inside of serial loops over `outer`, with members that have the least coefficients that multiples of
    `outer` leave: those of one statement count from zero, and those that outer ones determine are gone. The order of
    instances stays."""
    members: list[Member] = []
    for member in band.members:
        member = _reduced(member, outer)
        if not any(_is_constant(_simplest(member, loop)) for loop in members) and not _is_constant(member):
            members.append(_unshifted(member))
    return replace(band, members=tuple(members))


def in_order(band: Band) -> Band:
    """`band`, whose loops run one inside of the other as they stand, with members simplified inside of earlier ones.
    They are no longer permutable."""
    members: list[Member] = []
    for member in band.members:
        members.append(_reduced(member, members))
    return replace(band, members=tuple(members), permutable=len(members) == 1)


def upright(member: Member) -> Member:
    """The member, whose iterations may run in any order, the other way round if it falls with all iterators."""
    kind = isl.dim_type.in_
    factors = [_coefficient(aff, kind, k) for aff in member.pieces for k in range(aff.dim(kind))]
    return with_function(member, member.function.neg()) if min(factors, default=0) < 0 >= max(factors) else member


def _is_constant(member: Member) -> bool:
    """Has it one value, for all instances?"""
    affs = member.pieces
    return all(aff.is_cst() for aff in affs) and len({str(aff.get_constant_val()) for aff in affs}) == 1


def multiples(member: Member, outer: Sequence[Member]) -> list[tuple[Member, int]]:
    """Which multiples of which loop of `outer` are subtracted from the member, one after the other, as long as that
    helps."""
    found: list[tuple[Member, int]] = []
    while True:
        before = len(found)
        for loop in outer:
            if factor := _best_factor(member, loop):
                member = without_multiple(member, loop, factor)
                found.append((loop, factor))
        if len(found) == before:
            return found


def _reduced(member: Member, outer: Sequence[Member]) -> Member:
    for loop, factor in multiples(member, outer):
        member = without_multiple(member, loop, factor)
    return member


def _simplest(member: Member, outer: Member) -> Member:
    return without_multiple(member, outer, _best_factor(member, outer))


def _best_factor(member: Member, outer: Member) -> int:
    """The multiple of `outer` without which the member is simplest."""
    return _best(member.schedule, outer.schedule)


@remembered
def _best(schedule: isl.UnionMap, outer: isl.UnionMap) -> int:
    factors = (0, *(k for k in range(-_MOST, _MOST + 1) if k))
    return min(factors, key=lambda k: _size(without_multiple(Member(schedule), Member(outer), k)))


def without_multiple(member: Member, outer: Member, factor: int) -> Member:
    """The member less so many times another one."""
    return replace(member, schedule=_less(member.schedule, outer.schedule, factor)) if factor else member


@remembered
def _less(schedule: isl.UnionMap, outer: isl.UnionMap, factor: int) -> isl.UnionMap:
    times = Member(outer).function.scale_val(isl.Val(factor))
    return isl.UnionMap.from_union_pw_aff(Member(schedule).function.sub(times))


def _unshifted(member: Member) -> Member:
    return replace(member, schedule=_from_zero(member.schedule))


@remembered
def _from_zero(schedule: isl.UnionMap) -> isl.UnionMap:
    affs = Member(schedule).pieces
    constant = affs[0].get_constant_val() if len(affs) == 1 else isl.Val(0)  # no piece at all: it never runs
    if constant.is_zero() or not constant.is_int():
        return schedule
    moved = isl.PwAff.from_aff(affs[0].add_constant_val(isl.Val(0).sub(constant)))
    return isl.UnionMap.from_union_pw_aff(isl.UnionPwAff.from_pw_aff(moved))


def with_function(member: Member, function: isl.UnionPwAff) -> Member:
    """The member with these values."""
    return replace(member, schedule=isl.UnionMap.from_union_pw_aff(function))


def _size(member: Member) -> int:
    """The sum of the absolute coefficients of iterators and sizes."""
    kinds = (isl.dim_type.in_, isl.dim_type.param)
    return sum(abs(_coefficient(aff, kind, k)) for aff in member.pieces for kind in kinds for k in range(aff.dim(kind)))


def _coefficient(aff: isl.Aff, kind: isl.dim_type, position: int) -> int:
    return int(aff.get_coefficient_val(kind, position).get_num_si())
