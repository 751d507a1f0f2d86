"""Stages of a pipeline in windows: each strip of the last stage's rows computes what it needs of the others, a few rows
at a time (Ragan-Kelley et al., PLDI 2013).

    for y: b[y] = ...               for y_o, x_o:               strips of 32 rows, on threads
    for y_2: out[y_2] = ...    ->       b_at: f32[4, 512]       rows used by turns, in the cache
             from b[y_2 - 1],           for y:  b_at[y % 4] = ...
             b[y_2], b[y_2 + 1]                 out[y - 1] = ...

    .tile("y_2", "x_2", sizes=(32, 512), names=("y_o", "x_o")).compute_at("b", at="x_o").fuse("y", "y_2")
    .fold_storage("b_at", 0, size=4)

What each element of a row needs one element of, it computes itself, as a scalar; what is used hardly more often than it
is computed, as by a level of a pyramid, is computed where it is read. Stages that read the same, and nothing of each
other, have one loop along the row. Where a stage has more rows than the last, or fewer, a strip keeps all that it needs
of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

from polysched.config.heuristics.cpu import HALOS_OF_STRIP, LEAST_STRIP, MOST_STRIP, STRIPS_OF_CORE, USED_AGAIN
from polysched.config.heuristics.nest import FOLDED_SIZES
from polysched.deps.coincidence import carried, in_one
from polysched.errors import IllegalSchedule
from polysched.ir.node import walk
from polysched.ir.nodes import Call, Const
from polysched.model.extents import largest
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, is_innermost
from polysched.strategy.script import Script
from polysched.support import isl
from polysched.transform.analysis.columns import columns
from polysched.transform.analysis.rates import rows_of_each, uses
from polysched.transform.edits.base.loops import Loop, loop, loops, most_iterations
from polysched.transform.edits.base.same_values import shown, together
from polysched.transform.trees.profitability import fits_in


@dataclass(frozen=True)
class Pipeline:
    """Loops over rows that follow one another, of which the last alone writes arrays of the user's."""

    stages: tuple[Loop, ...]
    arrays: tuple[str, ...]  # of the others, each after those that are computed from it
    strip: int  # rows of the last stage that are computed at a time
    slides: bool  # a row of the last stage needs one more of each other, so that they take turns
    row: str  # the last stage's loop along a row
    columns: int  # of a row that are computed at a time; 0 for all


def windows(script: Script) -> None:
    """The whole nest in strips, if it is a pipeline."""
    found = pipeline(script)
    if found is None:
        return
    why = "to compute it again costs less than to keep rows of it"
    again = [array for array in _made_again(script) if script.says(f"inline.{array}", why)]
    for array in again:
        script.do("inline", array)
    found = pipeline(script) if again else found
    if found is None:
        return
    last = found.stages[-1].name
    why = "rows of what stages compute stay in the cache until they are used up"
    strip = script.size(f"windows.{last}", found.strip, why)
    if not strip:
        return
    columns = found.row and script.size(f"windows.{found.row}", found.columns, "rows in use stay in the first cache")
    script.draft = together(script.draft)
    whole, sizes = {array.name for array in script.scop.arrays}, {last: strip}
    if columns:
        sizes[found.row] = columns
    *_, block = blocks = script.named("o", *sizes)
    script.do("tile", *sizes, sizes=tuple(sizes.values()), names=tuple(blocks))
    for array in found.arrays:
        script.do("compute_at", array, at=_along_row(script, array) or block)
    if found.slides:
        _slide(script, block, whole)
    while pair := next(_to_join(script), None):
        script.do("fuse", *pair)
    try:
        script.draft = shown(script.draft, f"windows.{last} = {strip}")
    except IllegalSchedule as error:
        raise script.refused(error) from error.__cause__


def _made_again(script: Script) -> Iterator[str]:
    """Arrays of which an element is hardly used more often than once, made of what is stored anyway; not those that are
    scalars in a loop along a row."""
    flow, again = script.dependences.of("flow"), set[str]()
    for statement in script.scop.statements:
        calls = any(isinstance(node, Call) for node in walk(statement.body))
        if calls or not again.isdisjoint(read.array for read in statement.reads):
            continue
        for array in {write.array for write in statement.writes}:
            times = uses(array, script.scop, flow)
            if times is not None and times <= USED_AGAIN and not _along_row(script, array):
                again.add(array)
                yield array


