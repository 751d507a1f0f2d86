"""What time tiles of a stencil cost: the time of one step of one element, as the slowest of memory, shared memory and
instructions tells it, for each size of tiles.

    jacobi-2d, f32, boxes of 64 x 64, 4 steps of two sweeps:   1.39 bytes a sweep for 8 without, 1.3 times the work
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from polysched.config.heuristics import stencils as rules
from polysched.config.target import LIMITS
from polysched.ir.node import walk
from polysched.ir.nodes import Binary, Call
from polysched.model.scop import Statement
from polysched.transform.edits.values.time_tiles.halo import Halos
from polysched.transform.edits.values.time_tiles.stencil import Stencil


@dataclass(frozen=True)
class Choice:
    """Tiles of these sizes, and what they are predicted to take, in seconds for a step of an element."""

    sizes: tuple[int, ...]
    steps: int
    rows: int
    seconds: float


@dataclass(frozen=True)
class Prices:
    """Of the tiles that a stencil may have, with these halos."""

    stencil: Stencil
    halos: Halos
    room: int  # bytes of shared memory of a block

    @cached_property
    def best(self) -> Choice | None:
        """The one of most steps that is about as fast as the fastest; None if it does not gain, or no element needs a
        neighbor: then threads keep theirs through all steps."""
        if not any(side.slope for sides in self.halos.sides for side in sides):
            return None
        found = [each for each in self._choices if each.seconds * rules.TIME_TILE_GAIN <= self.untiled]
        most = min((each.seconds for each in found), default=0.0) * rules.TIME_TILE_SLACK
        return min((each for each in found if each.seconds <= most), key=lambda c: (-c.steps, c.seconds), default=None)

    def fastest(self, steps: int) -> Choice | None:
        """The fastest of so many steps, whether it gains or not; None if no tile has them."""
        return min((each for each in self._choices if each.steps == steps), key=lambda c: c.seconds, default=None)

    @cached_property
    def untiled(self) -> float:
        """The time of a step of an element where each statement reads and writes whole arrays."""
        return self.untiled_bytes / rules.DRAM_BYTES

    @property
    def untiled_bytes(self) -> int:
        moved = sum(len({access.array for access in s.accesses if self._is_wide(access.array)}) for s in self._all)
        updates = sum(any(read.array == s.writes[0].array for read in s.reads) for s in self._all)
        return (moved + updates) * self._bytes

    def bytes_of(self, sizes: Sequence[int], steps: int) -> float:
        """Of memory, for a step of an element: what tiles load of kept arrays, halos included, and store; and what each
        step reads of others."""
        read = sum(others * self._points(name, sizes, steps) for name, others in self._read)
        return (self._copied(sizes, steps) + read) * self._bytes

    def redundant(self, sizes: Sequence[int], steps: int) -> float:
        """The share of what a full tile computes that others compute, too."""
        return self.halos.redundant(self._names, sizes, steps)

    def sized(self, sizes: Sequence[int], steps: int) -> tuple[int, ...]:
        """The extents of the box."""
        return tuple(size + around for size, around in zip(sizes, self._margins[steps], strict=True))

    @cached_property
    def _margins(self) -> dict[int, tuple[int, ...]]:
        """By how much boxes are longer than tiles, by the number of steps."""
        return {steps: tuple(self._margin(steps)) for steps in rules.TIME_STEPS}

    def _margin(self, steps: int) -> Iterator[int]:
        for ends in zip(*self.stencil.reaches(self.halos, steps).values(), strict=True):
            yield max(low for low, _ in ends) + max(high for _, high in ends)

    @cached_property
    def _choices(self) -> tuple[Choice, ...]:
        return tuple(self._each_choice())

    def _each_choice(self) -> Iterator[Choice]:
        dims = self.stencil.dims
        boxes, rows = _boxes(dims)
        for steps in rules.TIME_STEPS:
            for box in boxes:
                sizes = tuple(extent - less for extent, less in zip(box, self._margins[steps], strict=True))
                fits = min(sizes) > 0 and prod(box) * self._bytes * len(self.stencil.arrays) <= self.room
                if fits and self.redundant(sizes, steps) <= rules.REDUNDANT:
                    yield Choice(sizes, steps, rows, self.seconds(sizes, steps, rows))

    def seconds(self, sizes: Sequence[int], steps: int, rows: int) -> float:
        """The predicted time of a step of an element."""
        copied = self._copied(sizes, steps)
        words, issued = copied * self._words, copied * rules.ADDRESSING
        for name, accesses, operations in self._work[rows]:
            points = self._points(name, sizes, steps)
            words += points * accesses * self._words
            issued += points * (accesses + operations + rules.ADDRESSING)
        return max(self.bytes_of(sizes, steps) / rules.DRAM_BYTES, words / rules.SHARED_WORDS, issued / rules.ISSUED)

    @cached_property
    def _work(self) -> dict[int, list[tuple[str, float, int]]]:
        """By the rows of a strip, of each statement its accesses to shared memory and its operations, for a point."""
        return {
            rows: [(s.name, self._accesses(s, rows), _operations(s)) for s in self._all] for rows in (1, rules.STRIP)
        }

    def _accesses(self, statement: Statement, rows: int) -> float:
        """To shared memory, for a point: what the rows of a strip read alike counts once."""
        found = dict[tuple[object, ...], list[tuple[int, int]]]()
        for array, is_write, ((low, high), *others) in self.stencil.offsets(statement):
            found.setdefault((array, is_write, *others), []).append((low, high))
        spans = (max(h for _, h in ends) - min(low for low, _ in ends) for ends in found.values())
        return sum(min(len(ends), (span + rows) / rows) for span, ends in zip(spans, found.values(), strict=True))

    def _points(self, statement: str, sizes: Sequence[int], steps: int) -> float:
        """How often tiles run it for a step of an element."""
        every = sum(self.halos.points(statement, sizes, before) for before in range(steps))
        return every / (prod(sizes) * steps)

    @cached_property
    def _read(self) -> list[tuple[str, int]]:
        """Of each statement that reads some, how many other arrays."""
        return [(s.name, others) for s in self._all if (others := self._others(s))]

    def _others(self, statement: Statement) -> int:
        """The arrays that it reads, and nothing in the loop writes, with an element for each point."""
        return len({read.array for read in statement.reads if self._is_wide(read.array)} - {*self._arrays})

    def _copied(self, sizes: Sequence[int], steps: int) -> float:
        """Elements that tiles load and store, for a step of one."""
        kept = sum(map(self.stencil.is_kept, self._arrays))
        return kept * (prod(self.sized(sizes, steps)) + prod(sizes)) / (prod(sizes) * steps)

    def _is_wide(self, array: str) -> bool:
        return any(len(each.shape) >= self.stencil.dims for each in self.stencil.scop.arrays if each.name == array)

    @cached_property
    def _all(self) -> list[Statement]:
        """Statements that run for each element; others are few."""
        return [s for s in self.stencil.statements if self.stencil.is_whole(s)]

    @cached_property
    def _names(self) -> list[str]:
        return [s.name for s in self._all]

    @property
    def _arrays(self) -> list[str]:
        return [array.name for array in self.stencil.arrays]

    @cached_property
    def _bytes(self) -> int:
        return max(array.dtype.bits for array in self.stencil.arrays) // 8

    @property
    def _words(self) -> float:
        return self._bytes * LIMITS.warp / LIMITS.banks


def _boxes(dims: int) -> tuple[list[tuple[int, ...]], int]:
    """The extents of boxes that blocks have threads for, and the rows of a thread."""
    if dims == 1:
        return [(line,) for line in rules.LINES], 1
    strips = [count * rules.STRIP for count in rules.STRIPS]
    middle = [()] if dims == 2 else [(plane,) for plane in rules.PLANES]
    sides = ((strip, *m, column) for strip, m, column in product(strips, middle, rules.COLUMNS))
    return [box for box in sides if prod(box) // rules.STRIP <= rules.TILE_THREADS], rules.STRIP


def _operations(statement: Statement) -> int:
    return sum(isinstance(node, Binary | Call) for s in statement.body for node in walk(getattr(s, "value", s)))
