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

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from polysched.codegen.lowered import Element, around, changed, moved, private, rolled
from polysched.codegen.memory.edge_tiles import Edge, edge_tile
from polysched.codegen.memory.full_part import Elements, FullPart, full_part
from polysched.codegen.memory.tile_nest import Side, TileNest, tile_nest
from polysched.config.heuristics.code import TILE_LOOP
from polysched.ir.build import binary, conjunction, zero
from polysched.ir.integers.linear import expression
from polysched.ir.node import arrays_of, map_children, map_list, statements, stored, variables
from polysched.ir.nodes import Alloc, Const, Expr, For, Function, If, Let, Load, Stmt, Store, Var
from polysched.ir.rename import fresh_names, rename_bound, used_names
from polysched.support import trace


def register_tiles(fn: Function) -> Function:
    """`fn` with every nest over unrolled loops in two versions: full tiles with constant bounds, and all others."""
    done = changed(fn, body=map_list(fn.body, _Separator(fn).statement))
    for name in _unrolled(fn) - _unrolled(done):
        trace.decline("unrolled", name, f"it is in no tile whose loops have constant lengths of at most {TILE_LOOP}")
    return done


def _unrolled(fn: Function) -> set[str]:
    """The loops of the schedule that are unrolled somewhere."""
    loops = (node for node in statements(fn.body) if isinstance(node, For))
    return {loop.origin for loop in loops if loop.kind == "unrolled" and loop.origin}


@dataclass
class _Registers:
    """How what holds elements at one place is loaded and saved there."""

    before: list[Stmt] = field(default_factory=list)
    after: list[Stmt] = field(default_factory=list)