def _slide(script: Script, block: str, whole: Set[str]) -> None:
    """The loops over rows of a strip as one, in which few rows of each array but the `whole` are in use at a time."""
    inside = (each for each in loops(script.draft.nested) if each.around)
    rows = [each.name for each in inside if each.around[-1].members[0].name == block]
    if len(rows) > 1:
        script.do("fuse", *rows)
    for name in [array.name for array in script.scop.arrays if array.name not in whole]:
        if place := _turns(script, name, rows[0]):
            script.do("fold_storage", name, place[0], size=place[1])


def pipeline(script: Script) -> Pipeline | None:
    """The nest, if it is one whose rows have work for lanes, and of which it keeps more than a cache holds."""
    scop, machine = script.scop, script.options.machine
    every = loops(script.draft.nested)
    stages = tuple(each for each in every if not each.around)
    users = {array.name for array in scop.function.arrays}
    own = {array.name for array in scop.arrays} - users
    has_all = {name for stage in stages for name in stage.statements} == {each.name for each in scop.statements}
    if len(stages) < 2 or not has_all or fits_in((array for array in scop.arrays if array.name in own), machine.l2):
        return None
    for stage in stages:
        inner = [each for each in every if each.around[:1] == (stage.band,)]
        if not _has_rows(script, stage, inner):
            return None
    written = [{w.array for name in stage.statements for w in scop.statement(name).writes} for stage in stages]
    read = {r.array for stage in stages for name in stage.statements for r in scop.statement(name).reads}
    apart = sum(map(len, written)) == len(set().union(*written))
    if not apart or written[-1] & (own | read) or any(arrays & users for arrays in written[:-1]):
        return None
    of_each = rows_of_each(stages, script.dependences.of("flow"))
    if of_each is None:
        return None
    halo, slides = max(each.halo for each in of_each), all(each.rate == 1 for each in of_each)
    strip = min(max(HALOS_OF_STRIP * halo, LEAST_STRIP if slides else HALOS_OF_STRIP), MOST_STRIP)
    rows = most_iterations(stages[-1], scop.context)
    if rows is not None:
        strip = min(strip, rows // (STRIPS_OF_CORE * machine.cores))
    if strip < HALOS_OF_STRIP // 2 * halo:
        return None
    arrays = tuple(array for arrays in reversed(written[:-1]) for array in sorted(arrays))
    return Pipeline(stages, arrays, strip, slides, *_along_rows(script, stages, slides))


def _along_rows(script: Script, stages: Sequence[Loop], slides: bool) -> tuple[str, int]:
    """The last stage's loop along a row, if each stage has one alone, and how many columns to compute at a time."""
    every = loops(script.draft.nested)
    inside = [[each for each in every if each.around[:1] == (stage.band,)] for stage in stages]
    if not slides or any(len(rows) != 1 for rows in inside):
        return "", 0
    rows = [each for (each,) in inside]
    of_each = rows_of_each(rows, script.dependences.of("flow"))
    if of_each is None or any(each.rate != 1 for each in of_each):
        return "", 0
    most, size = most_iterations(rows[-1], script.scop.context), columns(stages, script.scop, script.options.machine)
    while size and size < HALOS_OF_STRIP * max(each.halo for each in of_each):
        size *= 2
    return rows[-1].name, size if most is None or most > size else 0


def _has_rows(script: Script, stage: Loop, inner: Sequence[Loop]) -> bool:
    """Are its iterations independent, and those of the loops in it, of which the innermost go along rows of all arrays
    and have all that it runs?"""
    scop, reaching = script.scop, script.dependences.coincidence
    reaching = reaching.intersect_domain(stage.instances).intersect_range(stage.instances)
    innermost = [each for each in inner if is_innermost(each.band)]
    have_rows = {name for each in innermost for name in each.statements}
    if not carried(stage.member, reaching).is_empty() or not have_rows >= {*stage.statements}:
        return False
    return not any(_carries(each, reaching) for each in inner) and all(_goes_along(scop, each) for each in innermost)


def _goes_along(scop: Scop, inner: Loop) -> bool:
    """Do its iterations differ in the last subscript alone, of all that they touch?"""
    coordinates = inner.iterations.reverse()
    for statement in map(scop.statement, inner.statements):
        for access in statement.accesses:
            touched = isl.Map.from_union_map(coordinates.apply_range(isl.UnionMap.from_map(access.relation)))
            rows = touched.project_out(isl.dim_type.in_, len(inner.around), 1)
            rows = rows.project_out(isl.dim_type.out, max(rows.dim(isl.dim_type.out) - 1, 0), 1)
            if not rows.is_single_valued():
                return False
    return True


def _carries(inner: Loop, reaching: isl.UnionMap) -> bool:
    inside = _within(inner.around, reaching).intersect_domain(inner.instances)
    return not carried(inner.member, inside).is_empty()


def _within(around: Sequence[Band], pairs: isl.UnionMap) -> isl.UnionMap:
    """Those in one iteration of all these loops."""
    return reduce(lambda left, band: in_one(band.members[0], left), around, pairs)


def _turns(script: Script, array: str, rows: str) -> tuple[int, int] | None:
    """A dimension of the array along which few elements are in use at a time in the loop over rows, and how many at
    least may take turns; None if there is none."""
    place = loop(script.draft.nested, rows)
    written, read = (_used(script, place.iterations, array, kind) for kind in ("writes", "reads"))
    outer = "".join(f"o{k}, " for k in range(len(place.around)))
    until = isl.Map(f"{{ [{outer}t] -> [{outer}before] : before <= t }}")
    shape = next(each.shape for each in script.scop.arrays if each.name == array)
    for axis, extent in enumerate(shape):
        newest = until.apply_range(isl.along(written, axis)).lexmax()
        oldest = isl.along(read, axis).lexmin()
        alive = largest(newest.sum(oldest.neg()).range())
        if not alive.is_int():
            continue
        size = next((each for each in FOLDED_SIZES if each > alive.to_python()), None)
        if size is not None and not (isinstance(extent, Const) and extent.value <= size):
            return axis, size
    return None


def _along_row(script: Script, array: str) -> str:
    """The innermost loop that alone uses the array, if an iteration needs one element, and no other one needs that; ""
    if there is none."""
    flow = isl.union_map(each.relation for each in script.dependences.of("flow") if each.array == array)
    using = [each for each in loops(script.draft.nested) if not flow.range().is_disjoint(each.instances)]
    if not using or not is_innermost(using[-1].band):
        return ""
    *outer, last = using
    is_alone = [each.name for each in outer] == [band.members[0].name for band in last.around]
    needed = last.iterations.reverse().apply_range(flow.reverse())
    return last.name if is_alone and needed.is_bijective() else ""


def _to_join(script: Script) -> Iterator[tuple[str, str]]:
    """Neighbors along a row that read the same and nothing of each other, to be one loop."""
    along = [each for each in loops(script.draft.nested) if is_innermost(each.band)]
    for one, other in combinations(along, 2):
        if one.around != other.around or _reads(script, one).isdisjoint(_reads(script, other)):
            continue
        first, second = (each.iterations.range() for each in (one, other))
        between = along[along.index(one) + 1 : along.index(other)]
        ties = (_is_tied(script, one, each) and _is_tied(script, each, other) for each in between)
        if first.is_equal(second) and not _is_tied(script, one, other) and not any(ties):
            yield one.name, other.name


def _is_tied(script: Script, one: Loop, other: Loop) -> bool:
    """Does the other need the first, in an iteration of the loops around both?"""
    pairs = script.dependences.validity.intersect_domain(one.instances).intersect_range(other.instances)
    return not _within(one.around, pairs).is_empty()


def _reads(script: Script, place: Loop) -> set[str]:
    return {read.array for name in place.statements for read in script.scop.statement(name).reads}


def _used(script: Script, coordinates: isl.UnionMap, array: str, kind: str) -> isl.Map:
    """{ [o, t] -> array[x] }, of the loops around and the one over rows"""
    accesses = (access for each in script.scop.statements for access in getattr(each, kind) if access.array == array)
    every = (coordinates.reverse().apply_range(isl.UnionMap.from_map(access.relation)) for access in accesses)
    return isl.Map.from_union_map(reduce(isl.UnionMap.union, every))
