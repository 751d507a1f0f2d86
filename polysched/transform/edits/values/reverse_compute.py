"""A consumer moved into the loop that computes what it reads, as soon as that is complete (Feng et al., ASPLOS 2023).

    band: i_o                              band: i_o       S0[i] -> floor(i/32), S1[i] -> floor((i + 1)/32)
      band: i      S0 writes b[i]            sequence
    band: i_2      S1 reads b[i - 1]   ->      band: i      S0
                      and b[i + 1]             band: i_2    S1

Nothing is computed again: instances are reordered, each to the last iteration on which it depends. Those that depend on
none stay where they are, but for what others that move overwrite or add to, which goes with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polysched.errors import InputError
from polysched.model.scop import Statement
from polysched.model.tree.nodes import Band
from polysched.support import isl
from polysched.transform.edits.base.edit import Draft, checked
from polysched.transform.edits.base.graft import flattened, grafted, part_of, part_with, varying, without
from polysched.transform.edits.base.loops import coordinates_of, loop
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.values.producers import chains_of, instances_of, written_by


@edit("order", "i_o; j -> i_o, (...; j)")
def reverse_compute_at(draft: Draft, array: str, at: str) -> Draft:
    """What writes the array moved into loop `at`, each instance when all that it needs of the loop has run.

    IllegalSchedule if it has to wait for something else; InputError if it is in the loop already, or needs nothing of
    it.

        for i_o:                      for i_o:
            for i: b[i] = ...    ->       for i: b[i] = ...
        for j: c[j] = b[j]                for j: c[j] = b[j]         of this block: reverse_compute_at("c", at="i_o")
    """
    tree = draft.nested
    place = loop(tree, at)
    around = place.bands
    moving = _outside(written_by(draft.scop, array), place.instances, place.name)
    arrivals = _arrivals(draft, moving, around, place.instances)
    if arrivals.is_empty():
        names = ", ".join(s.name for s in moving)
        raise InputError(f"{names} needs nothing that loop '{place.name}' runs")
    part = varying(part_of(tree, arrivals.domain()), arrivals)
    left = without(tree, arrivals.domain())
    inner = (*loop(left, place.name).path, 0)
    needed = draft.dependences.validity.intersect_range(arrivals.domain()).domain().intersect(place.instances)
    after = part_with(left, inner, needed, first=False)
    tree = flattened(grafted(left, after, part, _coordinates(arrivals, len(around)), before=False), inner)
    return checked(draft, tree, f"reverse_compute_at({array}, at={place.name})")


def _outside(statements: Sequence[Statement], inside: isl.UnionSet, at: str) -> tuple[Statement, ...]:
    found = tuple(s for s in statements if s.instances.is_disjoint(inside))
    if not found:
        names = ", ".join(s.name for s in statements)
        raise InputError(f"{names} is in loop '{at}' already")
    return found


def _arrivals(draft: Draft, moving: Sequence[Statement], around: Sequence[Band], inside: isl.UnionSet) -> isl.UnionMap:
    """{ S1[i] -> [o] }: the last iteration that an instance needs, of those with its own values of loops around both;
    or the first one that one of the others needs, which come after it."""
    domain = instances_of(moving)
    there = coordinates_of(around, inside)
    own = _extended(coordinates_of(_shared(around, moving), domain), len(around))
    needs = draft.dependences.validity.intersect_range(domain)
    among = chains_of(needs.intersect_domain(domain))
    ahead = needs.intersect_domain(inside)
    ahead = ahead.union(ahead.apply_range(among))
    last = _each(ahead.reverse().apply_range(there).intersect(own), isl.Map.lexmax)
    later = needs.intersect_domain(domain.subtract(last.domain())).apply_range(last).intersect(own)
    return last.union(_each(later, isl.Map.lexmin))


def _shared(around: Sequence[Band], moving: Sequence[Statement]) -> list[Band]:
    """The loops that are around the statements as well."""
    names = {statement.name for statement in moving}
    rows = ([m.get_tuple_name(isl.dim_type.in_) for m in isl.maps_of(b.members[0].schedule)] for b in around)
    return [band for band, row in zip(around, rows, strict=True) if names <= set(row)]


def _extended(coordinates: isl.UnionMap, length: int) -> isl.UnionMap:
    """{ S[i] -> [t, o] } with every value of o, for { S[i] -> [t] }."""
    depth = max((m.dim(isl.dim_type.out) for m in isl.maps_of(coordinates)), default=0)
    rest = isl.Set.universe(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, length - depth))
    free = isl.UnionMap.from_domain_and_range(coordinates.domain(), isl.UnionSet.from_set(rest))
    return coordinates.flat_range_product(free)


def _each(union: isl.UnionMap, choose: Callable[[isl.Map], isl.Map]) -> isl.UnionMap:
    return isl.union_map(choose(m).coalesce() for m in isl.maps_of(union))


def _coordinates(arrivals: isl.UnionMap, depth: int) -> list[isl.UnionMap]:
    """{ S1[i] -> [o_k] } for each loop."""
    functions = arrivals.as_union_pw_multi_aff()
    return [isl.UnionMap.from_union_pw_aff(functions.get_union_pw_aff(k)) for k in range(depth)]
