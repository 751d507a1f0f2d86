"""The dependences that reach a node of a tree: the parts of them that nothing above the node orders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from polysched.deps.coincidence import keeping, left_below
from polysched.deps.dependences import Dependence
from polysched.model.tree.nodes import Member, Tree
from polysched.support import isl

Reaching = tuple[Dependence, ...]


def below(node: Tree, reaching: Reaching) -> Reaching:
    """The parts that the node itself leaves unordered."""
    return parts(reaching, lambda pairs: left_below(node, pairs))


def between(reaching: Reaching, member: Member) -> Reaching:
    """The parts that run between different iterations of the loop: it carries them."""
    same = keeping(member)
    return parts(reaching, lambda pairs: pairs.subtract(same(pairs)))


def within(reaching: Reaching, members: Iterable[Member]) -> Reaching:
    """The parts inside one iteration of all these loops."""
    for member in members:
        reaching = parts(reaching, keeping(member))
    return reaching


def among(reaching: Reaching, instances: isl.UnionSet) -> Reaching:
    """The parts between these instances."""
    names = names_in(instances)
    inside = tuple(d for d in reaching if {d.source, d.sink} <= names)
    return parts(inside, lambda pairs: pairs.intersect_domain(instances).intersect_range(instances))


def across(reaching: Reaching, one: isl.UnionSet, other: isl.UnionSet) -> Reaching:
    """The parts from the ones to the others."""
    sources, sinks = names_in(one), names_in(other)
    crossing = tuple(d for d in reaching if d.source in sources and d.sink in sinks)
    return parts(crossing, lambda pairs: pairs.intersect_domain(one).intersect_range(other))


def names_in(instances: isl.UnionSet) -> set[str]:
    """The statements of the instances."""
    sets = instances.get_set_list()
    return {sets.get_at(k).get_tuple_name() or "" for k in range(instances.n_set())}


def parts(reaching: Reaching, part: Callable[[isl.UnionMap], isl.UnionMap]) -> Reaching:
    """What `part` makes of each dependence, where something is left."""
    found = ((dependence, part(isl.UnionMap.from_map(dependence.relation))) for dependence in reaching)
    return tuple(replace(d, relation=isl.Map.from_union_map(pairs)) for d, pairs in found if not pairs.is_empty())
