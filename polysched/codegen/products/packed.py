"""A sum of products as a product of packed matrices (Goto and van de Geijn, TOMS 2008, section 4; Gareev, Grosser and
Kruse, TACO 2018).

    for f, y, x:                               for b in blocks of columns q = (y, x):             parallel
        for c, r, s:                               P[t, k, j] = data[c, y + r, x + s]     for all k = (c, r, s)
            out[f, y, x] +=            ->          for tiles q = t * 16 + j, for tiles of f:
                data[c, y + r, x + s]                  sums[i, j] = out[f + i, q]
                * weight[f, c, r, s]                   for k:
                                                           sums[i, j] += P[t, k, j] * weight[f + i, k]    in registers
                                                       out[f + i, q] = sums[i, j]

Columns are always copied, so that tiles read them one after the other: in place, terms are far apart, and caches hold
fewer lines than there are terms. Rows are not if terms lie in memory as far from each to the next. Of two sides that
are copied, the larger is in blocks, the other one whole. Every sum keeps its terms in order, so each bit stays.

Of integers that fit into 16 bits both sides are copied, two terms to a word (`pairs.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from polysched.codegen.products.axes import digits, element, full_or_last, is_flat
from polysched.codegen.products.copies import Copy
from polysched.codegen.products.epilogue import lies_across, stored
from polysched.codegen.products.pairs import first_term, guard_outside, in_pairs, may_pair
from polysched.codegen.products.sizes import Shares, Side, blocks, lanes_of, register_tile, shared_loop, whole_vectors
from polysched.config.machine import Machine
from polysched.ir.build import add, floordiv, mul, sub
from polysched.ir.node import substitute, walk
from polysched.ir.nodes import DOT, Alloc, Array, Binary, Call, Const, Expr, For, Load, Stmt, Store, Var
from polysched.transform.analysis.axes import Axes, lies_by_terms, steps_alike
from polysched.transform.analysis.epilogues import Extents
from polysched.transform.analysis.products import SumOfProducts


def packed(found: SumOfProducts, names: Iterator[str], extents: Extents, machine: Machine) -> tuple[Stmt, ...]:
    """The loops of the product."""
    return _Product(found, names, extents, machine).statements()


@dataclass(frozen=True)
class _Read:
    """How tiles read a factor: from a copy, which begins with the tile `first`, or as it is."""

    copy: Copy | None
    first: Expr


_Stores = Callable[[Expr, Expr], tuple[Store, ...]]  # of the sum in a row and a column

_DOT_BYTES = 32  # of vectors that have an instruction for two terms at a time: with AVX2


def _turns(found: SumOfProducts, lanes: int) -> bool:
    """Is it less work to copy the rows term by term, and to store the result across its lines, than to copy columns?"""
    if not all(lies_by_terms(factor, found.terms) for factor in (found.row, found.column)):
        return False
    rows, columns, terms = found.rows.size, found.columns.size, found.terms.size
    return rows >= 2 * lanes and rows * (terms + columns) < columns * terms


class _Product:
    def __init__(self, found: SumOfProducts, names: Iterator[str], extents: Extents, machine: Machine):
        self.dtype = found.row.dtype
        self.lanes = lanes_of(self.dtype, machine)
        self.has_pairs = machine.vector_bytes >= _DOT_BYTES and may_pair(found)
        found = in_pairs(found) if self.has_pairs else found
        found = found.turned() if _turns(found, self.lanes) else found
        self.found, self.names, self.extents, self.machine = found, names, extents, machine
        tile = register_tile(found.rows.size, found.columns.size, self.lanes, machine.vector_registers)
        self.tile = {"rows": tile.rows, "columns": tile.columns}
        self.axes = {"rows": found.rows, "columns": found.columns}
        self.values = {"rows": found.row, "columns": found.column}
        self.size = {side: axes.size for side, axes in self.axes.items()}
        self.count = {side: -(-self.size[side] // self.tile[side]) for side in self.axes}
        is_direct = not self.has_pairs and self.steps_alike("rows")
        takes_rows = not is_direct and self.size["rows"] > self.size["columns"]
        self.streamed: Side = "rows" if takes_rows else "columns"
        self.other: Side = "columns" if takes_rows else "rows"
        self.copies_other = not is_direct
        line = found.terms.size * self.dtype.bits // 8
        self.blocks = blocks(self.size[self.streamed], self.tile[self.streamed], line, machine)

    def is_flat(self, side: Side, axes: Axes) -> bool:
        """Does the side's factor step by one from each number of the axes to the next?"""
        load = element(self.values[side])
        return load is not None and is_flat(load, axes, self.extents[load.array])

    def steps_alike(self, side: Side) -> bool:
        """Does the side's factor lie in memory, as far from each term to the next?"""
        load = element(self.values[side])
        return load is not None and steps_alike(load, self.found.terms, self.extents[load.array])

    def statements(self) -> tuple[Stmt, ...]:
        found = self.found
        loops = {**found.batch.extents, "blocks": 1, "tiles": self.count[self.other]}
        shares = {name: Shares(extent, extent) for name, extent in loops.items()} | {"blocks": self.blocks}
        shared = shared_loop(shares, found.updates, self.machine.cores)
        before, other = self.copied_other(shared)
        inside: tuple[Stmt, ...] = (*before, *self.all_blocks(other, shared))
        outside: tuple[Stmt, ...] = ()
        if not any(isinstance(n, Var) and n.name in found.batch.extents for n in walk(self.values[self.other])):
            outside, inside = inside[: len(before)], inside[len(before) :]
        for name in reversed([*found.batch.extents]):
            kind = "parallel" if name == shared else "serial"
            inside = (For(name, Const(0), Const(found.batch.extents[name]), 1, inside, kind),)
        return (*outside, *inside)

    def copied_other(self, shared: str | None) -> tuple[tuple[Stmt, ...], _Read]:
        """The whole copy of the side that is not taken in blocks, if it needs one."""
        if not self.copies_other:
            return (), _Read(None, Const(0))
        count = self.count[self.other]
        copy = self.copy(self.other, count)
        return copy.filled(Const(0), Const(count), shared=shared in ("blocks", "tiles")), _Read(copy, Const(0))

    def copy(self, side: Side, tiles: int) -> Copy:
        """A copy of so many tiles."""
        terms, lanes = self.found.terms, self.lanes if side == "columns" else 1
        width = min(self.tile[side], whole_vectors(self.size[side], lanes))
        lies_so = lies_by_terms(first_term(self.values[side]), terms)
        as_they_lie = self.streamed == "rows" or (self.has_pairs and lies_so)
        by_terms = side == "columns" or not as_they_lie
        shape = (tiles, terms.size, width) if by_terms else (tiles, width, terms.size)
        array = Array(next(self.names), self.dtype, tuple(map(Const, shape)), "private")
        flat = self.is_flat(side, self.axes[side]), self.is_flat(side, terms)
        value = guard_outside(self.values[side])
        return Copy(array, by_terms, value, self.axes[side], terms, *flat, width, lanes, self.names)

    def all_blocks(self, other: _Read, shared: str | None) -> tuple[Stmt, ...]:
        """The blocks of the streamed side, each copied and then multiplied."""
        side, block, shares = self.streamed, next(self.names), self.blocks
        first, end = (floordiv(mul(number, shares.units), shares.count) for number in (Var(block), add(Var(block), 1)))
        copy = self.copy(side, shares.most)
        body = (
            *copy.filled(first, end, shared=shared == "tiles"),
            *self.all_tiles((first, end), {side: _Read(copy, first), self.other: other}, shared),
        )
        if shares.count == 1:
            return substitute(body, {block: Const(0)})
        kind = "parallel" if shared == "blocks" else "serial"
        return (For(block, Const(0), Const(shares.count), 1, body, kind),)

    def all_tiles(self, block: tuple[Expr, Expr], reads: Mapping[Side, _Read], shared: str | None) -> tuple[Stmt, ...]:
        """The tiles of a block: columns outside, so that they stay in the first cache for all rows, or the loop that
        threads share."""
        tiles: dict[Side, Var] = {"columns": Var(next(self.names)), "rows": Var(next(self.names))}
        ranges = {self.streamed: block, self.other: (Const(0), Const(self.count[self.other]))}

        def of_size(side: Side, make: Callable[[int], tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
            return full_or_last(tiles[side], self.size[side], self.tile[side], make)

        body = of_size("columns", lambda wide: of_size("rows", lambda high: self.sums(high, wide, tiles, reads)))
        order: list[Side] = [self.other, self.streamed] if shared == "tiles" else ["columns", "rows"]
        for side in reversed(order):
            kind = "parallel" if shared == "tiles" and side == self.other else "serial"
            body = (For(tiles[side].name, *ranges[side], 1, body, kind),)
        return body

    def sums(self, high: int, columns: int, tiles: Mapping[Side, Var], reads: Mapping[Side, _Read]) -> tuple[Stmt, ...]:
        """A tile, in whole vectors, of which the first `columns` are in the result."""
        found, k, wide = self.found, next(self.names), whole_vectors(columns, self.lanes)
        sums, last = (
            Array(next(self.names), self.dtype, (Const(high), Const(wide)), "private") for _ in ("sums", "last")
        )

        def each(columns: int, make: _Stores) -> For:
            i, j = next(self.names), next(self.names)
            row = For(j, Const(0), Const(columns), 1, make(Var(i), Var(j)), "vector")
            return For(i, Const(0), Const(high), 1, (row,), "unrolled")

        def own(i: Expr, j: Expr) -> dict[str, Expr]:
            return {**self.digits("rows", tiles, i), **self.digits("columns", tiles, j)}

        def filled(array: Array, value: Callable[[Expr, Expr], Expr]) -> _Stores:
            return lambda i, j: (Store(array.name, (i, j), value(i, j)),)

        def sum_at(i: Expr, j: Expr) -> Expr:
            return Load(sums.name, (i, j), self.dtype)

        def result_at(i: Expr, j: Expr) -> Expr:
            return Load(found.store.array, substitute(found.store.index, own(i, j)), self.dtype)

        def updated(i: Expr, j: Expr) -> Expr:
            row = self.factor("rows", reads["rows"], tiles, i, Var(k))
            column = self.factor("columns", reads["columns"], tiles, j, Var(k))
            return add(sum_at(i, j), self.product(row, column))

        def kept(source: Array) -> _Stores:
            return lambda i, j: stored(found, own(i, j), Load(source.name, (i, j), self.dtype))

        def across(make: _Stores) -> For:
            i, j = next(self.names), next(self.names)
            column = For(i, Const(0), Const(high), 1, make(Var(i), Var(j)), "vector")
            return For(j, Const(0), Const(columns), 1, (column,))

        start = found.start or Const(0, self.dtype)
        begin = [each(wide, filled(sums, lambda i, j: start))] if found.start or columns < wide else []
        begin += [] if found.start else [each(columns, filled(sums, result_at))]
        # Where not all of them are stored, a copy is: a shorter loop over the sums would keep them out of registers.
        end: list[Stmt] = [each(wide, kept(sums))]
        if columns < wide or lies_across(found):
            end = [Alloc(last), each(wide, filled(last, sum_at))]
            end += [across(kept(last)) if lies_across(found) else each(columns, kept(last))]
        terms = For(k, Const(0), Const(found.terms.size), 1, (each(wide, filled(sums, updated)),))
        return (Alloc(sums), *begin, terms, *end)

    def product(self, row: Expr, column: Expr) -> Expr:
        if self.has_pairs:
            return Call(DOT, (row, column), self.dtype)
        return Binary("*", row, column) if self.found.row_first else Binary("*", column, row)

    def factor(self, side: Side, read: _Read, tiles: Mapping[Side, Var], place: Expr, k: Expr) -> Expr:
        """What a factor is at this place of the tile, for the term `k`."""
        if read.copy is None:
            return substitute(self.values[side], {**self.digits(side, tiles, place), **digits(self.found.terms, k)})
        return Load(read.copy.array.name, read.copy.index(sub(tiles[side], read.first), place, k), self.dtype)

    def digits(self, side: Side, tiles: Mapping[Side, Var], place: Expr) -> dict[str, Expr]:
        """The variables of the nest that are at this place of the tile."""
        return digits(self.axes[side], add(mul(tiles[side], self.tile[side]), place))
