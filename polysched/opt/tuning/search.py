"""Which points to measure next: some near the best of those measured, some near the default, the most promising first.

    search = Search(space, Random(0))
    points = search.drawn(24)                     to be placed and judged
    points = search.drawn(24, promising)          near those of them that seem to be fast
    chosen = search.chosen(judged, 6)             to be built and timed, of (ratio, candidate)
    search.learn(candidate, 1.12)                 what came of one

An evolutionary search as of Ansor (Zheng et al., *Ansor: generating high-performance tensor programs*, OSDI 2020):
points live for some generations by what a model says of them, before any is measured. Nothing depends on time but what
it is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from random import Random

from polysched.config.heuristics.tuning import CROSSED, EXPLORED, FRESH, PARENTS, PROMISING
from polysched.opt.tuning.build import Candidate
from polysched.schedule.space import Point, Space
from polysched.strategy.decision import Value


@dataclass
class Search:
    """The state of a search; two with the same space and seed that are told the same draw the same."""

    space: Space
    random: Random
    parents: list[tuple[float, Candidate]] = field(default_factory=list)  # with their ratios, the best first
    tried: set[frozenset[tuple[str, Value]]] = field(default_factory=set)  # the answers of points

    def learn(self, candidate: Candidate, ratio: float) -> None:
        """The kernel of the candidate is so many times as fast as the default."""
        self.parents.append((ratio, candidate))
        self.parents.sort(key=lambda known: -known[0])
        del self.parents[PARENTS:]

    def drawn(self, count: int, promising: Sequence[Candidate] = ()) -> list[Point]:
        """Points that were not tried, up to so many: fewer where there are hardly any more. Those that are `promising`
        are parents as the best ones measured are."""
        found = {frozenset(point.answers): point for point in (self._one(promising) for _ in range(count))}
        return [point for point in found.values() if not self.is_tried(point)]

    def is_tried(self, point: Point) -> bool:
        return frozenset(point.answers) in self.tried

    def try_once(self, point: Point) -> bool:
        """Notes that the point is tried; was it not before?"""
        is_new = not self.is_tried(point)
        self.tried.add(frozenset(point.answers))
        return is_new

    def _one(self, promising: Sequence[Candidate]) -> Point:
        if not self.parents or self.random.random() < FRESH:
            return self.space.draw(self.random)
        parent = self._parent(promising)
        if self.random.random() < CROSSED:
            return _crossed(parent.point, self._parent(promising).point, self.random)
        return self.space.changed(parent.point, parent.decisions, self.random)

    def _parent(self, promising: Sequence[Candidate]) -> Candidate:
        if promising and self.random.random() < PROMISING:
            return self.random.choice(promising)
        ranks = (self.random.randrange(len(self.parents)) for _ in range(2))
        return self.parents[min(ranks)][1]

    def chosen(self, judged: Sequence[tuple[float | None, Candidate]], count: int) -> list[Candidate]:
        """Those that are thought to be fastest, of which nothing is known last; and some of the others by chance."""
        ranked = [each for _, each in sorted(judged, key=lambda one: inf if one[0] is None else -one[0])]
        best = ranked[: count - sum(self.random.random() < EXPLORED for _ in range(count))]
        rest = ranked[len(best) :]
        return [*best, *self.random.sample(rest, min(len(rest), count - len(best)))]


def _crossed(one: Point, other: Point, random: Random) -> Point:
    """Of each decision what one of the two says, which may be nothing."""
    mine, theirs = dict(one.answers), dict(other.answers)
    keys = dict.fromkeys((*mine, *theirs))
    sides = {key: random.choice((mine, theirs)) for key in keys}
    return Point(tuple((key, answers[key]) for key, answers in sides.items() if key in answers))
