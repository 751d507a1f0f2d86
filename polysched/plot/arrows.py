"""Dependences as arrows from instance to instance: all of them, or one for each distance where they are many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from polysched.deps.dependences import Dependence, Dependences, Kind
from polysched.plot.hull import Point
from polysched.plot.small import Drawn, at_sizes, points_of
from polysched.plot.timed import coordinates
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
    start: Place
    end: Place


@dataclass(frozen=True)
class _Pair:
    arrow: Arrow
    family: tuple[str, str, str, tuple[int, ...]]  # kind, statements, distance: pairs that look alike

    @property
    def is_among(self) -> bool:
        """Does it stay within a panel, or slices of one thing?"""
        return self.arrow.start.group == self.arrow.end.group


Places = Mapping[tuple[str, tuple[int, ...]], Place]  # by statement and iteration


def arrows(
    dependences: Dependences, drawn: Drawn, places: Places, *, few: bool
) -> tuple[tuple[Arrow, ...], tuple[str, ...]]:
    """The arrows between these places, and notes on those that are left out; with `few`, one for each distance."""
    pairs: dict[tuple[Place, Place], _Pair] = {}
    for kind in KINDS:  # an arrow is drawn once, for the first kind there is
        for dependence in dependences.of(kind):
            for pair in _pairs(dependence, drawn, places):
                pairs.setdefault((pair.arrow.start, pair.arrow.end), pair)
    among = [pair for pair in pairs.values() if pair.is_among]
    between = dict.fromkeys(f"{pair.family[1]} to {pair.family[2]}" for pair in pairs.values() if not pair.is_among)
    notes = [f"dependences between panels are not drawn: {', '.join(between)}"] if between else []
    ends = {pair.family[:3] for pair in among}
    guesses = (d for d in dependences.guesses if (d.kind, d.source, d.sink) in ends)
    doubted = ", ".join(dict.fromkeys(f"{d.kind} from {d.source} to {d.sink}" for d in guesses))
    notes += [f"these may be none, which was not decided within their budget: {doubted}"] if doubted else []
    if len(among) <= _ALL and not few:
        return tuple(pair.arrow for pair in among), tuple(notes)
    families: dict[tuple[str, str, str, tuple[int, ...]], list[_Pair]] = {}
    for pair in among:
        families.setdefault(pair.family, []).append(pair)
    chosen = list(families)[:: -(-len(families) // _MOST)] if families else []
    middles = _middles(places)
    kept = tuple(min(families[each], key=lambda pair: _rank(pair.arrow, middles)).arrow for each in chosen)
    if len(kept) < len(families):
        notes.append(f"arrows are drawn for {len(kept)} of {len(families)} distances, one each")
    elif len(kept) < len(among):
        alike = f"for each of {len(families)} distances" if len(families) > 1 else "for all, which have one distance"
        notes.append(f"one arrow is drawn {alike}")
    return kept, tuple(notes)


def _pairs(dependence: Dependence, drawn: Drawn, places: Places) -> Iterator[_Pair]:
    """The pairs of instances of which both have a place."""
    source_part, sink_part = drawn.domains.get(dependence.source), drawn.domains.get(dependence.sink)
    if source_part is None or sink_part is None:
        return
    depth = dependence.relation.dim(isl.dim_type.in_)
    relation = dependence.relation.intersect_domain(source_part).intersect_range(sink_part)
    for point in points_of(at_sizes(relation.wrap().flatten(), drawn.sizes)):
        numbers = coordinates(point)
        source, sink = numbers[:depth], numbers[depth:]
        start, end = places.get((dependence.source, source)), places.get((dependence.sink, sink))
        if start and end:
            distance = tuple(b - a for a, b in zip(source, sink, strict=False))
            family = (dependence.kind, dependence.source, dependence.sink, distance)
            yield _Pair(Arrow(dependence.kind, start, end), family)


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
