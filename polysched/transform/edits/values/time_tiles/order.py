"""What must stay in order in a nest in time tiles: its parts, one after the other in a tile, and time tiles.

    load_A[o, p, b, x] -> S_at[o, p, b, t, i]           the same tile
    S_at[o, p, b, t, i] -> R_at[o, p, b, t', i']        the same tile, t <= t'
    store_A[o, p, b, x] -> load_A[o', p', b', x']       an earlier time tile

These are more pairs than touch the same elements, and few, simple relations: what blocks and threads may do needs no
more, since instances of one part never depend on each other in one step, which is asked of the nest before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from itertools import combinations, product

from polysched.deps.dependences import Dependence, Dependences, Kind
from polysched.deps.legality import violation_of
from polysched.errors import IllegalSchedule
from polysched.model.scop import Statement
from polysched.support import isl
from polysched.transform.edits.values.time_tiles.parts import Part
from polysched.transform.edits.values.time_tiles.stencil import Stencil


def require_parallel_steps(dependences: Dependences, stencil: Stencil, what: str) -> None:
    """IllegalSchedule if instances of one statement depend on each other in one step, or on those of a later one."""
    place = {s.name: k for k, s in enumerate(stencil.statements)}
    in_step = stencil.time.apply_range(stencil.time.reverse())
    for each in dependences.pairs:
        if each.source in place and each.sink in place and place[each.source] >= place[each.sink]:
            pairs = isl.maps_of(isl.UnionMap.from_map(each.relation).intersect(in_step))
            for wrong in (m for m in pairs if not m.is_empty()):
                reason = ", in one step, whose instances run at once"
                violation = replace(violation_of(each, wrong), reason=reason, scop=stencil.scop)
                raise IllegalSchedule(f"{what}: {violation}", violation=violation)


def dependences_of(
    known: Dependences,
    given: Set[str],
    parts: Sequence[Part],
    before: Sequence[Statement],
    after: Sequence[Statement],
    own: Set[str],
) -> Dependences:
    """Those of the parts of tiles, and of statements that run as a whole before and after; among the `given` ones of
    these, they are `known`. `own` are the arrays that each tile has."""
    found = list[Dependence]()
    for one, other in product(parts, parts):
        inside = [pair for pair in _shared(one.statement, other.statement) if pair[1] in own]
        between = [pair for pair in _shared(one.statement, other.statement) if pair[1] not in own]
        if inside:
            found += _dependence(inside[0], one.statement, other.statement, _in_tile(one, other))
        if between and not (one.is_constant or other.is_constant):
            found += _dependence(between[0], one.statement, other.statement, _between_tiles(one, other))
    outside = {s.name for s in (*before, *after)}
    left = outside & given
    kept = [d for d in known.pairs if {d.source, d.sink} <= left]
    for first, then in combinations([*before, *(part.statement for part in parts), *after], 2):
        ends = {first.name, then.name}
        is_new = bool(ends & outside) and not ends <= left
        if is_new and (pairs := _shared(first, then)):
            found += _dependence(pairs[0], first, then, isl.Map.from_domain_and_range(first.domain, then.domain))
    return replace(known, pairs=(*kept, *found))


def _shared(one: Statement, other: Statement) -> list[tuple[Kind, str]]:
    """The arrays that both use, and one of them writes."""
    (wrote, read), (writes, reads) = (
        ({access.array for access in s.writes}, {access.array for access in s.reads}) for s in (one, other)
    )
    kinds: tuple[tuple[Kind, set[str]], ...] = (
        ("flow", wrote & reads),
        ("anti", read & writes),
        ("output", wrote & writes),
    )
    return [(kind, array) for kind, arrays in kinds for array in sorted(arrays)]


def _in_tile(one: Part, other: Part) -> isl.Map:
    """Pairs in one tile, the first earlier."""
    times = [part.tile.flat_range_product(part.time) for part in (one, other)]
    depth, length = one.tile.dim(isl.dim_type.out), times[0].dim(isl.dim_type.out)
    space = isl.Set.universe(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, length)).get_space()
    earlier = isl.agreeing(isl.Map.lex_lt(space), depth)
    return times[0].apply_range(earlier).apply_range(times[1].reverse())


def _between_tiles(one: Part, other: Part) -> isl.Map:
    """Pairs in different time tiles, the first earlier."""
    times = [part.tile.project_out(isl.dim_type.out, 2, part.tile.dim(isl.dim_type.out) - 2) for part in (one, other)]
    return (
        times[0]
        .apply_range(isl.Map.lex_lt(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, 2)))
        .apply_range(times[1].reverse())
    )


def _dependence(what: tuple[Kind, str], one: Statement, other: Statement, relation: isl.Map) -> Iterator[Dependence]:
    """One for all arrays that the two share: the pairs are the same."""
    if not relation.is_empty():
        (kind, array), source, sink = what, one.name, other.name
        yield Dependence(kind=kind, source=source, sink=sink, array=array, relation=relation, is_exact=False)
