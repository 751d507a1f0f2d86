"""When a tile is full, so that its elements stay in registers: on what conditions, and in which part of its loop.

    for k in 0..m:                                    i0 + 4 <= n && j0 + 8 <= n      always
        for i in i0..min(n, i0 + 4) (unrolled):       k from 0 to m                   lows, highs: none
            for j in j0..min(n, j0 + 8) (vector):     C[i, j]                         kept
                C[i, j] = C[i, j] + A[i, k] * B[k, j]

Where fullness depends on k, as in triangles, it is full from the greatest of `lows` to the least of `highs`. So it is
where an element that is kept is read under another subscript.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, replace

from polysched.codegen.memory.tile_nest import TileNest, full_when, least, mentions
from polysched.ir.build import binary, conjunction, floordiv
from polysched.ir.effects import may_change
from polysched.ir.integers.linear import Linear, added, constant_of, expression, forms, never_negative
from polysched.ir.node import variables, walk
from polysched.ir.nodes import Expr, For, Load, Select, Store, Var

Elements = dict[str, tuple[Expr, ...]]  # by their arrays: the subscripts


@dataclass(frozen=True)
class FullPart:
    """Of a nest: the conditions and the range of its loop in which the tile is full, and what registers then hold."""

    always: list[Expr]
    lows: list[Expr]
    highs: list[Expr]
    kept: Elements = field(default_factory=dict)

    def ends(self, loop: For, first: Var) -> tuple[Expr, Expr]:
        """Where the part of the loop begins, and where it ends if `first` is its begin; it is empty if it is none."""
        clipped = binary("min", binary("max", loop.lo, *self.lows), loop.hi)
        begin = Select(conjunction(self.always), clipped, loop.hi) if self.always else clipped
        return begin, binary("max", binary("min", loop.hi, *self.highs), first)


def full_part(nest: TileNest) -> FullPart | None:
    """Where the tile of the nest is full; None if that is not for linear conditions to tell."""
    stored = _stored(nest)
    kept = {name: index for name, index in stored.items() if _fits_registers(index, nest)}
    found = list(full_when(nest.sides))
    for name, index in list(kept.items()):
        apart = _apart(name, index, nest, found)
        if apart is None:
            del kept[name]
        else:
            found += apart
    worst = [form for condition in found if (form := least(condition, nest.sides)) is not None]
    full = part_of(nest.loop.var, worst, nest.own_names) if len(worst) == len(found) else None
    if full is None or (nest.around and not (kept == stored and _stands(nest, full))):
        return None
    updated = {name: index for name, index in stored.items() if _is_updated(name, index, nest)}
    return replace(full, kept=kept | updated)


def _stands(nest: TileNest, full: FullPart) -> bool:
    """Is the tile full in all of the loops around it or in none, and do they run alike?"""
    bounds = tuple(bound for each in (*nest.around, nest.loop) for bound in (each.lo, each.hi))
    is_fixed = not may_change(*bounds) and variables(bounds).isdisjoint(nest.own_names)
    return is_fixed and not full.lows and not full.highs


def part_of(var: str, conditions: list[Linear], own: Set[str]) -> FullPart | None:
    """What the conditions, forms that are zero or more, say outside of the loop over `var` and about it; None if one is
    not linear in it, or has other names that are its `own`."""
    always: list[Expr] = []
    lows: list[Expr] = []
    highs: list[Expr] = []
    key = Var(var)
    for form in conditions:
        factor = form.get(key, 0)
        rest = {atom: f for atom, f in form.items() if atom != key}
        if mentions(rest, own):
            return None
        constant = constant_of(rest)
        if factor > 0:  # from ceil(-rest / factor) on
            lows.append(floordiv(expression(added({None: factor - 1}, rest, -1)), factor))
        elif factor < 0:  # to floor(rest / -factor)
            highs.append(floordiv(expression(added(rest, {None: -factor}, 1)), -factor))
        elif constant is None:
            always.append(never_negative(rest))
        elif constant < 0:
            return None
    always, lows, highs = (list(dict.fromkeys(part)) for part in (always, lows, highs))
    return FullPart(always, lows, highs)


def _stored(nest: TileNest) -> Elements:
    """The arrays that the tile stores to at one subscript each, and that."""
    stores: dict[str, set[tuple[Expr, ...]]] = {}
    for stmt in nest.body:
        if isinstance(stmt, Store):
            stores.setdefault(stmt.array, set()).add(stmt.index)
    return {name: next(iter(found)) for name, found in stores.items() if len(found) == 1}


def _fits_registers(index: tuple[Expr, ...], nest: TileNest) -> bool:
    """Is it a different element in each iteration of the tile, or in none, and the same in all of the loop?"""
    if not index:
        return False
    seen: list[str] = []
    loops = {loop.var for loop in (*nest.around, nest.loop)}
    fixed = {side.loop.var for side in nest.sides if not mentions(side.start, loops)}
    for part in index:
        variables = [node.name for node in walk(part) if isinstance(node, Var) and node.name in nest.own_names]
        if any(isinstance(node, Load) for node in walk(part)) or loops & {*variables} or len(variables) > 1:
            return False
        if variables:
            (form, *others) = forms(part, upper=True)
            if others or not form.get(Var(variables[0]), 0):
                return False
        seen += variables
    return len(seen) == len(set(seen)) and set(seen) <= fixed


def _is_updated(name: str, index: tuple[Expr, ...], nest: TileNest) -> bool:
    """Does each iteration of the loop update one element several times, and use no other of the array?"""
    is_one = {n.index for n in walk(nest.body) if isinstance(n, Load | Store) and n.array == name} == {index}
    changing = variables(index) & nest.own_names
    return is_one and changing == {nest.loop.var} and not any(isinstance(n, Load) for n in walk(index))


def _apart(name: str, index: tuple[Expr, ...], nest: TileNest, found: list[Linear]) -> list[Linear] | None:
    """Conditions under which other subscripts of the array meet no element of the tile; None if none are found."""
    conditions: list[Linear] = []
    others = {node.index for node in walk(nest.body) if isinstance(node, Load) and node.array == name} - {index}
    key = Var(nest.loop.var)
    falls = any(form.get(key, 0) < 0 for form in found)
    rises = any(form.get(key, 0) > 0 for form in found)
    for other in sorted(others, key=str):
        choices = []
        for own, part in zip(index, other, strict=True):
            left, right = forms(own, upper=True), forms(part, upper=True)
            if len(left) != 1 or len(right) != 1:
                continue
            distance = added(left[0], right[0], -1)  # own - other
            if abs(distance.get(key, 0)) != 1 or mentions(added(right[0], {key: right[0][key]}, -1), nest.own_names):
                continue
            is_below = falls or not rises
            choices.append(added(distance if is_below else added({}, distance, -1), {None: -1}, 1))
        if not choices:
            return None
        conditions.append(choices[0])
    return conditions
