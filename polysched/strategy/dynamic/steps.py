"""Steps that meet themselves, as of Floyd and Warshall's algorithm: several at a time, on what each of them reads.

    for k: for i: for j:                        for k_o:                                 64 steps
        p[i, j] = min(p[i, j],                      for k: p[i, j] of i or j in k_o      their rows and columns, with
                      p[i, k] + p[k, j])   ->                                            copies of what each step reads
                                                    for i_o: for j_o:                    tiles of all others,
                                                        for i, k, j: p[i, j] = ...       from registers, on lanes

Step k reads rows and columns that the steps around it overwrite, so tiles of k, i and j would be illegal. Copies of
what each step reads (`snapshot`) leave the flow of values alone, by which all else may wait for the steps' own rows and
columns: no property of min or + is used, so it is right for any operator, for floats, and for sums that wrap.
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.config.heuristics.cpu import STEP_COLUMNS, STEP_ROWS, STEPS_AT_ONCE
from polysched.deps.coincidence import carried
from polysched.ir.nodes import Store
from polysched.model.scop import Statement
from polysched.model.tree.nodes import Leaf
from polysched.strategy.script import Script
from polysched.support import isl
from polysched.transform.edits.base.loops import Loop, coordinates_of, loop, loops, most_iterations


def steps(script: Script) -> None:
    """Loops of steps in blocks, each with its own rows and columns first."""
    for place in [each for each in loops(script.draft.nested) if not each.around]:
        found = _step(script, place)
        own = None if found is None else isl.decided(lambda: _own(script, place, found), unknown=None)  # noqa: B023
        if found is not None and own:
            why = "a step reads what others overwrite: with copies of that, tiles take many steps at a time"
            if size := script.pick(f"steps.{place.name}", STEPS_AT_ONCE, (0, STEPS_AT_ONCE), why):
                _in_blocks(script, place.name, found, own, size)


def _step(script: Script, place: Loop) -> Statement | None:
    """The one statement of the loop, with two loops more, if it reads an array where it does not write."""
    if len(place.statements) != 1 or len(_inside(script, place)) < 2:
        return None
    statement = script.scop.statement(place.statements[0])
    is_store = len(statement.body) == 1 and isinstance(statement.body[0], Store) and len(statement.writes) == 1
    return statement if is_store and any(_operands(statement)) else None


def _inside(script: Script, place: Loop) -> list[Loop]:
    """The loops in it, if they stand right inside of each other."""
    inside = [each for each in loops(script.draft.nested) if place.is_around(each)][1:]
    is_chain = all(each.path == (*place.path, *(0,) * (k + 1)) for k, each in enumerate(inside))
    return inside if inside and is_chain and isinstance(inside[-1].band.child, Leaf) else []


def _operands(statement: Statement) -> Iterator[isl.Map]:
    """What it reads of the array that it writes, but for the element itself."""
    (write,) = statement.writes
    for read in statement.reads:
        if read.array == write.array and not read.relation.is_equal(write.relation):
            yield read.relation


def _own(script: Script, place: Loop, statement: Statement) -> list[str]:
    """The iterators that have the loop's value where a step writes what it reads; none if a step reads what it does not
    write, if one of its reads is of another form, or if steps need not wait for each other."""
    (write,) = statement.writes
    instances = statement.instances.intersect_params(script.scop.context)
    domain = statement.domain.intersect_params(script.scop.context)
    most = most_iterations(place)
    if carried(place.member, script.dependences.validity).is_empty() or (most and most <= 2 * STEPS_AT_ONCE):
        return []
    written = write.relation.intersect_domain(domain).reverse()
    step = isl.Map.from_union_map(coordinates_of([place.band], instances))
    together = step.apply_range(step.reverse())
    found = []
    for read in _operands(statement):
        makers = read.intersect_domain(domain).apply_range(written).intersect(together)
        if not makers.domain().is_equal(domain):
            return []
        values = step.intersect_domain(makers.range())
        same = [k for k in range(statement.depth) if _equals(k, values) and not _equals(k, step)]
        if not same:
            return []
        found.append(statement.iterators[same[0]])
    return list(dict.fromkeys(found))


def _equals(k: int, values: isl.Map) -> bool:
    """Has that iterator the value, { S[i] -> [value] }, everywhere?"""
    return bool(values.is_subset(isl.along(isl.Map.identity(values.domain().get_space().map_from_set()), k)))


def _in_blocks(script: Script, name: str, statement: Statement, own: list[str], size: int) -> None:
    """Blocks of so many steps: their own rows and columns, then tiles of the others."""
    (write,) = statement.writes
    script.do("snapshot", write.array, at=name, size=size)
    block = script.block(name, size, "o")
    before = {each.name for each in loops(script.draft.nested)}
    script.do("split_set", name, " or ".join(f"{each} // {size} == {block}" for each in own))
    rest = next(each.name for each in loops(script.draft.nested) if each.name not in before)
    for inner in [each for each in _below(script, name) if len(each.statements) > 1]:
        script.do("distribute", inner.name)
        break
    script.do("serial", name)  # a region of threads for each part of each step would wait more than it computes
    before = {each.name for each in loops(script.draft.nested)}
    if len(loop(script.draft.nested, rest).statements) > 1:
        script.do("distribute", rest)
    outer = loop(script.draft.nested, rest).around
    for each in loops(script.draft.nested):
        if each.name == rest or (each.name not in before and len(each.around) == len(outer)):
            _tiled(script, each.name)


def _below(script: Script, name: str) -> list[Loop]:
    """The loops inside of that."""
    place = loop(script.draft.nested, name)
    return [each for each in loops(script.draft.nested) if place.is_around(each)][1:]


def _tiled(script: Script, name: str) -> None:
    """Tiles of all loops inside, rows and columns, each for all steps of the block."""
    inside = [each.name for each in _below(script, name)]
    why = "what a tile reads of all steps stays in the caches"
    sizes = [*(STEP_ROWS for _ in inside[:-1]), STEP_COLUMNS]
    own = [script.size(f"tile.{each}", size, why) for each, size in zip(inside, sizes, strict=True)]
    tiles = [script.block(each, size, "o") for each, size in zip(inside, own, strict=True) if size]
    script.do("reorder", *tiles, name, *inside)
