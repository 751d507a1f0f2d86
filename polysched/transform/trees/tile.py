"""Tiling: the loops of a permutable band in blocks (Irigoin and Triolet, POPL 1988).

    band: i, j            band: floor(i/32), floor(j/32)
                   ->         band: i, j         tile("i", "j", sizes=(32, 32), names=("i_o", "j_o"))

Diamond tiles: every tile of a wavefront may start at once (Bandishti, Pananilath, Bondhugula, SC 2012).

    band: t, 2t + i       ->       band: 2t - i, 2t + i

Tiles of t and 2t + i lie askew in time, so a wavefront begins with one tile and gets another one at each step. The sum
of 2t - i and 2t + i is a multiple of t: their tiles are diamonds, and a wavefront of them is one period of time, with
as many tiles as the space has. The loops inside a tile stay those of the old band.

Wavefronts: parallelism where every loop of a permutable band carries a dependence (Bondhugula et al., PLDI 2008,
section 5.3).

    band: t, i       ->       band: t + i                    wavefront("t", "i")
                                band: i        coincident: the iterations of one wavefront are independent

Every member of a permutable band has distances of zero or more on the dependences that order it. So one that the sum
of two members leaves at zero distance is at zero distance in both of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce

from polysched.config.options import Options
from polysched.deps.coincidence import carried, in_one
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Member
from polysched.support import isl
from polysched.transform.analysis.roles import Around
from polysched.transform.analysis.sizes import asked_sizes, tile_sizes


def tiling_of(band: Band, scop: Scop, around: Around, options: Options) -> tuple[tuple[int, ...], Band | None]:
    """The sizes of a permutable band's tiles, none or zeros if it gains by none, and what to tile instead where they
    are diamonds."""
    asked = asked_sizes(band, scop, around, options)
    sizes = (tile_sizes(band, scop, around, options) if asked is None else asked) or ()
    is_even = bool(sizes) and all(sizes[:2]) and (asked is None or sizes[:1] == sizes[1:2])  # diamonds have one size
    return sizes, diamond(band, around) if options.diamond and options.wavefront and is_even else None


def block_of(member: Member, size: int) -> Member:
    """{ S[i, j] -> [floor(value / size)] }"""
    return replace(member, schedule=member.schedule.apply_range(_block(size)))


@cache
def _block(size: int) -> isl.UnionMap:
    return isl.UnionMap(f"{{ [x] -> [floor(x / {size})] }}")


STEEPEST_DIAMOND = 8  # the greatest c of c * first - second that is tried


def diamond(band: Band, around: Around) -> Band | None:
    """`band` with c * first - second, shifted by a constant for each statement, in place of its first member, to tile
    by; None if no c up to 8 makes that legal, or if a loop is parallel as it is.

    Tiles of the first two members are diamonds if they have one size, and then as high as 2 / c of it.
    """
    parallel = any(member.coincident for member in (*around.members, *band.members))
    if parallel or not band.permutable or len(band.members) < 2:
        return None
    first, second, *rest = band.members
    distances = _distances(first, second, around.reaching)
    for c in range(1, STEEPEST_DIAMOND + 1):
        shifts = _shifts(c, distances)
        if shifts is not None:
            return replace(band, members=(_mirrored(c, first, second, shifts), second, *rest))
    return None


def _distances(first: Member, second: Member, reaching: isl.UnionMap) -> dict[tuple[str, str], isl.Set]:
    """{ [d0, d1] }, the distances along both members, from each statement to each that depends on it."""
    both = first.schedule.flat_range_product(second.schedule)
    found = {}
    for relation in isl.maps_of(reaching):
        pairs = isl.UnionMap.from_map(relation).apply_domain(both).apply_range(both)
        if not pairs.is_empty():
            deltas = isl.Map.from_union_map(pairs).deltas()
            ends = relation.get_tuple_name(isl.dim_type.in_), relation.get_tuple_name(isl.dim_type.out)
            found[ends] = deltas.project_out_all_params()
    return found


def _shifts(c: int, distances: Mapping[tuple[str, str], isl.Set]) -> dict[str, int] | None:
    """The least constants, none below zero, with which no distance along c * first - second is; None if there are none.

    Where d is the least such distance without them, shift(sink) >= shift(source) - d: longest paths, as by Bellman and
    Ford.
    """
    back = isl.Aff(f"{{ [d0, d1] -> [d1 - {c}d0] }}")
    behind: dict[tuple[str, str], int] = {}
    for ends, deltas in distances.items():
        furthest = deltas.max_val(back)
        if not furthest.is_int():  # as far as a size
            return None
        behind[ends] = furthest.to_python()
    shifts = {statement: 0 for ends in behind for statement in ends}
    for _ in range(len(shifts) + 1):
        before = dict(shifts)
        for (source, sink), most in behind.items():
            shifts[sink] = max(shifts[sink], shifts[source] + most)
        if shifts == before:
            return shifts
    return None


def _mirrored(c: int, first: Member, second: Member, shifts: Mapping[str, int]) -> Member:
    """{ S[t, i] -> [c * first - second + shift] }"""
    moved = []
    for values in isl.maps_of(first.schedule.flat_range_product(second.schedule)):
        shift = shifts.get(values.get_tuple_name(isl.dim_type.in_), 0)
        moved.append(values.apply_range(isl.Map(f"{{ [x, y] -> [{c}x - y + {shift}] }}")))
    return Member(isl.union_map(moved))


def front_of(members: Sequence[Member]) -> Member:
    """The first of these with their sum for its own values: a loop over wavefronts."""
    total = reduce(isl.UnionPwAff.add, (member.function for member in members))
    return replace(members[0], schedule=isl.UnionMap.from_union_pw_aff(total))


def is_parallel_inside(band: Band, reaching: isl.UnionMap) -> bool:
    """Is the second loop of the band parallel in its wavefront? Not where updates of a reduction may run in any order:
    their distances are of either sign."""
    return bool(carried(band.members[1], in_one(front_of(band.members[:2]), reaching)).is_empty())
