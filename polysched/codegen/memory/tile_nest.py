"""Nests over register tiles, as lowering leaves them: a loop, or a few, directly around unrolled and SIMD ones.

    for k in 0..m:
        for i in i0..min(n, i0 + 4) (unrolled):         start i0, 4 trips when full
            for j in j0..min(n, j0 + 8) (vector):       start j0, 8 trips when full
                C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from polysched.codegen.lowered import is_flat, is_mapped
from polysched.config.heuristics.code import TILE_LOOP
from polysched.ir.effects import may_change
from polysched.ir.integers.linear import Linear, added, constant_of, forms
from polysched.ir.node import variables
from polysched.ir.nodes import For, Let, Stmt, Var


@dataclass(frozen=True)
class Side:
    """A loop of the tile: it runs over `start`, `start` + 1, ..., `trips` iterations when the tile is full."""

    loop: For
    start: Linear
    trips: int

    @property
    def var(self) -> Var:
        return Var(self.loop.var)


@dataclass(frozen=True)
class TileNest:
    """A loop around a tile, and what the innermost loop of the tile runs."""

    loop: For
    sides: tuple[Side, ...]
    body: tuple[Stmt, ...]
    around: tuple[For, ...] = ()  # loops directly around `loop`, outermost first

    @property
    def own_names(self) -> set[str]:
        """What has another value in each iteration: means nothing outside."""
        lets = {stmt.name for stmt in self.body if isinstance(stmt, Let)}
        return {*(loop.var for loop in (*self.around, self.loop)), *(side.loop.var for side in self.sides), *lets}


def tile_nest(loop: For, *, may_move: bool = False) -> TileNest | None:
    """`loop` as a loop around a tile, if it is directly around unrolled loops.

    Where the tile starts may change with `loop` if it `may_move` and has no SIMD loop, which is better the nest itself.
    """
    loops: list[For] = [loop]
    sides: list[Side] = []
    body = loop.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind in ("unrolled", "vector"):
        side = side_of(body[0], [around.var for around in loops if around is not loop or not may_move])
        if side is None:
            return None
        loops.append(body[0])
        sides.append(side)
        body = body[0].body
    if any(mentions(side.start, [loop.var]) for side in sides) and any(side.loop.kind == "vector" for side in sides):
        return None
    moves = may_change(*(bound for each in loops for bound in (each.lo, each.hi)))
    reduces = any(each.reduces for each in loops)  # by name, which elements in registers do not have
    is_unrolled = any(side.loop.kind == "unrolled" for side in sides)
    if is_mapped(loop) or loop.step != 1 or moves or reduces or not is_flat(loops[-1]) or not is_unrolled:
        return None
    return TileNest(loop, tuple(sides), body)


def side_of(loop: For, around: Collection[str], most: int = TILE_LOOP) -> Side | None:
    """The loop as a side of a tile, if a lower and an upper bound are always as far from each other, at most `most`,
    and stay in the loops `around`."""
    choices = []
    for low, high in product(forms(loop.lo, upper=False), forms(loop.hi, upper=True)):
        span = constant_of(added(high, low, -1))
        if span is not None and 1 <= span <= most and not mentions(low, around):
            choices.append((span, low))
    if not choices or loop.step != 1:
        return None
    trips, start = min(choices, key=lambda choice: choice[0])
    return Side(loop, start, trips)


def full_when(sides: Sequence[Side]) -> Iterator[Linear]:
    """Forms that are zero or more where the tile is full."""
    for side in sides:
        for low in forms(side.loop.lo, upper=False):
            yield added(side.start, low, -1)
        end = added(side.start, {None: side.trips}, 1)
        for high in forms(side.loop.hi, upper=True):
            yield added(high, end, -1)


def least(form: Linear, sides: Sequence[Side]) -> Linear | None:
    """The least value of the form over all of the sides, outer ones first; None if it is not linear in them."""
    for side in reversed(sides):
        if factor := form.get(side.var, 0):
            form = moved(form, side, {None: min(0, factor * (side.trips - 1))})
    return None if mentions(form, [side.loop.var for side in sides]) else form


def moved(form: Linear, side: Side, offset: Linear) -> Linear:
    """The form with the side's variable replaced by its start, and `offset` added."""
    rest = {atom: factor for atom, factor in form.items() if atom != side.var}
    return added(added(rest, side.start, form[side.var]), offset, 1)


def mentions(form: Linear, names: Collection[str]) -> bool:
    return not variables(tuple(atom for atom, factor in form.items() if atom and factor)).isdisjoint(names)
