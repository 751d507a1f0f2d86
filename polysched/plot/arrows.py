"""Dependences as arrows from instance to instance: all of them, or one for each distance where they are many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from polysched.deps.dependences import Dependence, Dependences, Kind
from polysched.plot.hull import Point
from polysched.plot.small import Drawn, at_sizes, points_of
from polysched.support import isl

KINDS: tuple[Kind, ...] = ("flow", "anti", "output")
_ALL = 48  # that are drawn one by one; of more, one for each distance
_MOST = 20  # of these


@dataclass(frozen=True)
class Place:
    """Where an instance is drawn."""

    panel: int
    group: str  # of panels that show slices of the same
    at: Point


@dataclass(frozen=True)
class Arrow:
    """The instance at the end must run after the one at the start."""

    kind: Kind
    statements: tuple[str, str]
    distance: tuple[int, ...]  # along the loops around both
    start: Place
    end: Place

    @property
    def is_among(self) -> bool:
        """Does it stay within a panel, or slices of one thing?"""
        return self.start.group == self.end.group


Places = Mapping[tuple[str, tuple[int, ...]], Place]  # by statement and iteration


def arrows(
    dependences: Dependences, drawn: Drawn, places: Places, *, few: bool
) -> tuple[tuple[Arrow, ...], tuple[str, ...]]:
    """The arrows between these places, and notes on those that are left out; with `few`, one for each distance."""
    every: dict[tuple[Place, Place], Arrow] = {}
    for kind in KINDS:  # an arrow is drawn once, for the first kind there is
        for dependence in dependences.of(kind):
            for arrow in _arrows(dependence, drawn, places):
                every.setdefault((arrow.start, arrow.end), arrow)
    among = [arrow for arrow in every.values() if arrow.is_among]
    between = dict.fromkeys(" to ".join(arrow.statements) for arrow in every.values() if not arrow.is_among)
    notes = [f"dependences between panels are not drawn: {', '.join(between)}"] if between else []
    ends = {(arrow.kind, arrow.statements) for arrow in among}
    guesses = (d for d in dependences.guesses if (d.kind, (d.source, d.sink)) in ends)
    doubted = ", ".join(dict.fromkeys(f"{d.kind} from {d.source} to {d.sink}" for d in guesses))
    notes += [f"these may be none, which was not decided within their budget: {doubted}"] if doubted else []
    if len(among) <= _ALL and not few:
        return tuple(among), tuple(notes)
    alike: dict[tuple[object, ...], list[Arrow]] = {}
    for arrow in among:
        alike.setdefault((arrow.kind, arrow.statements, arrow.distance), []).append(arrow)
    chosen = list(alike.values())[:: -(-len(alike) // _MOST)] if alike else []
    middles = _middles(places)
    kept = tuple(min(each, key=lambda arrow: _rank(arrow, middles)) for each in chosen)
    if len(kept) < len(alike):
        notes.append(f"arrows are drawn for {len(kept)} of {len(alike)} distances, one each")
    elif len(kept) < len(among):
        which = f"for each of {len(alike)} distances" if len(alike) > 1 else "for all, which have one distance"
        notes.append(f"one arrow is drawn {which}")
    return kept, tuple(notes)


def _arrows(dependence: Dependence, drawn: Drawn, places: Places) -> Iterator[Arrow]:
    """Those between instances of which both have a place."""
    source_part, sink_part = drawn.domains.get(dependence.source), drawn.domains.get(dependence.sink)
    if source_part is None or sink_part is None:
        return
    depth = dependence.relation.dim(isl.dim_type.in_)
    relation = dependence.relation.intersect_domain(source_part).intersect_range(sink_part)
    for point in points_of(at_sizes(relation.wrap().flatten(), drawn.sizes)):
        numbers = isl.coordinates(point)
        source, sink = numbers[:depth], numbers[depth:]
        start, end = places.get((dependence.source, source)), places.get((dependence.sink, sink))
        if start and end:
            distance = tuple(b - a for a, b in zip(source, sink, strict=False))
            yield Arrow(dependence.kind, (dependence.source, dependence.sink), distance, start, end)


def _middles(places: Places) -> dict[int, Point]:
    by_panel: dict[int, list[Point]] = {}
    for place in places.values():
        by_panel.setdefault(place.panel, []).append(place.at)
    return {k: (_mean([x for x, _ in some]), _mean([y for _, y in some])) for k, some in by_panel.items()}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _rank(arrow: Arrow, middles: Mapping[int, Point]) -> tuple[bool, float, int]:
    """Arrows within a panel, and near its middle, come first."""
    (x, y), (u, v) = arrow.start.at, middles[arrow.start.panel]
    return arrow.start.panel != arrow.end.panel, (x - u) ** 2 + (y - v) ** 2, arrow.start.panel
