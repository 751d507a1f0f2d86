"""Where tiles are: their elements, the box around them that they may use, and the instances that they run.

blocks of 32, 4 steps, S needs one more element a step     [o, p, b] -> S[t, x] : 0 <= t - 4 (2 o + p) < 4
                                                             and 32 b - h <= x < 32 b + 32 + h
                                                           where h = 4 (2 o + p) + 3 - t
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce

from polysched.ir.nodes import Const
from polysched.support import isl
from polysched.transform.edits.values.copies import Box
from polysched.transform.edits.values.time_tiles.halo import Halos
from polysched.transform.edits.values.time_tiles.stencil import Stencil


@dataclass(frozen=True)
class Tiles:
    """Blocks of so many elements along each dimension, with halos, for so many steps: [o, p, b0, ...] is a block in
    time tile 2 o + p, so that those that follow one another differ in p."""

    stencil: Stencil
    halos: Halos
    sizes: tuple[int, ...]
    steps: int

    @cached_property
    def _tile(self) -> str:
        return ", ".join(["o", "p", *(f"b{k}" for k in range(len(self.sizes)))])

    @cached_property
    def _element(self) -> str:
        return ", ".join(f"x{k}" for k in range(len(self.sizes)))

    @cached_property
    def _first(self) -> str:
        return f"{self.steps} * (2 * o + p)"

    @cached_property
    def _time(self) -> isl.Map:
        """{ [tile] -> [t] }"""
        return isl.Map(f"{{ [{self._tile}] -> [t] : 0 <= p <= 1 and 0 <= t - {self._first} < {self.steps} }}")

    @cached_property
    def all(self) -> isl.Set:
        """{ [tile] }: those with elements that are written, at their times."""
        written = reduce(isl.Set.union, (self.stencil.written(a.name).reset_tuple_id() for a in self.stencil.arrays))
        written = written.intersect_params(self.stencil.scop.valid_sizes)
        placed = self._around({}, "").intersect_range(_hull(written)).domain()
        return self._time.intersect_range(_hull(self.stencil.times)).domain().intersect(placed).coalesce()

    @cached_property
    def last(self) -> isl.Set:
        """{ [tile] }: of the last time tile."""
        return self._time.intersect_range(self.stencil.times.lexmax()).domain().intersect(self.all)

    @cached_property
    def last_time(self) -> isl.Set:
        """{ [o, p] }"""
        return self.last.project_out(isl.dim_type.set, 2, len(self.sizes)).coalesce()

    def own(self, array: str) -> isl.Map:
        """{ [tile] -> A[x] }: without a halo."""
        return self._around({}, array).intersect_domain(self.all)

    def near(self, array: str) -> isl.Map:
        """{ [tile] -> A[x] }: all that a tile may use."""
        return self._around(dict(enumerate(self.reaches[array])), array).intersect_domain(self.all)

    def _around(self, reaches: dict[int, tuple[int, int]], array: str) -> isl.Map:
        bounds = []
        for k, size in enumerate(self.sizes):
            low, high = reaches.get(k, (0, 0))
            bounds.append(f"{size} * b{k} - {low} <= x{k} < {size} * b{k} + {size + high}")
        return isl.Map(f"{{ [{self._tile}] -> {array}[{self._element}] : {' and '.join(bounds)} }}")

    def needed(self, statement: str) -> isl.Map:
        """{ [tile] -> S[i] }: what a tile runs of it."""
        bounds = [f"0 <= p <= 1 and 0 <= t - {self._first} < {self.steps}"]
        for k, (size, sides) in enumerate(zip(self.sizes, self.halos.sides, strict=True)):
            below, above = (f"{h.last[statement]} + {h.slope} * ({self._first} + {self.steps - 1} - t)" for h in sides)
            bounds.append(f"{size} * b{k} - ({below}) <= x{k} < {size} * b{k} + {size} + ({above})")
        near = isl.Map(f"{{ [{self._tile}] -> [t, {self._element}] : {' and '.join(bounds)} }}")
        needed = near.apply_range(self.stencil.places[statement].reverse()).intersect_domain(self.all)
        return needed.intersect_range(self.stencil.scop.statement(statement).domain).coalesce()

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """Those of the box."""
        return tuple(size + low + high for size, (low, high) in zip(self.sizes, self._most, strict=True))

    @cached_property
    def box(self) -> Box:
        """All that a tile may use of any of the arrays: one box for all, so that elements have one place in it."""
        corners = (
            isl.PwMultiAff.from_map(isl.Map(f"{{ [{self._tile}] -> [{size} * b{k} - {self._most[k][0]}] }}"))
            for k, size in enumerate(self.sizes)
        )
        axes = tuple(range(len(self.sizes)))
        return Box(axes, tuple(corner.get_pw_aff(0) for corner in corners), tuple(map(Const, self.extents)))

    @cached_property
    def _most(self) -> list[tuple[int, int]]:
        per_axis = zip(*self.reaches.values(), strict=True)
        return [(max(low for low, _ in ends), max(high for _, high in ends)) for ends in per_axis]

    @cached_property
    def reaches(self) -> dict[str, list[tuple[int, int]]]:
        """By array, the elements below and above the tile that it may use."""
        return self.stencil.reaches(self.halos, self.steps)


def _hull(points: isl.Set) -> isl.Set:
    return isl.Set.from_basic_set(points.simple_hull())
