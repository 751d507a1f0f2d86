"""A schedule tree as one map to points in time, which run in lexicographic order.

    band i                               { S[i]    -> [i, 0, 0];
      sequence: S;  band j: T     ->       T[i, j] -> [i, 1, j] }
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from polysched.model.tree.nodes import Band, Context, Domain, Extension, Filter, InOrder, Leaf, Mark, Set, Tree
from polysched.support import isl


def flatten(tree: Tree) -> isl.UnionMap:
    """{ S[i, j] -> [t0, t1, ...] }, all times of one length, shorter ones filled with zeros at the end.

    The children of a Set, which may run in any order, run in the order in which they are listed.
    ValueError for a tree that does not start with a Domain, or that has Extensions.
    """
    if not isinstance(tree, Domain):
        raise ValueError(f"a schedule tree starts with a Domain, not with a {type(tree).__name__}")
    leaves = list(_leaves(tree.child, constant(tree.domain.universe(), ()), 0))  # functions alone: cheap products
    longest = max(length for _, length in leaves)
    times = reduce(isl.UnionMap.union, (_pad(times, longest - length) for times, length in leaves))
    return times.intersect_domain(tree.domain)


def _leaves(tree: Tree, times: isl.UnionMap, length: int) -> Iterator[tuple[isl.UnionMap, int]]:
    """The times, and how long they are, of what arrives at each leaf."""
    match tree:
        case Leaf():
            yield times, length
        case Band(members=members, child=child):
            for member in members:
                times = times.flat_range_product(member.schedule)
            yield from _leaves(child, times, length + len(members))
        case Filter(filter=filter, child=child):
            yield from _leaves(child, times.intersect_domain(filter), length)
        case InOrder(children=children) | Set(children=children):
            for k, branch in enumerate(children):
                position = constant(branch.filter, (k,))
                yield from _leaves(branch.child, times.flat_range_product(position), length + 1)
        case Context(child=child) | Mark(child=child):
            yield from _leaves(child, times, length)
        case Extension():
            raise ValueError("a tree with Extension nodes has no flat order: extensions add instances")
        case _:
            raise AssertionError(f"unknown tree node {type(tree).__name__}")


def constant(domain: isl.UnionSet, point: tuple[int, ...]) -> isl.UnionMap:
    """{ S[i] -> [point] }"""
    return isl.UnionMap.from_domain_and_range(domain, isl.UnionSet(f"{{ [{', '.join(map(str, point))}] }}"))


def _pad(times: isl.UnionMap, length: int) -> isl.UnionMap:
    return times.flat_range_product(constant(times.domain(), (0,) * length)) if length else times
