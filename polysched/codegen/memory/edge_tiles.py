"""Partial tiles as full ones that end where their loops do: what is computed twice is not stored.

    for k in 0..m:                                    i1 = min(i0, n - 4), if n >= 4
        for i in i0..min(n, i0 + 4):          ->      C_0[i - i1] = C[i]                 i in i0..min(n, i0 + 4)
            C[i] = C[i] + A[i, k]                     for k in 0..m:
                                                          C_0[r] = C_0[r] + A[i1 + r, k]       r in 0..4
                                                      C[i] = C_0[i - i1]                 i in i0..min(n, i0 + 4)

So an edge runs as fast as a whole tile. It reads elements that the tile before it reads, where nothing stores to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace

from polysched.codegen.memory.full_part import Elements
from polysched.codegen.memory.tile_nest import Side, TileNest, mentions
from polysched.ir.build import binary
from polysched.ir.effects import may_be_dropped
from polysched.ir.integers.linear import Linear, added, expression, forms, never_negative
from polysched.ir.node import variables, walk
from polysched.ir.nodes import Expr, Let, Load, Store, Var


@dataclass(frozen=True)
class Edge:
    """Where a tile begins so that it is whole, and when it may."""

    begins: tuple[Let, ...]
    conditions: tuple[Expr, ...]
    sides: tuple[Side, ...]


def edge_tile(nest: TileNest, kept: Elements, stored: Set[str], names: Iterator[str]) -> Edge | None:
    """The tile at the end of its loops, with registers for the elements `kept`; None if it may read elsewhere what is
    `stored` or not in bounds, or trap, or has no lanes."""
    reads = _reads(nest, kept, stored) if _is_kept(nest, kept) else None
    bounds = tuple(bound for side in nest.sides for bound in (side.loop.lo, side.loop.hi))
    if reads is None or variables(bounds) & nest.own_names:  # loops of the nest that move the ends of others
        return None
    begins = {side.loop.var: Var(next(names)) for side in nest.sides}
    conditions = [never_negative(added(rest, {begins[name]: 1}, 1)) for name, rest in reads]
    for side in nest.sides:
        begin: Linear = {begins[side.loop.var]: 1}
        lows = [low for low in forms(side.loop.lo, upper=False) if low != side.start]
        conditions += [never_negative(added(begin, low, -1)) for low in lows]
        conditions.append(binary("<", side.loop.lo, side.loop.hi))
    return Edge(
        tuple(Let(begins[side.loop.var].name, _last_begin(side)) for side in nest.sides),
        tuple(dict.fromkeys(conditions)),
        tuple(replace(side, start={begins[side.loop.var]: 1}) for side in nest.sides),
    )


def _is_kept(nest: TileNest, kept: Elements) -> bool:
    """Does the tile store to elements in registers alone, each of its iterations to others, what any could compute?"""
    counters = {side.loop.var for side in nest.sides}
    has_lanes = any(side.loop.kind == "vector" for side in nest.sides)
    for stmt in nest.body:
        if not isinstance(stmt, Store) or kept.get(stmt.array) != stmt.index or not may_be_dropped(stmt.value):
            return False
    return has_lanes and not nest.around and all(counters <= variables(index) for index in kept.values())


def _last_begin(side: Side) -> Expr:
    """Where a whole tile begins that ends no later than the loop."""
    ends = (expression(added(high, {None: side.trips}, -1)) for high in forms(side.loop.hi, upper=True))
    return binary("min", *ends)


def _reads(nest: TileNest, kept: Elements, stored: Set[str]) -> list[tuple[str, Linear]] | None:
    """The subscripts that move with a loop of the tile: its variable, and what is added to it; None if one is not of
    this form, or of what is stored."""
    counters, found = {side.loop.var for side in nest.sides}, list[tuple[str, Linear]]()
    for node in walk(nest.body):
        if not isinstance(node, Load) or kept.get(node.array) == node.index:
            continue
        if node.array in stored:
            return None
        for part in node.index:
            moved = variables(part) & counters
            if len(moved) > 1:
                return None
            for name in moved:
                form, *others = forms(part, upper=True)
                rest = {atom: factor for atom, factor in form.items() if atom != Var(name)}
                if others or form.get(Var(name)) != 1 or mentions(rest, nest.own_names):
                    return None
                found.append((name, rest))
    return found
