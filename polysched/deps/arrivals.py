"""Arrays that belong to a node of the tree, told apart by the arrival at it.

    band: i
      mark: storage:t           { S[i, j] -> t[j] }   ->   { S[i, j] -> t[0, i, j] }     0: the first such node
        band: j    S

What this gives is what the lowered nest does, where each arrival has a `t` of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

from polysched.errors import IllegalSchedule
from polysched.model.scop import Access, Scop, Statement
from polysched.model.tree.nodes import Storage, Tree, mark_of, marks_in, reached
from polysched.model.tree.order import constant
from polysched.support import isl


def scoped_arrays(tree: Tree) -> frozenset[str]:
    """The names of the arrays that belong to some node."""
    return frozenset(name for mark in marks_in(tree) if isinstance(mark, Storage) for name in mark.arrays)


def told_apart(scop: Scop, tree: Tree) -> Scop:
    """`scop` in the order of `tree`, with elements for each arrival in its accesses to arrays that belong to a node;
    IllegalSchedule if one of these is used elsewhere."""
    arrivals = _arrivals(tree)
    statements = tuple(_apart(statement, arrivals) for statement in scop.statements)
    left = isl.union_map(m for m in isl.maps_of(scop.kills) if m.get_tuple_name(isl.dim_type.out) not in arrivals)
    return replace(scop, tree=tree, statements=statements, kills=left)


def _apart(statement: Statement, arrivals: dict[str, isl.UnionMap]) -> Statement:
    def apart(access: Access) -> Access:
        if access.array not in arrivals:
            return access
        relation = access.relation.intersect_domain(statement.domain)
        of_statement = arrivals[access.array].intersect_domain(statement.instances)
        arrival = reduce(isl.Map.union, isl.maps_of(of_statement), _none(relation, of_statement))
        if not relation.domain().is_subset(arrival.domain()):
            raise IllegalSchedule(f"{statement.name} uses '{access.array}' outside of the loop that it belongs to")
        told = arrival.flat_range_product(relation).set_tuple_name(isl.dim_type.out, access.array)
        return replace(access, relation=told)

    return replace(statement, reads=tuple(map(apart, statement.reads)), writes=tuple(map(apart, statement.writes)))


def _none(relation: isl.Map, arrival: isl.UnionMap) -> isl.Map:
    """An empty { S[i] -> [arrival] }"""
    length = next((m.dim(isl.dim_type.out) for m in isl.maps_of(arrival)), 0)
    target = isl.Set.empty(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, length))
    return isl.Map.from_domain_and_range(relation.domain(), target)


def _arrivals(tree: Tree) -> dict[str, isl.UnionMap]:
    """{ S[i, j] -> [node, i, 0] } by array, of one length for each."""
    nodes = list(_storages(tree))
    found: dict[str, isl.UnionMap] = {}
    for number, (names, around, length) in enumerate(nodes):
        longest = max(other for others, _, other in nodes if not set(names).isdisjoint(others))
        padding = constant(around.domain(), (0,) * (longest - length))
        arrival = constant(around.domain(), (number,)).flat_range_product(around).flat_range_product(padding)
        for name in names:
            found[name] = found[name].union(arrival) if name in found else arrival
    return found


def _storages(tree: Tree) -> Iterator[tuple[tuple[str, ...], isl.UnionMap, int]]:
    """The arrays of each storage node, with the values of the loops around it, and how many there are."""
    for node, instances, bands in reached(tree, isl.UnionSet("{ }")):
        if storage := mark_of(node, Storage):
            schedules = [member.schedule for band in bands for member in band.members]
            around = reduce(isl.UnionMap.flat_range_product, schedules, constant(instances, ()))
            yield storage.arrays, around, len(schedules)
