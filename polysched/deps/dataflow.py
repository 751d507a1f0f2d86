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
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from polysched.deps.dependences import Dependence, Dependences, Kind
from polysched.deps.last import last_before
from polysched.deps.timed import Timed, timed_accesses, timed_kills
from polysched.errors import BudgetExceeded
from polysched.model.scop import Scop, Statement
from polysched.support import isl


def dependences(scop: Scop, *, reorder_reductions: bool = False, seconds: float = math.inf) -> Dependences:
    """All dependences of `scop` within its context, one for each kind and pair of accesses, in a fixed order.

    Flow: a write and the reads of its value. Anti, output: a read or write, and the next write of that element.
    An access that only may happen is never the last one, so what came before it stays visible. With
    `reorder_reductions` the updates of a reduction count as such: all of them follow whatever the first one
    follows in source order, and precede whatever the last one precedes, so that they may run in any order. So do those
    of integers without being asked for: their bits are the same in any order, of several statements, too.
    Where isl cannot find the last access within its budget, or when `seconds` have passed, all earlier ones count:
    `Dependences.is_exact` says so.
    """
    accesses = timed_accesses(scop, free="all" if reorder_reductions else "exact")
    reads, writes = ([a for a in accesses if a.is_write is kind] for kind in (False, True))
    backwards = [a.backwards() for a in accesses]
    until = time.monotonic() + seconds
    flow = last_before(reads, writes, until, hiding=timed_kills(scop))
    # A kill ends a value, not the use of its memory: it does not let a later write come sooner.
    order = last_before(backwards, [a for a in backwards if a.is_write], until)
    found = [_dependence(pair.source, pair.sink, pair.instances, pair.is_exact, until) for pair in flow]
    found += [_dependence(pair.sink, pair.source, pair.instances.reverse(), pair.is_exact, until) for pair in order]
    return Dependences(tuple(_told(d for d in found if not d.relation.is_empty())), reorder_reductions)


def _told(found: Iterable[Dependence]) -> Iterator[Dependence]:
    """The dependences; one that may be, of the very instances of one that is, is one that is."""
    every = tuple(found)
    certain: defaultdict[tuple[str, ...], list[isl.Map]] = defaultdict(list)
    for d in every:
        if d.must:
            certain[d.kind, d.source, d.sink, d.array].append(d.relation)
    for d in every:
        same = certain[d.kind, d.source, d.sink, d.array]
        is_certain = not d.must and any(d.relation.plain_is_equal(relation) for relation in same)
        yield replace(d, must=True) if is_certain else d


@dataclass(frozen=True)
class Source:
    """A write of a statement, of which a read gets the value."""

    reader: str
    read: int  # which of the reader's reads, and of the writer's writes
    writer: str
    write: int
    instances: isl.Map  # { reader instance -> writer instance }


def sources(scop: Scop, array: str = "") -> tuple[Source, ...]:
    """Who wrote what each read gets, in the order of `scop.tree`; BudgetExceeded where isl cannot tell.

    All accesses, or those to the one array, must touch one element, and writes must happen. What no source is found for
    gets what was there before the nest.
    """
    accesses = [access for access in timed_accesses(scop) if array in ("", access.array)]
    reads, writes = ([a for a in accesses if a.is_write is kind] for kind in (False, True))
    found = []
    for pair in last_before(reads, writes, math.inf, hiding=timed_kills(scop), within=True):
        if not pair.is_exact:
            raise BudgetExceeded(f"isl cannot tell who writes last to {pair.sink.array} before {pair.sink.statement}")
        if not pair.instances.is_empty():
            reader, writer = pair.sink, pair.source
            backwards = pair.instances.reverse()
            found.append(Source(reader.statement, reader.number, writer.statement, writer.number, backwards))
    return tuple(found)


_KINDS: dict[tuple[bool, bool], Kind] = {  # whether source and sink write
    (True, False): "flow",
    (False, True): "anti",
    (True, True): "output",
}


def _dependence(source: Timed, sink: Timed, pairs: isl.Map, is_exact: bool, until: float) -> Dependence:
    is_late = time.monotonic() >= until
    return Dependence(
        kind=_KINDS[source.is_write, sink.is_write],
        source=source.statement,
        sink=sink.statement,
        array=source.array,
        relation=pairs if is_late else isl.decided(lambda: pairs.coalesce().remove_redundancies(), pairs),
        reduction=source.statement == sink.statement and source.is_update and sink.is_update,
        commutes=source.exact == sink.exact != "",
        is_exact=is_exact,
        is_guess=not is_exact,
        must=source.must and sink.must,
    )


def are_fed(statements: Iterable[Statement], array: str, flow: Iterable[Dependence], scop: Scop) -> bool:
    """Does each read of the array by the statements get by these dependences what a statement stores to one element?"""
    fed = isl.UnionMap("{ }")  # { reading instance -> element that it gets }
    for d in flow:
        match [a for a in scop.statement(d.source).writes if a.array == array]:
            case [write]:
                fed = fed.union(isl.UnionMap.from_map(d.relation.reverse().apply_range(write.relation)))
    domains = ((s, s.domain.intersect_params(scop.context)) for s in statements)
    reads = (a.relation.intersect_domain(domain) for s, domain in domains for a in s.reads if a.array == array)
    return all(isl.UnionMap.from_map(read).is_subset(fed) for read in reads)
