"""What a block of threads reads of an array: a box of constant size, at a place that the loops around tell.

    for t in 16 * b..16 * b + 16 (thread.x):
        for k in 8 * c..8 * c + 8:                  A[t, k - 1], A[t, k + 1]: 16 x 10 elements from 16 * b, 8 * c - 1
            S = S + A[t, k - 1] * A[t, k + 1]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from polysched.codegen.memory.tile_nest import Side, least, moved
from polysched.ir.integers.linear import Linear, added, constant_of, forms
from polysched.ir.node import walk
from polysched.ir.nodes import Expr, Load


@dataclass(frozen=True)
class Box:
    """`extents` elements of an array, from `origin`, for each dimension."""

    origin: tuple[Linear, ...]
    extents: tuple[int, ...]

    @property
    def volume(self) -> int:
        return prod(self.extents)


def footprint(index: tuple[Expr, ...], sides: Sequence[Side]) -> Box | None:
    """The box that subscripts run through along `sides`, outer ones first; None if they are not linear in these."""
    origin, extents = [], []
    for part in index:
        found = forms(part, upper=True)
        if len(found) != 1 or any(isinstance(node, Load) for node in walk(part)):
            return None
        first, last = least(found[0], sides), least(added({}, found[0], -1), sides)
        if first is None or last is None:
            return None
        origin.append(first)
        extents.append(1 - added(first, last, 1).get(None, 0))
    return Box(tuple(origin), tuple(extents))


def in_locals(form: Linear, sides: Sequence[Side], counters: Mapping[str, Expr]) -> Linear:
    """The form with each side's variable as its start and a counter from there."""
    for side in reversed(sides):
        if factor := form.get(side.var, 0):
            form = moved(form, side, {counters[side.loop.var]: factor})
    return form


def union(one: Box, other: Box) -> Box | None:
    """The box around both; None if no constant tells how far they are from each other."""
    origin, extents = [], []
    for a, b, long, wide in zip(one.origin, other.origin, one.extents, other.extents, strict=True):
        step = constant_of(added(b, a, -1))
        if step is None:
            return None
        origin.append(a if step >= 0 else b)
        extents.append(max(long, step + wide) if step >= 0 else max(wide, long - step))
    return replace(one, origin=tuple(origin), extents=tuple(extents))