class _Separator:
    def __init__(self, fn: Function):
        self.taken = used_names(fn)
        self.names = fresh_names("r", self.taken)
        self.arrays = arrays_of(fn)
        loops = tuple(stmt for stmt in fn.body if not isinstance(stmt, Alloc))
        self.inner = {node.array.name for node in statements(loops) if isinstance(node, Alloc)}

    def statement(self, stmt: Stmt) -> Any:
        """One that runs after those before it."""
        self.stored = stored(stmt)
        return self.visit(stmt)

    def visit(self, node: Any) -> Any:
        if isinstance(node, For):
            nest = _nest(node)
            if nest is not None and not self.is_in_registers(nest):
                found = full_part(nest)
                if found is not None:
                    return self.parts(nest, found)
                if not nest.around:
                    return rolled(node)
            if node.kind == "unrolled" and not isinstance(node.hi, Const):
                node = replace(node, kind="serial")
        return map_children(node, self.visit)

    def is_in_registers(self, nest: TileNest) -> bool:
        """Has an earlier pass seen to it? Then what it stores to is declared inside of loops."""
        return all(isinstance(stmt, Store) and stmt.array in self.inner for stmt in nest.body)

    def parts(self, nest: TileNest, part: FullPart) -> tuple[Stmt, ...]:
        """The nest in full and partial parts."""
        loop, kept = nest.loop, part.kept
        if not part.lows and not part.highs:
            loops = (*nest.around, loop)
            nonempty = [binary("<", each.lo, each.hi) for each in loops]
            full = self.full(nest, loop.lo, loop.hi, kept)
            return (If(conjunction([*part.always, *nonempty]), full, self.partial(nest, kept)),)
        first, last = next(self.names), next(self.names)
        begin, end = part.ends(loop, Var(first))
        before = rolled(self.copy(replace(loop, hi=Var(first))))
        after = (rolled(self.copy(replace(loop, lo=Var(last)))),) if part.highs else ()
        return (
            Let(first, begin),
            Let(last, end),
            before,
            If(binary("<", Var(first), Var(last)), self.full(nest, Var(first), Var(last), kept)),
            *after,
        )

    def partial(self, nest: TileNest, kept: Elements) -> tuple[Stmt, ...]:
        """The nest over a partial tile: as a whole one that ends where the loops do, if there may be one."""
        loops = (rolled(self.copy((*nest.around, nest.loop)[0])),)
        edge = edge_tile(nest, kept, self.stored, self.names)
        if edge is None:
            return loops
        return (*edge.begins, If(conjunction(edge.conditions), self.whole(nest, edge, kept), loops))

    def whole(self, nest: TileNest, edge: Edge, kept: Elements) -> tuple[Stmt, ...]:
        """The nest over a tile with an array of its own, of which its own elements alone are loaded and saved."""
        before, after, own = list[Stmt](), list[Stmt](), [replace(side.loop, kind="serial") for side in nest.sides]
        places: dict[Element, Element] = {}
        for name, index in kept.items():
            array = private(name, self.arrays[name].dtype, tuple(Const(side.trips) for side in nest.sides), self.taken)
            self.arrays[array.name] = array
            there = tuple(binary("-", side.var, expression(side.start)) for side in edge.sides)
            nothing = Store(array.name, tuple(side.var for side in nest.sides), zero(array.dtype))
            load = Store(array.name, there, Load(name, index, array.dtype))
            save = Store(name, index, Load(array.name, there, array.dtype))
            empty = self.tile((nothing,), nest.sides, {array.name})
            before += [Alloc(array), *empty, *self.copy_all(around(own, (load,)))]
            after += self.copy_all(around(own, (save,)))
            places[name, index] = (array.name, there)
        loop = replace(nest.loop, var=next(self.names))
        body = _subscripts_moved(moved(nest.body, places), {nest.loop.var: Var(loop.var)}, set())
        nest = replace(nest, loop=loop, sides=edge.sides, body=body)
        return (*before, *self.full(nest, loop.lo, loop.hi, dict(places.values())), *after)

    def full(self, nest: TileNest, lo: Expr, hi: Expr, kept: Elements) -> tuple[Stmt, ...]:
        """The nest over a full tile, for values of its loop from lo to hi, with registers for the elements `kept`:
        around the loops, or in each iteration of the last where they change with it."""
        outside, inside = _Registers(), _Registers()
        places: dict[Element, Element] = {}
        for name, index in kept.items():
            at = inside if nest.loop.var in variables(index) else outside
            used = [side for side in nest.sides if side.loop.var in variables(index)]
            shape = tuple(Const(side.trips) for side in used)
            array = private(name, self.arrays[name].dtype, shape, self.taken)
            own = tuple(side.var for side in used)
            load = Store(array.name, own, Load(name, index, array.dtype))
            save = Store(name, index, Load(array.name, own, array.dtype))
            at.before += [Alloc(array), *self.tile((load,), used, {array.name})]
            at.after += self.tile((save,), used, {array.name})
            places[name, index] = (array.name, own)
        tile = self.tile(moved(nest.body, places), nest.sides, {register for register, _ in places.values()})
        loop = replace(nest.loop, lo=lo, hi=hi)
        return (*outside.before, *around((*nest.around, loop), (*inside.before, *tile, *inside.after)), *outside.after)

    def tile(self, body: tuple[Stmt, ...], sides: Sequence[Side], registers: Set[str]) -> tuple[Stmt, ...]:
        """Loops over all of the tile around `body`, whose subscripts of `registers` count from zero."""
        starts = {side.loop.var: binary("+", expression(side.start), side.var) for side in sides}
        body = _subscripts_moved(body, starts, registers)
        for side in reversed(sides):
            own = side.loop
            body = (For(own.var, Const(0), Const(side.trips), 1, body, own.kind, own.loc, origin=own.origin),)
        return self.copy_all(body)

    def copy(self, loop: For) -> For:
        (copied,) = self.copy_all((loop,))
        return copied

    def copy_all(self, body: tuple[Stmt, ...]) -> tuple[Any, ...]:
        return rename_bound(body, lambda name: next(self.names))


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
