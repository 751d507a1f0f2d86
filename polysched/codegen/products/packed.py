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

Of integers that fit into 8 or 16 bits both sides are copied, several terms to a word (`words.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from polysched.codegen.products.axes import digits, element, full_or_last, is_flat
from polysched.codegen.products.copies import Copy
from polysched.codegen.products.epilogue import lies_across, stored
from polysched.codegen.products.sizes import Shares, Side, blocks, lanes_of, register_tile, shared_loop, whole_vectors
from polysched.codegen.products.words import first_term, guard_outside, in_words, words_of
from polysched.config.heuristics.cpu import COLUMNS_OF_L1
from polysched.config.machine import Machine
from polysched.ir.build import add, floordiv, mul, sub
from polysched.ir.node import substitute, walk
from polysched.ir.nodes import Alloc, Array, Binary, Const, Expr, For, Load, Stmt, Store, Var
from polysched.transform.analysis.axes import Axes, lies_by_terms, steps_alike
from polysched.transform.analysis.epilogues import Extents
from polysched.transform.analysis.products import SumOfProducts


def packed(found: SumOfProducts, names: Iterator[str], extents: Extents, machine: Machine) -> tuple[Stmt, ...]:
    """The loops of the product."""
    return _Product(found, names, extents, machine).statements()


@dataclass(frozen=True)
class _Read:
    """How tiles read a factor: from a copy, which begins with the tile `first`, or as it is. `excess` says by how much
    the sums of each column are too large."""

    copy: Copy | None
    first: Expr
    excess: Array | None = None


_Stores = Callable[[Expr, Expr], tuple[Store, ...]]  # of the sum in a row and a column


def _turns(found: SumOfProducts, lanes: int, terms_of_a_word: int) -> bool:
    """Is it less work to copy the rows term by term, and to store the result across its lines, than to copy columns?"""
    if not all(lies_by_terms(factor, found.terms) for factor in (found.row, found.column)):
        return False
    rows, columns, terms = found.rows.size, found.columns.size, -(-found.terms.size // terms_of_a_word)
    return rows >= 2 * lanes and rows * (terms + columns) < columns * terms


class _Product:
    def __init__(self, found: SumOfProducts, names: Iterator[str], extents: Extents, machine: Machine):
        self.dtype = found.row.dtype
        self.lanes = lanes_of(self.dtype, machine)
        self.words = words_of(found, machine)
        if _turns(found, self.lanes, self.words.dot.terms if self.words else 1):
            found = found.turned()
            self.words = words_of(found, machine)
        found = in_words(found, self.words) if self.words else found
        self.found, self.names, self.extents, self.machine = found, names, extents, machine
        tile = register_tile(found.rows.size, found.columns.size, self.lanes, machine.vector_registers)
        self.tile = {"rows": tile.rows, "columns": tile.columns}
        self.axes = {"rows": found.rows, "columns": found.columns}
        self.values = {"rows": found.row, "columns": found.column}
        self.size = {side: axes.size for side, axes in self.axes.items()}
        self.count = {side: -(-self.size[side] // self.tile[side]) for side in self.axes}
        is_direct = self.words is None and self.steps_alike("rows")
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
        return self.copied(self.other, count, (Const(0), Const(count)), shared=shared in ("blocks", "tiles"))

    def copied(
        self, side: Side, count: int, tiles: tuple[Expr, Expr], *, shared: bool
    ) -> tuple[tuple[Stmt, ...], _Read]:
        """A copy of these tiles, `count` at most, and how they are read."""
        copy = self.copy(side, count)
        filled, read = copy.filled(*tiles, shared=shared), _Read(copy, tiles[0])
        if side == "rows" or self.words is None or not self.words.shift:
            return filled, read
        excess = Array(next(self.names), self.dtype, (Const(count), Const(copy.width)), "private")
        tile, kind = Var(next(self.names)), "parallel" if shared else "serial"
        body = full_or_last(
            tile, self.size[side], copy.width, lambda size: self.excess(copy, excess, sub(tile, tiles[0]), size)
        )
        return (*filled, Alloc(excess), For(tile.name, *tiles, 1, body, kind)), replace(read, excess=excess)

    def excess(self, copy: Copy, excess: Array, tile: Expr, size: int) -> tuple[Stmt, ...]:
        """What the shift of rows adds to the sums of each column of this tile."""
        assert self.words is not None
        words, k = self.words, Var(next(self.names))
        sums = Array(next(self.names), self.dtype, (Const(whole_vectors(size, self.lanes)),), "private")

        def each(array: Array, value: Callable[[Expr], Expr], *outer: Expr) -> For:
            j = Var(next(self.names))
            return For(j.name, Const(0), sums.shape[0], 1, (Store(array.name, (*outer, j), value(j)),), "vector")

        def here(j: Expr) -> Expr:
            return Load(sums.name, (j,), self.dtype)

        def more(j: Expr) -> Expr:
            return add(here(j), words.product(words.shifts, Load(copy.array.name, copy.index(tile, j, k), self.dtype)))

        terms = For(k.name, Const(0), Const(self.found.terms.size), 1, (each(sums, more),))
        return Alloc(sums), each(sums, lambda j: Const(0, self.dtype)), terms, each(excess, here, tile)

    def copy(self, side: Side, tiles: int) -> Copy:
        terms, lanes = self.found.terms, self.lanes if side == "columns" else 1
        width = min(self.tile[side], whole_vectors(self.size[side], lanes))
        lies_so = lies_by_terms(first_term(self.values[side]), terms)
        as_they_lie = self.streamed == "rows" or (self.words is not None and lies_so)
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
        copied, read = self.copied(side, shares.most, (first, end), shared=shared == "tiles")
        body = (*copied, *self.all_tiles((first, end), {side: read, self.other: other}, shared))
        if shares.count == 1:
            return substitute(body, {block: Const(0)})
        kind = "parallel" if shared == "blocks" else "serial"
        return (For(block, Const(0), Const(shares.count), 1, body, kind),)

    def all_tiles(self, block: tuple[Expr, Expr], reads: Mapping[Side, _Read], shared: str | None) -> tuple[Stmt, ...]:
        tiles: dict[Side, Var] = {"columns": Var(next(self.names)), "rows": Var(next(self.names))}
        ranges = {self.streamed: block, self.other: (Const(0), Const(self.count[self.other]))}

        def of_size(side: Side, make: Callable[[int], tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
            return full_or_last(tiles[side], self.size[side], self.tile[side], make)

        body = of_size("columns", lambda wide: of_size("rows", lambda high: self.sums(high, wide, tiles, reads)))
        outer = self.other if shared == "tiles" else self.outer
        for side in ("columns" if outer == "rows" else "rows", outer):
            kind = "parallel" if shared == "tiles" and side == self.other else "serial"
            body = (For(tiles[side].name, *ranges[side], 1, body, kind),)
        return body

    @property
    def outer(self) -> Side:
        """Whose tiles stay in the first cache for all of the others: those of columns, where they fit, and the result
        stays in the second one; else those of the side that is not in blocks, as blocks stay in the second cache."""
        bytes_of = self.dtype.bits // 8
        of_tile = self.tile["columns"] * self.found.terms.size * bytes_of
        of_result = self.size["rows"] * self.size["columns"] * bytes_of
        fits = of_tile <= COLUMNS_OF_L1 * self.machine.l1 and of_result <= self.machine.l2 // 2
        return "columns" if fits else self.other

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

        def less(value: Callable[[Expr, Expr], Expr]) -> Callable[[Expr, Expr], Expr]:
            """The value less the excess of its column."""
            excess, first = reads["columns"].excess, reads["columns"].first
            if excess is None:
                return value
            tile = sub(tiles["columns"], first)
            return lambda i, j: sub(value(i, j), Load(excess.name, (tile, j), self.dtype))

        start = found.start or Const(0, self.dtype)
        begin = [each(wide, filled(sums, less(lambda i, j: start)))] if found.start or columns < wide else []
        begin += [] if found.start else [each(columns, filled(sums, less(result_at)))]
        # Where not all of them are stored, a copy is: a shorter loop over the sums would keep them out of registers.
        end: list[Stmt] = [each(wide, kept(sums))]
        if columns < wide or lies_across(found):
            end = [Alloc(last), each(wide, filled(last, sum_at))]
            end += [across(kept(last)) if lies_across(found) else each(columns, kept(last))]
        terms = For(k, Const(0), Const(found.terms.size), 1, (each(wide, filled(sums, updated)),))
        return (Alloc(sums), *begin, terms, *end)

    def product(self, row: Expr, column: Expr) -> Expr:
        if self.words:
            return self.words.product(row, column)
        return Binary("*", row, column) if self.found.row_first else Binary("*", column, row)

    def factor(self, side: Side, read: _Read, tiles: Mapping[Side, Var], place: Expr, k: Expr) -> Expr:
        """What a factor is at this place of the tile, for the term `k`."""
        if read.copy is None:
            return substitute(self.values[side], {**self.digits(side, tiles, place), **digits(self.found.terms, k)})
        return Load(read.copy.array.name, read.copy.index(sub(tiles[side], read.first), place, k), self.dtype)

    def digits(self, side: Side, tiles: Mapping[Side, Var], place: Expr) -> dict[str, Expr]:
        """The variables of the nest that are at this place of the tile."""
        return digits(self.axes[side], add(mul(tiles[side], self.tile[side]), place))
