"""Exact dependences of a scop, from who wrote last (Feautrier, IJPP 1991), by isl's dataflow analysis.

    S: a[i] = 0                   flow    { S[i] -> T[i, 0] }              T[i, 0] reads what S[i] wrote
    T: a[i] = a[i] + b[j]         flow    { T[i, j] -> T[i, j + 1] }
                                  output  { S[i] -> T[i, 0] }              and overwrites it
                                  output  { T[i, j] -> T[i, j + 1] }

Every access is analysed under a tag of its own, { [T[i, j] -> access0[]] -> a[i] }, so that a single call to isl
gives the dependences pair by pair. An instance performs its reads, then its writes, as the statement lists them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

from polysched import isl
from polysched.deps.dependences import Dependence, Dependences, Kind
from polysched.model.order import flatten
from polysched.model.scop import Access, Scop, Statement


def dependences(scop: Scop, *, reorder_reductions: bool = False, with_input: bool = False) -> Dependences:
    """All dependences of `scop` within its context, one for each kind and pair of accesses, in a fixed order.

    Flow: a write and the reads of its value. Anti, output: a read or write, and the next write of that element.
    Input, on request: a read and the next one of that element, if no write comes between.
    An access that only may happen is never the last one, so what came before it stays visible. With
    `reorder_reductions` the updates of a reduction count as such: all of them follow whatever the first one
    follows in source order, and precede whatever the last one precedes, so that they may run in any order.
    """
    accesses = [a for a in _accesses(scop) if with_input or _is_written(scop, a.access.array)]
    reads = [a for a in accesses if not a.is_write]
    writes = [a for a in accesses if a.is_write]
    sure = [a for a in writes if a.access.must and not (reorder_reductions and a.is_update)]
    times = _times(scop, accesses)
    found = _pairs(_last(times, reads, sources=writes, hiding=sure, kills=_kills(scop)), accesses)
    # The next write of an element is the last one if time runs backwards. A kill ends a value, not the use of its
    # memory: it does not let a later write come sooner.
    found += _pairs(_last(_backwards(times), accesses, sources=writes, hiding=sure).reverse(), accesses)
    if with_input:
        certain = [a for a in reads if a.access.must]
        found += _pairs(_last(times, reads, sources=reads, hiding=certain, kills=_union(sure)), accesses)
    return Dependences(tuple(found), reorder_reductions)


@dataclass(frozen=True, eq=False)
class _TaggedAccess:
    """An access of a statement that can be told from its other accesses."""

    statement: Statement
    access: Access
    position: int  # among the accesses of the instance: reads, then writes
    untag: isl.Map  # { [S[i, j] -> tag[]] -> S[i, j] }, the instances that perform it

    @property
    def tag(self) -> str:
        return f"access{self.position}"

    @property
    def relation(self) -> isl.Map:
        """{ [S[i, j] -> tag[]] -> a[i] }"""
        return self.untag.apply_range(self.access.relation)

    @property
    def is_write(self) -> bool:
        return self.position >= len(self.statement.reads)

    @property
    def is_update(self) -> bool:
        """Is it the read or the write of a[f] in a reduction a[f] = a[f] op e?"""
        return self.statement.reduction != "" and self.access.array == self.statement.writes[0].array


def _is_written(scop: Scop, array: str) -> bool:
    return any(write.array == array for statement in scop.statements for write in statement.writes)


def _accesses(scop: Scop) -> Iterator[_TaggedAccess]:
    for statement in scop.statements:
        domain = statement.domain.intersect_params(scop.context)
        for position, access in enumerate((*statement.reads, *statement.writes)):
            yield _TaggedAccess(statement, access, position, _untag(domain, f"access{position}"))


def _untag(domain: isl.Set, tag: str) -> isl.Map:
    return isl.Map.from_domain_and_range(domain, isl.Set(f"{{ {tag}[] }}")).domain_map()


def _times(scop: Scop, accesses: Iterable[_TaggedAccess]) -> isl.UnionMap:
    """{ [S[i, j] -> tag[]] -> [time of S[i, j], position of the access] }; a kill comes before the accesses."""
    times = flatten(scop.tree)
    # isl ignores, without a word, the accesses of instances that have no time
    assert scop.domain.is_subset(times.domain()), "the source order must schedule every instance"
    tags = [(a.untag, a.position) for a in accesses]
    tags += [(_untag(s, "kill"), -1) for s in isl.sets_of(scop.kills.domain())]
    untag = reduce(isl.UnionMap.union, (isl.UnionMap.from_map(m) for m, _ in tags), isl.UnionMap("{ }"))
    positions = (isl.UnionMap.from_domain_and_range(m.domain(), isl.Set(f"{{ [{k}] }}")) for m, k in tags)
    return untag.apply_range(times).flat_range_product(reduce(isl.UnionMap.union, positions, isl.UnionMap("{ }")))


def _backwards(times: isl.UnionMap) -> isl.UnionMap:
    """{ S[i] -> [-t0, -t1, ...] } for { S[i] -> [t0, t1, ...] }"""
    negated = (isl.Map.from_pw_multi_aff(isl.PwMultiAff.from_map(m).neg()) for m in isl.maps_of(times))
    return reduce(isl.UnionMap.union, (isl.UnionMap.from_map(m) for m in negated), isl.UnionMap("{ }"))


def _kills(scop: Scop) -> isl.UnionMap:
    """{ [S[i] -> kill[]] -> t[] }"""
    maps = isl.maps_of(scop.kills.intersect_params(scop.context))
    return reduce(
        isl.UnionMap.union,
        (isl.UnionMap.from_map(_untag(m.domain(), "kill").apply_range(m)) for m in maps),
        isl.UnionMap("{ }"),
    )


def _last(
    times: isl.UnionMap,
    sinks: Iterable[_TaggedAccess],
    *,
    sources: Iterable[_TaggedAccess],
    hiding: list[_TaggedAccess],
    kills: isl.UnionMap | None = None,
) -> isl.UnionMap:
    """{ source access -> sink access } of one element, with no access `hiding` it, and no kill, in between."""
    info = isl.UnionAccessInfo.from_sink(_union(sinks))
    info = info.set_must_source(_union(hiding))
    info = info.set_may_source(_union(a for a in sources if a not in hiding))
    if kills is not None:
        info = info.set_kill(kills)
    return info.set_schedule_map(times).compute_flow().get_may_dependence()


def _union(accesses: Iterable[_TaggedAccess]) -> isl.UnionMap:
    return reduce(isl.UnionMap.union, (isl.UnionMap.from_map(a.relation) for a in accesses), isl.UnionMap("{ }"))


_KINDS: dict[tuple[bool, bool], Kind] = {  # whether source and sink write
    (True, False): "flow",
    (False, True): "anti",
    (True, True): "output",
    (False, False): "input",
}


def _pairs(union: isl.UnionMap, accesses: list[_TaggedAccess]) -> list[Dependence]:
    """One dependence for each pair of accesses in { source access -> sink access }, in the order of the accesses."""
    index = {(a.statement.name, a.tag): k for k, a in enumerate(accesses)}
    maps = union.get_map_list()
    found: dict[tuple[int, int], isl.Map] = {}
    for m in (maps.get_at(k) for k in range(union.n_map())):
        source, sink = (index[_names(space)] for space in (m.get_space().domain(), m.get_space().range()))
        relation = _between_instances(m.factor_domain())
        if not relation.is_empty():
            found[source, sink] = relation
    return [_dependence(accesses[source], accesses[sink], found[source, sink]) for source, sink in sorted(found)]


def _names(tagged: isl.Space) -> tuple[str, str]:
    """The names in [S[i, j] -> tag[]]."""
    inside = tagged.unwrap()
    return inside.get_tuple_name(isl.dim_type.in_), inside.get_tuple_name(isl.dim_type.out)


def _between_instances(relation: isl.Map) -> isl.Map:
    """Without the pairs of an instance with itself, whose accesses stay in order anyway."""
    if relation.get_tuple_name(isl.dim_type.in_) == relation.get_tuple_name(isl.dim_type.out):
        same = isl.Map.identity(relation.get_space())
        if not relation.is_disjoint(same):
            relation = relation.subtract(same)
    return relation.coalesce()


def _dependence(source: _TaggedAccess, sink: _TaggedAccess, relation: isl.Map) -> Dependence:
    return Dependence(
        kind=_KINDS[source.is_write, sink.is_write],
        source=source.statement.name,
        sink=sink.statement.name,
        array=source.access.array,
        relation=relation,
        reduction=source.statement is sink.statement and source.is_update and sink.is_update,
    )
