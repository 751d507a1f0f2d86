"""Computing an array where it is used: each iteration of a loop computes what it needs, in a small array of its own
(Ragan-Kelley et al., PLDI 2013).

    band: i      S0 writes b[i]            band: i_o
    band: i_o                                mark: storage:b_at              b_at: f64[34]
      band: i_2  S1 reads b[i - 1]             sequence
                    and b[i + 1]     ->          band: i      S0_at writes b_at[i - 32 i_o + 1]
                                                 band: i_2    S1 reads b_at[i - 32 i_o] and b_at[i - 32 i_o + 2]

What two iterations need, each computes for itself, unless the array is stored at a loop further out: then those that
come first compute it, and the others find it there, a sliding window. Other statements may go on using b: as long as
one does, or if b is a parameter, whose values are visible outside, it is computed where it was, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial, reduce

from polysched.config.heuristics.nest import MOST_CORNER, PART_OF_A_ROW
from polysched.deps.dependences import Dependences
from polysched.errors import BudgetExceeded, IllegalSchedule, InputError
from polysched.ir.nodes import Array
from polysched.model.extents import largest
from polysched.model.scop import Scop, Statement
from polysched.model.tree.instances import copied
from polysched.model.tree.nodes import Tree
from polysched.support import isl
from polysched.transform.edits.base.edit import Draft
from polysched.transform.edits.base.graft import flattened, grafted, part_of, part_with, varying
from polysched.transform.edits.base.loops import Loop, coordinates_of, free, loop
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.base.same_values import require_same_values
from polysched.transform.edits.values.copies import Copies, box, copies_of, in_box, iterator_names, names_in
from polysched.transform.edits.values.producers import (
    OPERATIONS,
    chains_of,
    instances_of,
    producers_of,
    require_computed,
    without_computed,
    without_statements,
)
from polysched.transform.edits.values.storage import Scope, inside_storage, with_storage


@edit("values", "i; j_o -> j_o, (i; ...)")
def compute_at(draft: Draft, array: str, at: str, scope: Scope = "private", store_at: str = "") -> Draft:
    """What each iteration of loop `at` reads of the array computed in it, in a small one, b_at for b.

    The statements that write the array are computed again, with few corners of a box that nothing reads; the original
    ones go if nothing else needs them. `scope` is where the small array lives, as for `cache_read`. Each iteration of
    loop `store_at`, around `at`, has one small array then, for all iterations of `at` in it, and computes no element
    twice. InputError if nothing in the loop reads what they compute, or `store_at` is not around it; IllegalSchedule if
    what they read is not the same there.

        for i: b[i] = ...        ->   for j_o:
        for j_o:                          for i: b_at[i - 32 * j_o] = ...
            for j: ... b[j] ...           for j: ... b_at[j - 32 * j_o] ...      compute_at("b", at="j_o")
    """
    scop, place = draft.scop, loop(draft.nested, at)
    store = _around(draft.nested, place, store_at)
    producers = producers_of(scop, array)
    users = _users(scop, array, producers, place)
    arrivals = coordinates_of(place.bands, instances_of(users))
    for user in users:
        require_computed(draft, array, user, may_read=True)
    needed = _needed(draft.dependences, array, producers, users, arrivals)
    if not needed:
        raise InputError(_unused(array, producers, place))
    computed = partial(_computed, draft, array, place, store, scope, producers, users, arrivals)
    if len(needed) == 1 and (filled := _without_corners(needed[0][1])) is not None:
        name = needed[0][0]
        with suppress(IllegalSchedule):  # what is in the corners may have no place, or its operands may have gone
            return computed([(name, filled.intersect_range(scop.statement(name).domain))])
    return computed([(name, _simpler(of_it, scop.statement(name).domain)) for name, of_it in needed])


def _computed(
    draft: Draft,
    array: str,
    place: Loop,
    store: Loop,
    scope: Scope,
    producers: Sequence[Statement],
    users: Sequence[Statement],
    arrivals: isl.UnionMap,
    needed: Sequence[tuple[str, isl.Map]],
) -> Draft:
    """The draft in which an iteration of the loop computes these instances, { [o] -> S0[i] } for each producer, for
    the users in it, which read the array, but for those that an earlier one in the same iteration of `store` has
    computed."""
    scop, kept = draft.scop, len(store.bands)
    needed = [(name, _first_needed(of_it, kept)) for name, of_it in needed]
    loops = [band.members[0].name for band in place.bands]
    names, outer = names_in(scop), iterator_names(loops, scop, producers)
    copies = [copies_of(scop.statement(name), of_it, free(f"{name}_at", names), outer) for name, of_it in needed]
    own = free(f"{array}_at", names)
    small = box(_elements(copies, array, kept), scop.context)
    inside = [in_box(user, array, small, _outer(_arrival(arrivals, user), kept), own) for user in users]
    again = [in_box(copy.statement, array, small, _outer(copy.arrival, kept), own) for copy in copies]
    gone = producers if _is_free(draft, array, producers, users) else ()

    wide = next(each for each in scop.arrays if each.name == array)
    left = without_statements(scop, gone)
    changed = {statement.name: statement for statement in inside}
    statements = (*again, *(changed.get(s.name, s) for s in left.statements))
    arrays = (*left.arrays, Array(own, wide.dtype, small.shape, scope))
    edited = replace(left, statements=statements, arrays=arrays)
    tree = _placed(draft.nested, place, store, users, copies, gone, own)
    origin = isl.union_map(copy.origin for copy in copies).union(instances_of(left.statements).identity())
    where = f"at={place.name}" if store is place else f"at={place.name}, store_at={store.name}"
    return require_same_values(draft, edited, tree, origin, f"compute_at({array}, {where})")


def _around(tree: Tree, place: Loop, name: str) -> Loop:
    """The loop of that name, which is around the place; without a name the place itself."""
    if not name:
        return place
    store = loop(tree, name)
    if store.name == place.name or not store.is_around(place):
        around = ", ".join(band.members[0].name for band in place.around)
        hint = f"loops around it are: {around}" if around else "there is none around it"
        raise InputError(f"loop '{store.name}' is not around loop '{place.name}'", hint=hint)
    return store


def _first_needed(needed: isl.Map, kept: int) -> isl.Map:
    """{ [o] -> S0[i] } without what an iteration of the loops inside of the first `kept` ones needs, too, and runs
    earlier."""
    depth = needed.dim(isl.dim_type.in_)
    if kept == depth:
        return needed
    earlier = isl.agreeing(isl.Map.lex_gt(needed.domain().get_space()), kept)
    return needed.subtract(earlier.apply_range(needed)).coalesce()


def _outer(arrival: isl.Map, kept: int) -> isl.Map:
    """{ S0_at[o, i] -> [o] } to the first `kept` loops alone."""
    return arrival.project_out(isl.dim_type.out, kept, arrival.dim(isl.dim_type.out) - kept)


def _users(scop: Scop, array: str, producers: Sequence[Statement], place: Loop) -> tuple[Statement, ...]:
    """The statements in the loop that read the array; InputError if one is also outside."""
    found = []
    for statement in scop.statements:
        reads = any(read.array == array for read in statement.reads)
        domain = statement.instances
        if statement in producers or not reads or domain.is_disjoint(place.instances):
            continue
        if not domain.is_subset(place.instances):
            message = f"{statement.name}, which reads '{array}', runs outside of loop '{place.name}' too"
            raise InputError(message, hint="do this before the loop is cut in parts")
        found.append(statement)
    return tuple(found)


def _unused(array: str, producers: Sequence[Statement], place: Loop) -> str:
    own = [s.name for s in producers if s.name in place.statements and any(r.array == array for r in s.reads)]
    if own:
        return f"in loop '{place.name}' only what computes '{array}' reads it: {', '.join(own)}"
    return f"nothing in loop '{place.name}' reads what is computed in '{array}'"


def _needed(
    dependences: Dependences,
    array: str,
    producers: Sequence[Statement],
    users: Sequence[Statement],
    arrivals: isl.UnionMap,
) -> list[tuple[str, isl.Map]]:
    """{ [o] -> S0[i] } for each producer: what the users in an iteration read, and what that is computed from."""
    makes, reads = {s.name for s in producers}, {s.name for s in users}
    flow = [d for d in dependences.of("flow") if d.array == array and d.source in makes]
    read = isl.union_map(d.relation for d in flow if d.sink in reads)
    among = chains_of(isl.union_map(d.relation for d in flow if d.sink in makes))
    needed = arrivals.reverse().apply_range(read.reverse())
    needed = needed.union(needed.apply_range(among.reverse())).intersect_range(instances_of(producers))
    found = (m.coalesce() for m in isl.maps_of(needed) if not m.is_empty())
    return [(m.get_tuple_name(isl.dim_type.out) or "", m) for m in found]


def _simpler(needed: isl.Map, domain: isl.Set) -> isl.Map:
    """The hull, if that is not more for every iteration: with holes near the ends alone, loops would be in pieces.
    What is needed, too, where isl takes long to find it."""
    try:
        with isl.within(operations=OPERATIONS):
            hull = isl.Map.from_basic_map(needed.polyhedral_hull())
            is_more = needed.domain().is_subset(hull.subtract(needed).domain())
    except BudgetExceeded:
        return needed
    return needed if is_more else hull.intersect_range(domain)


def _without_corners(needed: isl.Map) -> isl.Map | None:
    """The box around what is needed, if only few elements at the ends of its rows are missing, as between the points of
    a star, or rows where there are few; None if more are. Loops over a box have simple bounds."""
    around = _box(needed)
    rows, most = map(_rows, (needed, around))
    if around.is_subset(needed) or not _are_few(most.domain().subtract(rows.domain()), around):
        return None
    ends = (rows.lexmin().sum(most.lexmin().neg()), most.lexmax().sum(rows.lexmax().neg()))
    gaps = [largest(end.range()) for end in ends]
    length = largest(most.lexmax().sum(most.lexmin().neg()).range())
    allowed = min(MOST_CORNER, length.to_python() // PART_OF_A_ROW) if length.is_int() else MOST_CORNER
    return around if all(gap.is_int() and gap.to_python() <= allowed for gap in gaps) else None


def _are_few(missing: isl.Set, around: isl.Map) -> bool:
    """Are there few rows in the boxes that lack these, { [o, i] }?"""
    outer, depth = around.dim(isl.dim_type.in_), around.dim(isl.dim_type.out)
    lacking = around.intersect_domain(missing.project_out(isl.dim_type.set, outer, depth - 1))
    sides = [isl.along(lacking, k) for k in range(depth - 1)]
    spans = [side.lexmax().sum(side.lexmin().neg()).range() for side in sides]
    return all(span.is_empty() or largest(span) < isl.Val(MOST_CORNER) for span in spans)


def _box(needed: isl.Map) -> isl.Map:
    """{ [o] -> S0[i] }, where each iterator has all values between the least and the largest."""
    sides = (isl.along(needed, k).polyhedral_hull() for k in range(needed.dim(isl.dim_type.out)))
    whole = reduce(isl.Map.flat_range_product, map(isl.Map.from_basic_map, sides))
    return whole.set_tuple_name(isl.dim_type.out, needed.get_tuple_name(isl.dim_type.out))


def _rows(needed: isl.Map) -> isl.Map:
    """{ [o, i] -> [j] } for { [o] -> S0[i, j] }"""
    outer, depth = needed.dim(isl.dim_type.in_), needed.dim(isl.dim_type.out)
    return needed.move_dims(isl.dim_type.in_, outer, isl.dim_type.out, 0, max(depth - 1, 0))


def _arrival(arrivals: isl.UnionMap, statement: Statement) -> isl.Map:
    """{ S1[i] -> [o] }"""
    return isl.Map.from_union_map(arrivals.intersect_domain(statement.instances))


def _elements(copies: Sequence[Copies], array: str, kept: int) -> isl.Map:
    """{ [o] -> b[x] }: what is computed in an iteration of the first `kept` loops."""
    writes = (
        _outer(copy.arrival, kept).reverse().apply_range(write.relation)
        for copy in copies
        for write in copy.statement.writes
        if write.array == array
    )
    return reduce(isl.Map.union, writes)


def _is_free(draft: Draft, array: str, producers: Sequence[Statement], users: Sequence[Statement]) -> bool:
    """Do the users alone need what is in the array?"""
    if array in {each.name for each in draft.scop.function.arrays}:
        return False
    known = {s.name for s in (*producers, *users)}
    return not any(r.array == array for s in draft.scop.statements if s.name not in known for r in s.reads)


def _placed(
    tree: Tree,
    place: Loop,
    store: Loop,
    users: Sequence[Statement],
    copies: Sequence[Copies],
    gone: Sequence[Statement],
    array: str,
) -> Tree:
    """The tree with the copies right before the users in each iteration of the loop, and the array in each of
    `store`."""
    origin = isl.union_map(copy.origin for copy in copies)
    part = varying(copied(part_of(tree, origin.range()), origin), isl.union_map(copy.arrival for copy in copies))
    left = without_computed(tree, gone)
    around = (*loop(left, place.name).path, 0)
    inner = inside_storage(left, around)
    values = [reduce(isl.UnionMap.union, of_all) for of_all in zip(*(c.coordinates for c in copies), strict=True)]
    before = part_with(left, inner, instances_of(users), first=True)
    tree = flattened(grafted(left, before, part, values, before=True), inner)
    return with_storage(tree, (*loop(left, store.name).path, 0), array)
