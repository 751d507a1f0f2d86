"""Dynamic programming over intervals: in a tile, the terms that need nothing of it run first, as a product of what is
final.

    for i down: for j up:                              for I: for J:                         tiles of i and j
        t[i, j] = max(t[i, j], ...)                        for i, j, k beyond both tiles:    from registers, on lanes
        for k in i + 1..j:                    ->               t[i, j] = max(t[i, j], t[i, k] + t[k + 1, j])
            t[i, j] = max(t[i, j],                         for i: for j:                     the diagonal, in order
                          t[i, k] + t[k + 1, j])               t[i, j] = max(t[i, j], ...)
                                                               for k in either tile: ...

All are updates of integers, which commute, so the terms may come before what t[i, j] starts from. The instances that
depend on none of their own tile are a set of the polyhedral model, by the dependences that the loops over tiles leave:
one edit takes them off, as .split_set("i", "64 * (j // 64) > k and ...", of="S4").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polysched.config.heuristics.cpu import UNTIED_TILE
from polysched.deps.coincidence import left_below
from polysched.model.scop import Statement
from polysched.model.tree.nodes import Band, is_innermost
from polysched.strategy.script import Script, names_of
from polysched.strategy.split_set import condition_of
from polysched.support import isl
from polysched.transform.analysis.roles import Around, statements_of
from polysched.transform.edits.base.loops import loops
from polysched.transform.trees.tile import block_of


def untied(script: Script) -> None:
    """Tiles of serial loops around sums of integers, with the terms that need nothing of their tile first."""
    dependences = script.dependences
    summed = {d.source for d in dependences.pairs if d.commutes and d.source == d.sink}
    if not summed:
        return
    for node, around in list(Around((), dependences.validity).walk(script.tree)):
        if isinstance(node, Band) and _is_serial(node, around):
            found = [s for s in statements_of(node, script.scop) if s.name in summed]
            parts = isl.decided(lambda: list(_untied(node, around, found)), unknown=None)  # noqa: B023 - called at once
            if parts:
                _split(script, node, parts)


def _is_serial(band: Band, around: Around) -> bool:
    """Does each loop of a permutable band, with more loops inside of it and no tiles around, carry a dependence?"""
    if is_innermost(band) or not band.permutable or len(band.members) < 2:
        return False
    return not any(m.coincident or m.rounds for m in (*around.members, *band.members))


def _untied(band: Band, around: Around, summed: list[Statement]) -> Iterator[isl.Set]:
    """The instances of each statement that need none of their tile, if they are convex and all but a few of its terms.
    """
    tied = left_below(_blocks(band), around.reaching).range()
    for statement in summed:
        own = around.instances(statement.instances)
        domain, rest = (isl.sets_of(each) for each in (own, own.intersect(tied).coalesce()))
        if len(domain) == len(rest) == 1 and (first := _without(domain[0], rest[0], band)) is not None:
            yield first


def _without(domain: isl.Set, rest: isl.Set, band: Band) -> isl.Set | None:
    """The domain where a condition of each convex part of the rest does not hold: one that holds for few instances of
    an iteration of the band, so that these are all but a few. None if a part has no such condition, or none is left.
    """
    first = domain
    for part in rest.get_basic_sets():
        wider = (isl.Set.from_basic_set(isl.BasicSet.from_constraint(each)) for each in part.get_constraints())
        few = next((each for each in wider if _are_few(domain.intersect(each), band)), None)
        if few is None:
            return None
        first = first.subtract(few)
    return None if first.is_empty() else first.coalesce()


def _blocks(band: Band) -> Band:
    return Band(tuple(block_of(member, UNTIED_TILE) for member in band.members))


def _are_few(instances: isl.Set, band: Band) -> bool:
    """Is there a constant that bounds how many of these instances share one iteration of the band?"""
    point = band.members[0].schedule
    for member in band.members[1:]:
        point = point.flat_range_product(member.schedule)
    point = point.intersect_domain(isl.UnionSet.from_set(instances))
    apart = isl.Map.from_union_map(point.apply_range(point.reverse())).deltas().project_out_all_params()
    return bool(apart.is_bounded())


def _split(script: Script, band: Band, parts: Sequence[isl.Set]) -> None:
    """Tiles of the band, and the parts in each before all others."""
    names = names_of(band.members)
    why = "what needs nothing of its tile runs first, as a product"
    if not script.says(f"untied.{names[0]}", why):
        return
    blocks = script.named("o", *names)
    few = "few terms are tied to a tile of this size"
    sizes = [script.pick(f"tile.{name}", UNTIED_TILE, (UNTIED_TILE,), few) for name in names]
    script.do("tile", *names, sizes=sizes, names=blocks)
    rest = names[0]
    for part in parts:
        statement = script.scop.statement(part.get_tuple_name() or "")
        where = condition_of(part.gist(statement.domain.intersect_params(script.scop.context)))
        before = {each.name for each in loops(script.draft.nested)}
        script.do("split_set", rest, where, of=statement.name)
        rest = next(each.name for each in loops(script.draft.nested) if each.name not in before)
