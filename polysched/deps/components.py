"""Which statements must be scheduled together, and which may be cut apart.

    S -> T <-> U      components: {S, T, U}      strongly connected: S, then {T, U}

Both keep source order as far as the dependences allow.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from graphlib import TopologicalSorter

Pair = tuple[str, str]  # source and sink of a dependence


def components(names: Sequence[str], pairs: Iterable[Pair]) -> list[list[str]]:
    """The sets of statements with no dependence between them, each in source order."""
    parent = {name: name for name in names}

    def root(name: str) -> str:
        while parent[name] != name:
            name = parent[name]
        return name

    for source, sink in pairs:
        parent[root(source)] = root(sink)
    return _groups(names, [root(name) for name in names])


def strongly_connected(names: Sequence[str], pairs: Iterable[Pair]) -> list[list[str]]:
    """The sets of statements that depend on each other in a cycle, in topological order; among those that may come
    next, the one with the first statement in source order."""
    pairs = {(source, sink) for source, sink in pairs if source != sink}
    reach = _reachable(names, pairs)
    first = {name: next(n for n in names if n == name or (n in reach[name] and name in reach[n])) for name in names}
    groups = {first[group[0]]: group for group in _groups(names, [first[name] for name in names])}
    edges = {(first[source], first[sink]) for source, sink in pairs if first[source] != first[sink]}
    return [groups[name] for name in _topological([n for n in names if n in groups], edges)]


def _groups(names: Sequence[str], keys: Sequence[str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name, key in zip(names, keys, strict=True):
        groups.setdefault(key, []).append(name)
    return list(groups.values())


def _reachable(names: Sequence[str], pairs: Iterable[Pair]) -> dict[str, set[str]]:
    """For each statement those that a path of one or more dependences leads to."""
    following: dict[str, set[str]] = {name: set() for name in names}
    for source, sink in pairs:
        following[source].add(sink)
    reach = {}
    for name in names:
        seen: set[str] = set()
        todo = [name]
        while todo:
            new = following[todo.pop()] - seen
            seen |= new
            todo += new
        reach[name] = seen
    return reach


def _topological(names: Sequence[str], edges: Iterable[Pair]) -> list[str]:
    position = {name: k for k, name in enumerate(names)}
    sorter = TopologicalSorter[str](dict.fromkeys(names, ()))
    for source, sink in edges:
        sorter.add(sink, source)
    sorter.prepare()
    ready: list[int] = []
    order = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(ready, position[name])
        order.append(names[heapq.heappop(ready)])
        sorter.done(order[-1])
    return order
