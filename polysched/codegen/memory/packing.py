"""Packing: what a register tile reads with large strides is copied to a small array first, once for many tiles
(Goto and van de Geijn, TOMS 2008, section 4).

    for i0 in 0..n by 8:                                A_: f64[256, 24]
        for k in k0..min(m, k0 + 256):                  A_[k - k0, j - j0] = A[j, k]            for all
            for i in i0.. (unrolled):           ->      for i0 in 0..n by 8:
                for j in j0.. (vector):                     ...
                    C[i, j] += A[i, k] * A[j, k]                    C[i, j] += A[i, k] * A_[k - k0, j - j0]

Needs: names are bound once, steps are positive; subscripts are not linearized yet; before `register_tiles`.
Keeps: every value. An array that the tiles change is packed only if no element of what they read is among what they
write, which the bounds of the loops must show. A copy takes only what lies inside the array: bounds that hold for all
tiles, and starts of full ones, may reach beyond it. The other elements of a copy have no value, and are never read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polysched.codegen.lowered import moved, private
from polysched.codegen.memory.surrounded import Surrounded
from polysched.codegen.memory.tile_nest import Side, TileNest, mentions, tile_nest
from polysched.config.heuristics.cpu import LONGEST_PACKED
from polysched.ir.build import binary, conjunction, sub
from polysched.ir.effects import may_change
from polysched.ir.integers.apart import are_apart, least_value
from polysched.ir.integers.linear import expression, forms
from polysched.ir.integers.trips import bounded, most_trips
from polysched.ir.node import map_children, statements, substitute, walk
from polysched.ir.nodes import PARALLEL, Alloc, Array, Const, Expr, For, Function, If, Load, Stmt, Store, Var
from polysched.ir.rename import fresh_names, used_names


def pack(fn: Function) -> Function:
    """`fn` with a copy of each array that a SIMD loop of a register tile steps through with large strides."""
    return map_children(fn, _Packer(fn).visit)


class _Packer(Surrounded):
    def __init__(self, fn: Function):
        super().__init__()
        self.extents = {array.name: array.shape for array in fn.arrays}
        self.taken = used_names(fn)
        self.variables = fresh_names("p", self.taken)

    def replacing(self, loop: For) -> Any | None:
        match loop:
            case For(step=1, body=(For() as inner,), kind=kind) if kind in ("serial", *PARALLEL):
                nest = tile_nest(inner)
                return None if nest is None else self.packed(loop, nest)
        return None

    def packed(self, tiles: For, nest: TileNest) -> Any:
        """The loop over tiles, behind the copies that it reads."""
        copies: list[Stmt] = []
        for load in dict.fromkeys(node for node in walk(nest.body) if isinstance(node, Load)):
            lanes = _lanes(load, nest, tiles)
            span = self.span(tiles, nest.loop, load)
            if lanes is None or span is None or not self.stays(load, tiles, nest):
                continue
            first, end, most = span
            copy = private(load.array, load.dtype, (Const(most), Const(lanes.trips)), self.taken)
            origin = {nest.loop.var: first, lanes.loop.var: expression(lanes.start)}
            copies += [Alloc(copy), self.filled(copy, load, origin, end, tiles)]
            index = tuple(sub(Var(name), start) for name, start in origin.items())
            tiles = moved(tiles, {(load.array, load.index): (copy.name, index)})
        return (*copies, tiles) if copies else tiles

    def span(self, tiles: For, loop: For, load: Load) -> tuple[Expr, Expr, int] | None:
        """The range of the loop around a tile for all `tiles`, and how long it is at most."""
        first = bounded(loop.lo, {tiles.var: tiles}, upper=False)
        end = bounded(loop.hi, {tiles.var: tiles}, upper=True)
        if first is None or end is None or load.array not in self.extents:
            return None
        first = self.from_zero(first)
        most = most_trips(first, end, 1)
        return None if most is None or most > LONGEST_PACKED else (first, end, most)

    def from_zero(self, expr: Expr) -> Expr:
        """The expression, which stays as it is if it is never below zero."""
        loops = _known(self.loops)
        leasts = [least_value(form, loops, self.facts) for form in forms(expr, upper=False)]
        return expr if any(least is not None and least >= 0 for least in leasts) else binary("max", expr, 0)

    def stays(self, load: Load, tiles: For, nest: TileNest) -> bool:
        """Does no iteration of the tiles write what another one, or itself, loads?"""
        inner = {loop.var: loop for loop in (tiles, nest.loop, *(side.loop for side in nest.sides))}
        again: dict[str, Expr] = {name: Var(f"{name}'") for name in inner}
        others = {
            f"{name}'": replace(loop, lo=substitute(loop.lo, again), hi=substitute(loop.hi, again))
            for name, loop in inner.items()
        }
        loops, loaded = _known({**self.loops, **inner, **others}), substitute(load.index, again)
        stores = [node for node in statements(nest.body) if isinstance(node, Store) and node.array == load.array]
        return all(are_apart(store.index, loaded, loops, self.facts) for store in stores)

    def filled(self, copy: Array, load: Load, origin: Mapping[str, Expr], end: Expr, tiles: For) -> Stmt:
        """Loops that fill the copy, whose first element is at `origin`, with what lies inside the array."""
        (loop, first), (lane, start) = origin.items()
        names = dict(zip(origin, self.variables, strict=False))
        own: dict[str, Expr] = {name: Var(new) for name, new in names.items()}
        ends = {Var(loop): end, Var(lane): binary("+", start, copy.shape[1])}
        inside = [binary("<", tiles.lo, tiles.hi)]
        for part, extent in zip(load.index, self.extents[load.array], strict=True):
            if part in ends:
                ends[part] = binary("min", ends[part], extent)
            else:
                inside += [binary("<=", 0, part), binary("<", part, extent)]
        target = tuple(sub(own[name], at) for name, at in origin.items())
        store = Store(copy.name, target, substitute(load, own))
        rows = For(names[loop], first, ends[Var(loop)], 1, (store,))
        columns = For(names[lane], self.from_zero(start), ends[Var(lane)], 1, (rows,))
        return If(conjunction(inside), (columns,))


def _lanes(load: Load, nest: TileNest, tiles: For) -> Side | None:
    """The SIMD side that the load steps along in another dimension than the last; None if it has none, or changes with
    the tiles, other sides or in another way."""
    lanes = nest.sides[-1]
    if lanes.loop.kind != "vector" or len(load.index) < 2 or mentions(lanes.start, [tiles.var]):
        return None
    simple = [lanes.var, Var(nest.loop.var)]
    others = {*nest.own_names, tiles.var}
    for part in load.index:
        if part not in simple and (may_change(part) or any(getattr(n, "name", "") in others for n in walk(part))):
            return None
    is_far = load.index.count(lanes.var) == 1 and load.index[-1] != lanes.var
    return lanes if is_far and load.index.count(Var(nest.loop.var)) == 1 else None


def _known(loops: Mapping[str, For]) -> dict[str, For]:
    """Those of the loops whose bounds are the same when they are evaluated again."""
    return {name: loop for name, loop in loops.items() if not (may_change(loop.lo) or may_change(loop.hi))}
