"""Dependences and legality the slow way: every access of every instance, one after the other, at given sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from callbacks import Callbacks

from polysched.deps.dependences import Dependences
from polysched.ir.interp import Touch, interpret
from polysched.ir.node import walk
from polysched.model.reduction import exact_update
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Tree
from polysched.model.tree.order import flatten
from polysched.support import isl

Instance = tuple[str, tuple[int, ...]]
Pairs = dict[tuple[str, str, str, str], set[tuple[tuple[int, ...], tuple[int, ...]]]]  # by kind, source, sink, array


@dataclass(frozen=True)
class Event:
    """An access that happens. One that does not hide leaves those before it visible."""

    instance: Instance
    action: str  # read, write, kill
    hides: bool


Histories = dict[tuple[str, tuple[int, ...]], list[Event]]  # what happens to each element, in order


def brute_pairs(histories: Histories) -> Pairs:
    """All pairs of instances that depend on each other."""
    found: Pairs = defaultdict(set)
    for (array, _), history in histories.items():
        for k, event in enumerate(history):
            before = history[:k][::-1]
            if event.action == "read":
                _add(found, "flow", array, event, _visible(before, "write", until=("write", "kill")))
            if event.action == "write":
                _add(found, "output", array, event, _visible(before, "write", until=("write",)))
                _add(found, "anti", array, event, _visible(before, "read", until=("write",)))
    return {key: pairs for key, pairs in found.items() if pairs}


def pairs_of(dependences: Dependences, sizes: dict[str, int]) -> Pairs:
    """The same, as `dependences` has them."""
    found: Pairs = defaultdict(set)
    for d in dependences.pairs:
        depth = d.relation.dim(isl.dim_type.in_)
        for point in points(d.relation.wrap(), sizes):
            found[d.kind, d.source, d.sink, d.array].add((point[:depth], point[depth:]))
    return dict(found)


def times_at(tree: Tree, sizes: dict[str, int]) -> list[tuple[tuple[int, ...], Instance]]:
    """When each instance runs, first to last."""
    times = []
    for m in isl.maps_of(flatten(tree)):
        depth = m.dim(isl.dim_type.in_)
        times += [(p[depth:], (m.get_tuple_name(isl.dim_type.in_), p[:depth])) for p in points(m.wrap(), sizes)]
    return sorted(times)


def points(space: isl.Set, sizes: dict[str, int]) -> list[tuple[int, ...]]:
    """The points of a set at these sizes."""
    for k in range(space.dim(isl.dim_type.param)):
        space = space.fix_val(isl.dim_type.param, k, isl.Val(sizes[space.get_dim_name(isl.dim_type.param, k)]))
    found = []

    def note(point: isl.Point) -> None:
        dims = range(space.dim(isl.dim_type.set))
        found.append(tuple(point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in dims))

    with Callbacks() as callbacks:
        space.foreach_point(callbacks.each(note))
    return sorted(found)


def modelled(scop: Scop, sizes: dict[str, int], *, reorder_reductions: bool = False) -> Histories:
    """The accesses that the scop has, in its source order."""
    elements: dict[tuple[Instance, str, int], list[tuple[str, tuple[int, ...]]]] = defaultdict(list)
    for s in scop.statements:
        for k, access in enumerate((*s.reads, *s.writes)):
            action = "read" if k < len(s.reads) else "write"
            for point in points(access.relation.intersect_domain(s.domain).wrap(), sizes):
                elements[(s.name, point[: s.depth]), action, k].append((access.array, point[s.depth :]))
    for m in isl.maps_of(scop.kills):
        depth = m.dim(isl.dim_type.in_)
        for point in points(m.wrap(), sizes):
            instance = (m.get_tuple_name(isl.dim_type.in_), point[:depth])
            elements[instance, "kill", 0].append((m.get_tuple_name(isl.dim_type.out), point[depth:]))
    histories = defaultdict(list)
    for _, instance in times_at(scop.tree, sizes):
        s = scop.statement(instance[0])
        for element in elements[instance, "kill", 0]:
            histories[element].append(Event(instance, "kill", True))
        for k, access in enumerate((*s.reads, *s.writes)):
            action = "read" if k < len(s.reads) else "write"
            is_free = (reorder_reductions and s.reduction != "") or exact_update(s.body) != ""
            reordered = is_free and action == "write"
            for element in elements[instance, action, k]:
                histories[element].append(Event(instance, action, access.must and not reordered))
    return histories


def interpreted(scop: Scop, arguments: Mapping[str, Any]) -> Histories:
    """The accesses that happen when the nest of an affine scop is interpreted."""
    log: list[Touch] = []
    interpret(scop.function, arguments, log)
    owner = {id(node): s for s in scop.statements for node in walk(s.body)}
    exact = {s.name for s in scop.statements if exact_update(s.body)}
    histories = defaultdict(list)
    for touch in log:
        statement = owner[id(touch.statement)]
        instance = (statement.name, touch.iteration[: statement.depth])
        hides = touch.kind != "write" or statement.name not in exact
        histories[touch.array, touch.index].append(Event(instance, touch.kind, hides))
    return histories


def _visible(before: list[Event], action: str, until: tuple[str, ...]) -> Iterator[Event]:
    for event in before:
        if event.action == action:
            yield event
        if event.action in until and event.hides:
            return


def _add(found: Pairs, kind: str, array: str, sink: Event, sources: Iterator[Event]) -> None:
    for source in sources:
        if source.instance != sink.instance:
            found[kind, source.instance[0], sink.instance[0], array].add((source.instance[1], sink.instance[1]))
