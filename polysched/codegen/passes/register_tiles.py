"""Full register tiles apart from partial ones, and what stays in registers meanwhile.

    for k in 0..m:                                    if i0 + 4 <= n && j0 + 8 <= n && 0 < m:
        for i in i0..min(n, i0 + 4) (unrolled):           acc: f64[4, 8]
            for j in j0..min(n, j0 + 8) (vector):         acc[i, j] = C[i0 + i, j0 + j]                   for all i, j
                C[i, j] = C[i, j] + A[i, k] * B[k, j]     for k in 0..m:
                                                  ->          acc[i, j] = acc[i, j] + A[..] * B[..]       for all i, j
                                                          C[i0 + i, j0 + j] = acc[i, j]                   for all i, j
                                                      else:
                                                          as it was, nothing unrolled

Where fullness depends on k, as in triangles, the range of k is cut in full and partial parts. So is it where an element
kept in a register is read under another subscript. Of a sum that has several loops, registers last for all of them.

Needs: names are bound once; subscripts are not linearized yet.
Keeps: every value, and the order of operations on each element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from polysched.codegen.passes.tile_nest import Side, TileNest, least, mentions, tile_nest
from polysched.ir.build import binary, conjunction, floordiv
from polysched.ir.linear import Linear, added, expression, forms, never_negative
from polysched.ir.node import map_children, rewrite, walk
from polysched.ir.nodes import (
    Alloc,
    Array,
    Binary,
    Const,
    Expr,
    For,
    Function,
    If,
    Let,
    Load,
    Select,
    Stmt,
    Store,
    Var,
)
from polysched.ir.rename import fresh_names, rename_bound, used_names


def register_tiles(fn: Function) -> Function:
    """`fn` with every nest over unrolled loops in two versions: full tiles with constant bounds, and all others."""
    return _Separator(fn).function()


@dataclass
class _Registers:
    """What holds elements at one place: how they are loaded and saved there, and the names they have meanwhile."""

    before: list[Stmt] = field(default_factory=list)
    after: list[Stmt] = field(default_factory=list)
    named: dict[str, tuple[str, tuple[Expr, ...]]] = field(default_factory=dict)


class _Separator:
    def __init__(self, fn: Function):
        self.fn = fn
        taken = used_names(fn)
        self.names = fresh_names("r", taken)
        self.taken = taken
        arrays = (*fn.arrays, *_local_arrays(fn))
        self.dtypes = {array.name: array.dtype for array in arrays}
        loops = tuple(stmt for stmt in fn.body if not isinstance(stmt, Alloc))
        self.inner = {node.array.name for node in walk(loops) if isinstance(node, Alloc)}

    def function(self) -> Function:
        return map_children(self.fn, self.visit)

    def visit(self, node: Any) -> Any:
        if isinstance(node, For):
            nest = _nest(node)
            if nest is not None and not self.is_in_registers(nest):
                parts = self.separated(nest)
                if parts or not nest.around:
                    return parts or _rolled(node)
            if node.kind == "unrolled" and not isinstance(node.hi, Const):
                node = replace(node, kind="serial")
        return map_children(node, self.visit)

    def is_in_registers(self, nest: TileNest) -> bool:
        """Has an earlier pass seen to it? Then what it stores to is declared inside of loops."""
        return all(isinstance(stmt, Store) and stmt.array in self.inner for stmt in nest.body)

    def separated(self, nest: TileNest) -> tuple[Stmt, ...] | None:
        """The nest in full and partial parts; None if that is not for linear conditions to tell."""
        stored = _stored(nest)
        kept = {name: index for name, index in stored.items() if _fits_registers(index, nest)}
        found = list(_conditions(nest))
        for name, index in list(kept.items()):
            apart = _apart(name, index, nest, found)
            if apart is None:
                del kept[name]
            else:
                found += apart
        worst = [form for condition in found if (form := least(condition, nest.sides)) is not None]
        split = _split(worst, nest) if len(worst) == len(found) else None
        if split is None or (nest.around and not (kept == stored and _stands(nest, split))):
            return None
        return self.parts(nest, split, kept | {n: index for n, index in stored.items() if _is_updated(n, index, nest)})

    def parts(self, nest: TileNest, split: _Split, kept: dict[str, tuple[Expr, ...]]) -> tuple[Stmt, ...]:
        loop = nest.loop
        if not split.lows and not split.highs:
            loops = (*nest.around, loop)
            nonempty = [binary("<", each.lo, each.hi) for each in loops]
            full = self.full(nest, loop.lo, loop.hi, kept)
            return (If(conjunction([*split.always, *nonempty]), full, (_rolled(self.copy(loops[0])),)),)
        first, last = next(self.names), next(self.names)
        clipped = Binary("min", reduce(lambda a, b: Binary("max", a, b), split.lows, loop.lo), loop.hi)
        begin = Select(conjunction(split.always), clipped, loop.hi) if split.always else clipped
        end = Binary("max", reduce(lambda a, b: Binary("min", a, b), split.highs, loop.hi), Var(first))
        before = _rolled(self.copy(replace(loop, hi=Var(first))))
        after = (_rolled(self.copy(replace(loop, lo=Var(last)))),) if split.highs else ()
        return (
            Let(first, begin),
            Let(last, end),
            before,
            If(binary("<", Var(first), Var(last)), self.full(nest, Var(first), Var(last), kept)),
            *after,
        )

    def full(self, nest: TileNest, lo: Expr, hi: Expr, kept: dict[str, tuple[Expr, ...]]) -> tuple[Stmt, ...]:
        """The nest over a full tile, for values of its loop from lo to hi, with registers for the elements `kept`:
        around the loops, or in each iteration of the last where they change with it."""
        around, inside = _Registers(), _Registers()
        for name, index in kept.items():
            place = inside if _uses(index, nest.loop.var) else around
            register = next(fresh_names(f"{name}_", self.taken))
            used = [side for side in nest.sides if _uses(index, side.loop.var)]
            array = Array(register, self.dtypes[name], tuple(Const(side.trips) for side in used), "private")
            own = tuple(side.var for side in used)
            load = Store(register, own, Load(name, index, array.dtype))
            save = Store(name, index, Load(register, own, array.dtype))
            place.before += [Alloc(array), *self.tile((load,), used, {register})]
            place.after += self.tile((save,), used, {register})
            place.named[name] = (register, own)
        named = around.named | inside.named
        tile = self.tile(_with_registers(nest.body, named), nest.sides, {register for register, _ in named.values()})
        body = (*inside.before, *tile, *inside.after)
        loops = replace(nest.loop, lo=lo, hi=hi, body=body)
        for each in reversed(nest.around):
            loops = replace(each, body=(loops,))
        return (*around.before, loops, *around.after)

    def tile(self, body: tuple[Stmt, ...], sides: Sequence[Side], registers: Set[str]) -> tuple[Stmt, ...]:
        """Loops over all of the tile around `body`, whose subscripts of `registers` count from zero."""
        starts = {side.loop.var: binary("+", expression(side.start), side.var) for side in sides}
        moved = _subscripts_moved(body, starts, registers)
        for side in reversed(sides):
            moved = (For(side.loop.var, Const(0), Const(side.trips), 1, moved, side.loop.kind, side.loop.loc),)
        return self.copy_all(moved)

    def copy(self, loop: For) -> For:
        (copied,) = self.copy_all((loop,))
        return copied

    def copy_all(self, body: tuple[Stmt, ...]) -> tuple[Any, ...]:
        return rename_bound(body, lambda name: next(self.names))


@dataclass(frozen=True)
class _Split:
    """When a tile is full: `always` hold outside of its loop, which runs from one of `lows` to one of `highs`."""

    always: list[Expr]
    lows: list[Expr]
    highs: list[Expr]


def _nest(loop: For) -> TileNest | None:
    """The nest over a tile that the loop is, or is around with nothing else between."""
    nest, around = tile_nest(loop, may_move=True), []
    while nest is None and loop.kind == "serial" and not loop.reduces and loop.step == 1:
        around.append(loop)
        match loop.body:
            case (For() as loop,):
                nest = tile_nest(loop)
            case _:
                return None
    return None if nest is None else replace(nest, around=tuple(around))


def _stands(nest: TileNest, split: _Split) -> bool:
    """Is the tile full in all of the loops around it or in none, and do they run alike?"""
    bounds = [bound for each in (*nest.around, nest.loop) for bound in (each.lo, each.hi)]
    return not split.lows and not split.highs and not any(_uses(tuple(bounds), name) for name in nest.own_names)


def _conditions(nest: TileNest) -> Iterator[Linear]:
    """Forms that are zero or more where the tile is full."""
    for side in nest.sides:
        for low in forms(side.loop.lo, upper=False):
            yield added(side.start, low, -1)
        end = added(side.start, {None: side.trips}, 1)
        for high in forms(side.loop.hi, upper=True):
            yield added(high, end, -1)


def _split(conditions: list[Linear], nest: TileNest) -> _Split | None:
    """What the conditions, forms that are zero or more, say outside of the loop and about its variable; None if one is
    not linear in it."""
    always, lows, highs = [], [], []
    key = Var(nest.loop.var)
    for form in conditions:
        factor = form.get(key, 0)
        rest = {atom: f for atom, f in form.items() if atom != key}
        if mentions(rest, nest.own_names):
            return None
        constant = not any(f for atom, f in rest.items() if atom is not None)
        if factor > 0:  # from ceil(-rest / factor) on
            lows.append(floordiv(expression(added({None: factor - 1}, rest, -1)), factor))
        elif factor < 0:  # to floor(rest / -factor)
            highs.append(floordiv(expression(added(rest, {None: -factor}, 1)), -factor))
        elif not constant:
            always.append(never_negative(rest))
        elif rest.get(None, 0) < 0:
            return None
    return _Split(*(list(dict.fromkeys(part)) for part in (always, lows, highs)))


def _stored(nest: TileNest) -> dict[str, tuple[Expr, ...]]:
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
            if others or abs(form.get(Var(variables[0]), 0)) != 1:
                return False
        seen += variables
    return len(seen) == len(set(seen)) and set(seen) <= fixed


def _is_updated(name: str, index: tuple[Expr, ...], nest: TileNest) -> bool:
    """Does each iteration of the loop update one element several times, and use no other of the array?"""
    is_one = {n.index for n in walk(nest.body) if isinstance(n, Load | Store) and n.array == name} == {index}
    changes = any(_uses(index, variable) for variable in nest.own_names - {nest.loop.var})
    return is_one and not changes and _uses(index, nest.loop.var) and not any(isinstance(n, Load) for n in walk(index))


def _uses(index: tuple[Expr, ...], name: str) -> bool:
    return any(isinstance(node, Var) and node.name == name for node in walk(index))


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


def _with_registers(body: tuple[Stmt, ...], renamed: dict[str, tuple[str, tuple[Expr, ...]]]) -> tuple[Stmt, ...]:
    stored = {stmt.array: stmt.index for stmt in body if isinstance(stmt, Store)}

    def rule(node: Any) -> Any:
        if isinstance(node, Load | Store) and node.array in renamed and node.index == stored[node.array]:
            name, own = renamed[node.array]
            return replace(node, array=name, index=own)
        return None

    return rewrite(body, rule)


def _subscripts_moved(body: tuple[Stmt, ...], starts: dict[str, Expr], registers: Set[str]) -> tuple[Any, ...]:
    """`body` with tile variables counting from zero, in everything but the subscripts of registers."""

    def visit(node: Any) -> Any:
        if isinstance(node, Var) and node.name in starts:
            return starts[node.name]
        if isinstance(node, Load) and node.array in registers:
            return node
        if isinstance(node, Store) and node.array in registers:
            return replace(node, value=visit(node.value))
        return map_children(node, visit)

    return tuple(visit(stmt) for stmt in body)


def _rolled(loop: For) -> For:
    """The loop with nothing unrolled, for tiles of any shape."""

    def rule(node: Any) -> Any:
        return replace(node, kind="serial") if isinstance(node, For) and node.kind == "unrolled" else None

    rolled: For = rewrite(loop, rule)
    return rolled


def _local_arrays(fn: Function) -> Iterator[Array]:
    return (node.array for node in walk(fn.body) if isinstance(node, Alloc))
