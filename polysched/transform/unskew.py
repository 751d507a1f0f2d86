"""Simpler loops inside of a loop that runs serially: there, its own value is constant.

    band: t                          band: t
      band: 2t + i, 2t + j     ->      band: i, j
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polysched import isl
from polysched.model.tree import Band, Member

_MOST = 4  # times the outer member, in either direction


def unskew(band: Band, outer: Sequence[Member]) -> Band:
    """`band`, inside of serial loops over `outer`, with members that have the least coefficients that multiples of
    `outer` leave: those of one statement count from zero, and those that outer ones determine are gone. The order of
    instances stays."""
    members: list[Member] = []
    for member in band.members:
        member = _reduced(member, outer)
        if not any(_is_constant(_simplest(member, loop.function)) for loop in members) and not _is_constant(member):
            members.append(_unshifted(member))
    return replace(band, members=tuple(members))


def in_order(band: Band) -> Band:
    """`band`, whose loops run one inside of the other as they stand, with members simplified inside of earlier ones.
    They are no longer permutable."""
    members: list[Member] = []
    for member in band.members:
        members.append(_reduced(member, members))
    return replace(band, members=tuple(members), permutable=len(members) == 1)


def _is_constant(member: Member) -> bool:
    """Has it one value, for all instances?"""
    affs = _affs(member.function)
    return all(aff.is_cst() for aff in affs) and len({str(aff.get_constant_val()) for aff in affs}) == 1


def _reduced(member: Member, outer: Sequence[Member]) -> Member:
    """`member` with multiples of all of `outer` subtracted as long as that helps."""
    while True:
        smaller = member
        for loop in outer:
            smaller = _simplest(smaller, loop.function)
        if smaller is member:
            return member
        member = smaller


def _simplest(member: Member, outer: isl.UnionPwAff) -> Member:
    own = member.function
    choices = [own, *(own.sub(outer.scale_val(isl.Val(k))) for k in range(-_MOST, _MOST + 1) if k)]
    best = min(choices, key=_size)
    return member if best is own else replace(member, schedule=isl.UnionMap.from_union_pw_aff(best))


def _unshifted(member: Member) -> Member:
    affs = _affs(member.function)
    if len(affs) != 1 or affs[0].get_constant_val().is_zero() or not affs[0].get_constant_val().is_int():
        return member
    shift = isl.Val(0).sub(affs[0].get_constant_val())
    moved = isl.PwAff.from_aff(affs[0].add_constant_val(shift))
    return replace(member, schedule=isl.UnionMap.from_union_pw_aff(isl.UnionPwAff.from_pw_aff(moved)))


def _size(function: isl.UnionPwAff) -> int:
    """The sum of the absolute coefficients of iterators and sizes."""
    kinds = (isl.dim_type.in_, isl.dim_type.param)
    affs = _affs(function)
    return sum(abs(_coefficient(a, kind, k)) for a in affs for kind in kinds for k in range(a.dim(kind)))


def _coefficient(aff: isl.Aff, kind: isl.dim_type, position: int) -> int:
    return int(aff.get_coefficient_val(kind, position).get_num_si())


def _affs(function: isl.UnionPwAff) -> list[isl.Aff]:
    parts = function.get_pw_aff_list()
    return [aff for k in range(parts.n_pw_aff()) for _, aff in parts.get_at(k).get_pieces()]
