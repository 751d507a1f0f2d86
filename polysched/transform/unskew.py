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
    return _with_function(member, member.function.neg()) if factors and max(factors) <= 0 else member


def _is_constant(member: Member) -> bool:
    """Has it one value, for all instances?"""
    affs = member.pieces
    return all(aff.is_cst() for aff in affs) and len({str(aff.get_constant_val()) for aff in affs}) == 1


def _reduced(member: Member, outer: Sequence[Member]) -> Member:
    """`member` with multiples of all of `outer` subtracted as long as that helps."""
    while True:
        smaller = member
        for loop in outer:
            smaller = _simplest(smaller, loop)
        if smaller is member:
            return member
        member = smaller


def _simplest(member: Member, outer: Member) -> Member:
    factors = [k for k in range(-_MOST, _MOST + 1) if k]
    others = (member.function.sub(outer.function.scale_val(isl.Val(k))) for k in factors)
    return min((member, *(_with_function(member, other) for other in others)), key=_size)


def _unshifted(member: Member) -> Member:
    if len(member.pieces) != 1:
        return member
    (aff,) = member.pieces
    constant = aff.get_constant_val()
    if constant.is_zero() or not constant.is_int():
        return member
    moved = isl.PwAff.from_aff(aff.add_constant_val(isl.Val(0).sub(constant)))
    return _with_function(member, isl.UnionPwAff.from_pw_aff(moved))


def _with_function(member: Member, function: isl.UnionPwAff) -> Member:
    return replace(member, schedule=isl.UnionMap.from_union_pw_aff(function))


def _size(member: Member) -> int:
    """The sum of the absolute coefficients of iterators and sizes."""
    kinds = (isl.dim_type.in_, isl.dim_type.param)
    return sum(abs(_coefficient(aff, kind, k)) for aff in member.pieces for kind in kinds for k in range(aff.dim(kind)))


def _coefficient(aff: isl.Aff, kind: isl.dim_type, position: int) -> int:
    return int(aff.get_coefficient_val(kind, position).get_num_si())
