"""Exact dependences of a scop, from who wrote last (Feautrier, IJPP 1991).

    S: a[i] = 0                   flow    { S[i] -> T[i, 0] }              T[i, 0] reads what S[i] wrote
    T: a[i] = a[i] + b[j]         flow    { T[i, j] -> T[i, j + 1] }
                                  output  { S[i] -> T[i, 0] }              and overwrites it
                                  output  { T[i, j] -> T[i, j + 1] }

Every access has its time: that of its instance, then the reads before the writes, in the order in which the
statement lists them. The last write of an element before a read is the lexicographic maximum of the earlier times
at which it is written; and a time tells which access of which instance it belongs to. The next write of an element
is the last one when time runs backwards.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce

from polysched import isl
from polysched.deps.dependences import Dependence, Dependences, Kind
from polysched.errors import BudgetExceeded
from polysched.model.order import flatten
from polysched.model.scop import Scop


def dependences(
    scop: Scop, *, reorder_reductions: bool = False, with_input: bool = False, seconds: float = math.inf
) -> Dependences:
    """All dependences of `scop` within its context, one for each kind and pair of accesses, in a fixed order.

    Flow: a write and the reads of its value. Anti, output: a read or write, and the next write of that element.
    Input, on request: a read and the next one of that element, if no write comes between.
    An access that only may happen is never the last one, so what came before it stays visible. With
    `reorder_reductions` the updates of a reduction count as such: all of them follow whatever the first one
    follows in source order, and precede whatever the last one precedes, so that they may run in any order.
    Where isl cannot find the last access within its budget, or when `seconds` have passed, all earlier ones count:
    `Dependences.is_exact` says so.
    """
    times = _times(scop)
    accesses = list(_accesses(scop, times, reorder_reductions))
    reads, writes = ([a for a in accesses if a.is_write is kind] for kind in (False, True))
    backwards = [a.backwards() for a in accesses]
    until = time.monotonic() + seconds
    flow = _last(reads, writes, until, hiding=_kills(scop, times))
    # A kill ends a value, not the use of its memory: it does not let a later write come sooner.
    order = _last(backwards, [a for a in backwards if a.is_write], until)
    found = [_dependence(pair.source, pair.sink, pair.instances, pair.is_exact) for pair in flow]
    found += [_dependence(pair.sink, pair.source, pair.instances.reverse(), pair.is_exact) for pair in order]
    if with_input:
        again = _last(reads, reads, until, hiding=[write for write in writes if write.hides])
        found += [_dependence(pair.source, pair.sink, pair.instances, pair.is_exact) for pair in again]
    return Dependences(tuple(d for d in found if not d.relation.is_empty()), reorder_reductions)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A write of a statement, of which a read gets the value."""

    reader: str
    read: int  # which of the reader's reads, and of the writer's writes
    writer: str
    write: int
    instances: isl.Map  # { reader instance -> writer instance }


def sources(scop: Scop) -> tuple[Source, ...]:
    """Who wrote what each read gets, in the order of `scop.tree`; BudgetExceeded where isl cannot tell.

    All accesses must touch one element, for certain. What no source is found for gets what was there before the nest.
    """
    times = _times(scop)
    accesses = list(_accesses(scop, times, reorder_reductions=False))
    reads, writes = ([a for a in accesses if a.is_write is kind] for kind in (False, True))
    found = []
    for pair in _last(reads, writes, math.inf, hiding=_kills(scop, times)):
        if not pair.is_exact:
            raise BudgetExceeded(f"isl cannot tell who writes last to {pair.sink.array} before {pair.sink.statement}")
        if not pair.instances.is_empty():
            found.append(
                Source(
                    reader=pair.sink.statement,
                    read=pair.sink.number,
                    writer=pair.source.statement,
                    write=pair.source.number,
                    instances=pair.instances.reverse(),
                )
            )
    return tuple(found)


@dataclass(frozen=True)
class _Access:
    """An access of a statement, with its time."""

    statement: str
    array: str
    relation: isl.Map  # { S[i, j] -> a[i] }
    time: isl.Map  # { S[i, j] -> [t0, t1, ..., position] }, as long for all statements
    is_write: bool
    hides: bool  # what came before it is no longer visible
    is_update: bool = False  # the read or the write of a[f] in a reduction a[f] = a[f] op e
    number: int = 0  # which of the statement's reads, or writes

    @cached_property
    def touches(self) -> isl.Map:
        """{ a[i] -> [time] }"""
        return self.relation.reverse().apply_range(self.time)

    def backwards(self) -> _Access:
        """The same, with time running backwards."""
        return replace(self, time=isl.Map.from_pw_multi_aff(isl.PwMultiAff.from_map(self.time).neg()))


def _times(scop: Scop) -> dict[str, isl.Map]:
    """{ S[i, j] -> [t0, t1, ...] } by statement; those without instances are left out."""
    return {m.get_tuple_name(isl.dim_type.in_): m for m in isl.maps_of(flatten(scop.tree))}


