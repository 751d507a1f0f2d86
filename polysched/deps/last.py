"""Who touched an element last: found level by level, from the deepest loop that two accesses share to the outermost.

    for i:                              R reads t, and the last write before it is
        t = 0          W0                   in the same i and j:         none
        for j:                              in the same i, before j:     W1[i, j - 1], or W0[i] where j = 0
            t = t + 1  R, W1                before i:                    nothing is left to answer

What is found on one level comes after all that is further out, so each level looks for the last writes of those reads
alone that have none yet, among the accesses that can come there. So Feautrier bounds his problems (IJPP 1991, section
4.1): one maximum over all levels at once has pieces for each level of each access, and often does not end.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, TypeVar

from polysched.deps.timed import Place, Timed
from polysched.errors import BudgetExceeded
from polysched.support import isl

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Pair:
    """Two accesses of one element, the source first, with nothing in between that hides it."""

    source: Timed
    sink: Timed
    instances: isl.Map  # { source instance -> sink instance }
    is_exact: bool  # False: for some of them, it is not decided whether something comes in between


def last_before(
    sinks: Iterable[Timed],
    sources: Iterable[Timed],
    until: float,
    *,
    hiding: Iterable[Timed] = (),
    within: bool = False,
) -> Iterator[Pair]:
    """The pairs that no other source and none of `hiding` hides; those inside of one instance only if `within`.

    Where isl cannot tell the last time of one access before another, or from the time `until` on, all earlier times
    count for these two.
    """
    sources = list(sources)
    walls = [access for access in (*sources, *hiding) if access.hides]
    on = {array: _Before(array, sources, walls, until) for array in dict.fromkeys(s.array for s in sources)}
    for access in sinks:
        if access.array in on:
            sink = _Sink(access)
            yield from on[access.array].pairs(sink, sink.levels if within else sink.levels[:-1])


class _Sink:
    """An access, for which what comes before is looked for. In its relations `sink` stands for an instance T[j], or for
    [T[j] -> a[x]] where one instance touches many elements."""

    def __init__(self, access: Timed):
        relation, now = access.relation, access.time
        is_one = relation.is_single_valued()
        self.access = access
        self.element = relation if is_one else relation.range_map()  # { sink -> a[x] }
        self.now = now if is_one else relation.domain_map().apply_range(now)  # { sink -> [time] }
        self.nothing = isl.Map.empty(self.now.get_space())
        self.levels = range(len(access.place))
        self._earlier: dict[int, isl.Map] = {}

    def earlier(self, level: int) -> isl.Map:
        """{ sink -> [time] }, the times before its own that agree with it on all levels further out."""
        if level not in self._earlier:
            before = isl.agreeing(isl.Map.universe(self.now.get_space().range().map_from_set()), level)
            before = before.order_gt(isl.dim_type.in_, level, isl.dim_type.out, level)
            self._earlier[level] = self.now.apply_range(before)
        return self._earlier[level]

    def times(self, touches: isl.Map, element: isl.Map, level: int) -> isl.Map:
        """{ sink -> [time] }, those times on the level at which the element is touched."""
        return element.apply_range(touches).intersect(self.earlier(level))


@dataclass
class _Found:
    """What comes last before a sink, and, where that is not decided for some accesses, all that they have."""

    last: dict[int, isl.Map] = field(default_factory=dict)  # { sink -> [time] } by level, of different sinks
    undecided: dict[int, isl.Map] = field(default_factory=dict)  # the same, each with any number of times


class _Before:
    """The accesses of one array that may come last before another one."""

    def __init__(self, array: str, sources: list[Timed], walls: list[Timed], until: float):
        self.sources = [source for source in sources if source.array == array]
        self.walls = [wall for wall in walls if wall.array == array]
        self.until = until
        self._operations = _FEW if any(map(_has_large_strides, self.sources + self.walls)) else _OPERATIONS
        everywhere = range(len(self.sources[0].place))
        self._fixed = [k for k in everywhere if all(source.place[k] is not None for source in self.sources)]
        self._keys = [self.key(source.place) for source in self.sources]
        self._near: dict[tuple[int, Place], list[Timed]] = {}
        self._touches: dict[tuple[int, Place], isl.Map] = {}

    def pairs(self, sink: _Sink, levels: Sequence[int]) -> Iterator[Pair]:
        """Each source on these levels with the sink."""
        found = self.search(sink)
        last = _union(found.last.values(), sink.nothing)
        decided, guessed = (
            self.by_place(by_level[level] for level in levels if level in by_level)
            for by_level in (found.last, found.undecided)
        )
        is_all = bool(decided[None] or guessed[None])
        for source, key in zip(self.sources, self._keys, strict=True):
            if source.hides and not (is_all or key in decided or key in guessed):
                continue
            seen = _union(decided[key] + decided[None], sink.nothing)
            guesses = _union(guessed[key] + guessed[None], sink.nothing)
            if not source.hides:
                times = sink.element.apply_range(source.touches)
                times = _union((times.intersect(sink.earlier(level)) for level in levels), sink.nothing)
                since = self.answer(_since, last, times)
                seen, guesses = (sink.nothing, times) if since is None else (since, sink.nothing)
            elif not guesses.plain_is_empty():
                guesses = self.answer(_since, last, guesses) or guesses
            both = seen.union(guesses)
            if not both.plain_is_empty():
                others = found.undecided.values()
                is_exact = guesses.is_empty() and all(self.answer(_is_never_after, seen, times) for times in others)
                instances = both.domain_factor_domain() if both.domain_is_wrapping() else both
                yield Pair(source, sink.access, source.time.apply_range(instances.reverse()), is_exact)

    def search(self, sink: _Sink) -> _Found:
        """The last times of the walls before the sink: level by level; where that grows too large, as one maximum over
        all levels, and last, level by level and access by access."""
        place = sink.access.place
        levels = []
        for level in reversed(sink.levels):
            if any(_can_be_less(wall.place[level], place[level]) for wall in self.near(place, level)):
                levels.append(level)
        if not levels:
            return _Found()
        found = self.answer(self.by_levels, sink, levels) or self.answer(self.at_once, sink, levels)
        return found or self.by_accesses(sink, levels)

    def by_levels(self, sink: _Sink, levels: list[int]) -> _Found:
        found, element = _Found(), sink.element
        for level in levels:
            last = _later(sink.nothing, sink, self.touches(sink.access.place, level), element, level)
            if last.is_empty():
                continue
            found.last[level] = last
            if level == levels[-1]:
                break
            element = _left(element, last)
            if element.is_empty():
                break
        return found

    def at_once(self, sink: _Sink, levels: list[int]) -> _Found:
        """It may end where a level leaves elements in many small parts."""
        touched = sink.element.apply_range(self.touches(sink.access.place, 0))
        last = touched.intersect(_union(map(sink.earlier, levels), sink.nothing)).coalesce().lexmax()
        return _Found({level: last.intersect(sink.earlier(level)) for level in levels})

    def by_accesses(self, sink: _Sink, levels: list[int]) -> _Found:
        """As far as it can be decided."""
        found, element = _Found(), sink.element
        for level in levels:
            near = self.near(sink.access.place, level)
            last, unknown = sink.nothing, []
            for wall in near:
                later = self.answer(_later, last, sink, wall.touches, element, level)
                if later is None:
                    unknown.append(wall)
                else:
                    last = later
            left = self.answer(_left, element, last)
            if left is None:
                last, unknown, left = sink.nothing, near, element
            if unknown:
                every = self.touches(sink.access.place, level)
                touches = every if len(unknown) == len(near) else reduce(isl.Map.union, (w.touches for w in unknown))
                found.undecided[level] = sink.times(touches, element, level)
            found.last[level], element = last, left
        return found

    def near(self, place: Place, level: int) -> list[Timed]:
        """The walls that may agree with an access at `place` on all levels further out."""
        key = level, place[:level]
        if key not in self._near:
            self._near[key] = [wall for wall in self.walls if all(map(_can_be_equal, wall.place, key[1]))]
        return self._near[key]

    def touches(self, place: Place, level: int) -> isl.Map:
        """{ a[x] -> [time] } of these walls"""
        key = level, place[:level]
        if key not in self._touches:
            self._touches[key] = reduce(isl.Map.union, (wall.touches for wall in self.near(place, level)))
        return self._touches[key]

    def by_place(self, relations: Iterable[isl.Map]) -> defaultdict[Place | None, list[isl.Map]]:
        """The parts of { sink -> [time] } by the `key` of their sources; None for those that may be of any."""
        parts = defaultdict(list)
        for relation in relations:
            for basic in relation.get_basic_maps():
                part = isl.Map.from_basic_map(basic)
                key = self.key(isl.fixed(part))
                parts[None if None in key else key].append(part)
        return parts

    def key(self, place: Place) -> Place:
        """What is constant in the times of all sources."""
        return tuple(place[k] for k in self._fixed)

    def answer(self, question: Callable[..., Answer], *arguments: Any) -> Answer | None:
        """None if it outgrows its budget, comes too late, or fails inside isl, as on some strided unions."""
        if time.monotonic() > self.until:
            return None
        try:
            with isl.within(self.until - time.monotonic(), self._operations):
                return question(*arguments)
        except (isl.Error, BudgetExceeded):
            return None


_OPERATIONS = 2_000_000  # of isl for one question; those of the canonical nests need some hundreds
_FEW = 50_000  # where strides are large: see below


def _has_large_strides(access: Timed) -> bool:
    """Does it step over thousands of elements? From such numbers isl comes to some of 100 000 digits before the two
    million operations are used up, and hears no alarm in an operation on these, which takes seconds."""
    return _LARGE_STRIDE.search(str(access.relation)) is not None


_LARGE_STRIDE = re.compile(r"\b\d{4,}[A-Za-z_(*]|(?:mod |/)\d{4,}")  # isl writes 12544k, (e) mod 12544, floor((e)/9)


def _can_be_equal(one: int | None, other: int | None) -> bool:
    return one is None or other is None or one == other


def _can_be_less(one: int | None, other: int | None) -> bool:
    return one is None or other is None or one < other


def _since(last: isl.Map, times: isl.Map) -> isl.Map:
    """The part of `times` after `last`, or all of them where there is no last time."""
    if last.is_empty():
        return times
    return times.intersect(_after(last)).union(times.subtract_domain(last.domain()))


def _later(last: isl.Map, sink: _Sink, touches: isl.Map, element: isl.Map, level: int) -> isl.Map:
    """The later one of `last` and the last time at which the element is touched on the level."""
    found = sink.times(touches, element, level).coalesce().lexmax().coalesce()
    return found if last.plain_is_empty() else last.union(found).lexmax().coalesce()


def _left(element: isl.Map, last: isl.Map) -> isl.Map:
    """The elements without a last time."""
    return element.subtract_domain(last.domain()).coalesce()


def _is_never_after(seen: isl.Map, others: isl.Map) -> bool:
    return bool(others.intersect(_after(seen)).is_empty())


def _after(times: isl.Map) -> isl.Map:
    """{ sink -> [time] }, all later ones"""
    return times.lex_lt_map(isl.Map.identity(times.get_space().range().map_from_set()))


def _union(relations: Iterable[isl.Map], start: isl.Map) -> isl.Map:
    return reduce(isl.Map.union, relations, start)
