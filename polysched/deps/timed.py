"""Every access of a nest, with the time at which it happens.

    S: a[i] = a[i - 1]      read  a[i - 1]  at [i, 0]
                            write a[i]      at [i, 1]

The time of an access is that of its instance, then the reads before the writes, in the order in which the statement
lists them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from polysched.model.reduction import exact_update
from polysched.model.scop import Scop
from polysched.model.tree.order import flatten
from polysched.support import isl

Free = Literal["none", "exact", "all"]
Place = tuple[int | None, ...]  # the constants in a time, as those of sequences; None elsewhere


@dataclass(frozen=True)
class Timed:
    """An access of a statement, with its time."""

    statement: str
    array: str
    relation: isl.Map  # { S[i, j] -> a[i] }
    time: isl.Map  # { S[i, j] -> [t0, t1, ..., position] }, as long for all statements
    is_write: bool
    hides: bool  # what came before it is no longer visible
    is_update: bool = False  # the read or the write of a[f] in a reduction a[f] = a[f] op e
    exact: str = ""  # what such an update does, as "max i32", if any order of these gives the same bits
    number: int = 0  # which of the statement's reads, or writes
    must: bool = True  # False: it may touch another element, or none

    @cached_property
    def touches(self) -> isl.Map:
        """{ a[i] -> [time] }"""
        return self.relation.reverse().apply_range(self.time)

    @cached_property
    def place(self) -> Place:
        return isl.fixed(self.time)

    def backwards(self) -> Timed:
        """The same, with time running backwards."""
        return replace(self, time=isl.Map.from_pw_multi_aff(isl.PwMultiAff.from_map(self.time).neg()))


def timed_accesses(scop: Scop, free: Free = "none") -> list[Timed]:
    """The accesses of all statements, in source order; those of statements without instances are left out.

    `free` are the reductions of which the updates may run in any order: none hides what came before it.
    """
    times, found = _times(scop), []
    for s in scop.statements:
        if s.name not in times:
            continue
        updated = {write.array: write.relation for write in s.writes} if s.reduction else {}
        exact = exact_update(s.body) if s.reduction else ""
        is_free = free == "all" or (free == "exact" and exact != "")
        for position, access in enumerate(s.accesses):
            is_write = position >= len(s.reads)
            is_update = access.array in updated and access.relation.is_equal(updated[access.array])
            timed = Timed(
                statement=s.name,
                array=access.array,
                relation=access.relation.intersect_domain(s.domain).intersect_params(scop.context),
                time=_at(times[s.name], position),
                is_write=is_write,
                hides=access.must and not (is_write and is_update and is_free),
                is_update=is_update,
                exact=exact if is_update else "",
                number=position - len(s.reads) if is_write else position,
                must=access.must,
            )
            found.append(timed)
    return found


def timed_kills(scop: Scop) -> list[Timed]:
    """The kills, as writes that come before the accesses of their instance."""
    times = _times(scop)
    kills = []
    for m in isl.maps_of(scop.kills.intersect_params(scop.context)):
        statement, array = m.get_tuple_name(isl.dim_type.in_), m.get_tuple_name(isl.dim_type.out)
        if statement in times:
            kills.append(Timed(statement, array, m, _at(times[statement], -1), is_write=True, hides=True))
    return kills


def _times(scop: Scop) -> dict[str, isl.Map]:
    """{ S[i, j] -> [t0, t1, ...] } by statement"""
    return {m.get_tuple_name(isl.dim_type.in_): m for m in isl.maps_of(flatten(scop.tree))}


def _at(time: isl.Map, position: int) -> isl.Map:
    everywhere = isl.Set.universe(time.domain().get_space())
    return time.flat_range_product(isl.Map.from_domain_and_range(everywhere, isl.Set(f"{{ [{position}] }}")))