def _accesses(scop: Scop, times: dict[str, isl.Map], reorder_reductions: bool) -> Iterator[_Access]:
    for s in scop.statements:
        if s.name in times:
            updated = {write.array: write.relation for write in s.writes} if s.reduction else {}
            for position, access in enumerate((*s.reads, *s.writes)):
                is_write = position >= len(s.reads)
                is_update = access.array in updated and access.relation.is_equal(updated[access.array])
                yield _Access(
                    statement=s.name,
                    array=access.array,
                    relation=access.relation.intersect_domain(s.domain).intersect_params(scop.context),
                    time=_at(times[s.name], position),
                    is_write=is_write,
                    hides=access.must and not (is_write and is_update and reorder_reductions),
                    is_update=is_update,
                    number=position - len(s.reads) if is_write else position,
                )


def _kills(scop: Scop, times: dict[str, isl.Map]) -> list[_Access]:
    """As writes that come before the accesses of their instance."""
    kills = []
    for m in isl.maps_of(scop.kills.intersect_params(scop.context)):
        statement, array = m.get_tuple_name(isl.dim_type.in_), m.get_tuple_name(isl.dim_type.out)
        if statement in times:
            kills.append(_Access(statement, array, m, _at(times[statement], -1), is_write=True, hides=True))
    return kills


def _at(time: isl.Map, position: int) -> isl.Map:
    everywhere = isl.Set.universe(time.domain().get_space())
    return time.flat_range_product(isl.Map.from_domain_and_range(everywhere, isl.Set(f"{{ [{position}] }}")))


@dataclass(frozen=True)
class _Pair:
    """Two accesses of one element, the source first, with nothing in between that hides it."""

    source: _Access
    sink: _Access
    instances: isl.Map  # { source instance -> sink instance }
    is_exact: bool


def _last(
    sinks: Iterable[_Access], sources: list[_Access], until: float, hiding: Iterable[_Access] = ()
) -> Iterator[_Pair]:
    """The pairs that no other source and none of `hiding` hides; all pairs for a sink where isl cannot tell which, or
    that is looked at after the time `until`."""
    walls = [access for access in (*sources, *hiding) if access.hides]
    for sink in sinks:
        candidates = [source for source in sources if source.array == sink.array]
        if not candidates:
            continue
        element, now = _elements(sink)
        earlier = now.lex_gt_map(_same(sink.time))  # { sink -> [time] }, like all that follows
        none = isl.Map.empty(candidates[0].touches.get_space())
        closed = reduce(isl.Map.union, (wall.touches for wall in walls if wall.array == sink.array), none)
        is_late = time.monotonic() > until
        last = None if is_late else _latest(element.apply_range(closed).intersect(earlier))
        for source in candidates:
            if last is not None and source.hides:
                seen = last
            else:
                seen = _since(last, element.apply_range(source.touches).intersect(earlier))
            if seen.domain_is_wrapping():
                seen = seen.domain_factor_domain()
            yield _Pair(source, sink, source.time.apply_range(seen.reverse()), is_exact=last is not None)


_OPERATIONS = 500_000  # of isl for one lexicographic maximum; the canonical nests need some hundreds


def _latest(times: isl.Map) -> isl.Map | None:
    """The lexicographic maximum; None if that outgrows its budget, or fails inside isl as on some strided unions."""
    try:
        with isl.within(operations=_OPERATIONS):
            return times.coalesce().lexmax()
    except (isl.Error, BudgetExceeded):
        return None


def _elements(access: _Access) -> tuple[isl.Map, isl.Map]:
    """{ T[j] -> a[x] } and { T[j] -> [time] }, with [T[j] -> a[x]] for T[j] where one access touches many elements."""
    if access.relation.is_single_valued():
        return access.relation, access.time
    return access.relation.range_map(), access.relation.domain_map().apply_range(access.time)


def _since(last: isl.Map | None, times: isl.Map) -> isl.Map:
    """The part of `times` after `last`, or all of them where there is no last time."""
    if last is None:
        return times
    after = last.lex_lt_map(_same(last))
    return times.intersect(after).union(times.subtract_domain(last.domain()))


def _same(times: isl.Map) -> isl.Map:
    """{ [t0, t1, ...] -> [t0, t1, ...] }"""
    return isl.Map.identity(times.get_space().range().map_from_set())


_KINDS: dict[tuple[bool, bool], Kind] = {  # whether source and sink write
    (True, False): "flow",
    (False, True): "anti",
    (True, True): "output",
    (False, False): "input",
}


def _dependence(source: _Access, sink: _Access, pairs: isl.Map, is_exact: bool) -> Dependence:
    return Dependence(
        kind=_KINDS[source.is_write, sink.is_write],
        source=source.statement,
        sink=sink.statement,
        array=source.array,
        relation=_between_instances(pairs).coalesce().remove_redundancies(),
        reduction=source.statement == sink.statement and source.is_update and sink.is_update,
        is_exact=is_exact,
    )


def _between_instances(pairs: isl.Map) -> isl.Map:
    """Without the pairs of an instance with itself, whose accesses stay in order anyway."""
    if pairs.get_tuple_name(isl.dim_type.in_) != pairs.get_tuple_name(isl.dim_type.out):
        return pairs
    same = isl.Map.identity(pairs.get_space())
    return pairs if pairs.is_disjoint(same) else pairs.subtract(same)
