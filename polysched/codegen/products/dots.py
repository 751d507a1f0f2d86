"""A sum of products with few rows as dot products: lanes are terms, and each row meets several columns at a time.

for j:                                  for j0 in 0..1000 by 8:
    for k:                                  sums[j, l] = 0
        out[j] += x[k] * w[j, k]   ->       for k0 in 0..1024 by 16:
                                                sums[j, l] += x[k0 + l] * w[j0 + j, k0 + l]       in registers
                                            out[j0 + j] += sums[j, 0] + sums[j, 1] + ...
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polysched.codegen.products.axes import digits, full_or_last
from polysched.codegen.products.epilogue import stored
from polysched.codegen.products.sizes import Shares, lanes_of, shared_loop
from polysched.config.heuristics.cpu import DOT_COLUMNS, DOT_SUMS
from polysched.config.machine import Machine
from polysched.ir.build import add, mul
from polysched.ir.node import substitute
from polysched.ir.nodes import Alloc, Array, Binary, Const, Expr, For, Load, Stmt, Store, Var
from polysched.transform.analysis.epilogues import Extents
from polysched.transform.analysis.products import SumOfProducts


def dots(found: SumOfProducts, names: Iterator[str], extents: Extents, machine: Machine) -> tuple[Stmt, ...]:
    """The loops of the dot products."""
    return _Dots(found, names, machine).statements()


class _Dots:
    def __init__(self, found: SumOfProducts, names: Iterator[str], machine: Machine):
        self.found, self.names, self.machine = found, names, machine
        self.dtype = found.row.dtype
        self.lanes = lanes_of(self.dtype, machine)
        self.at_a_time = max(1, min(DOT_SUMS // found.rows.size, found.columns.size, DOT_COLUMNS))

    def statements(self) -> tuple[Stmt, ...]:
        found, tile = self.found, next(self.names)
        columns, first = found.columns.size, mul(Var(tile), self.at_a_time)
        body = full_or_last(Var(tile), columns, self.at_a_time, lambda count: self.tile(first, count))
        loops = {**found.batch.extents, tile: -(-columns // self.at_a_time)}
        shares = {name: Shares(extent, extent) for name, extent in loops.items()}
        shared = shared_loop(shares, found.updates, self.machine.cores)
        for name, extent in reversed([*loops.items()]):
            body = (For(name, Const(0), Const(extent), 1, body, "parallel" if name == shared else "serial"),)
        return body

    def tile(self, first: Expr, count: int) -> tuple[Stmt, ...]:
        """All rows with `count` columns from the number `first` on."""
        found, rows = self.found, self.found.rows.size
        whole, rest = divmod(found.terms.size, self.lanes)
        shape = tuple(map(Const, (rows, count, self.lanes)))
        sums = Array(next(self.names), self.dtype, shape, "private")

        def each(lanes: int, value: Expr | None, k: Expr) -> For:
            """For all rows, columns and lanes: the sum becomes `value`, or has the term from `k` on added to it."""
            i, j, lane = (Var(next(self.names)) for _ in range(3))
            own = {**digits(found.rows, i), **digits(found.columns, add(first, j)), **digits(found.terms, add(k, lane))}
            place = (i, j, lane)
            left, right = (found.row, found.column) if found.row_first else (found.column, found.row)
            term = Binary("*", substitute(left, own), substitute(right, own))
            new = Store(sums.name, place, value or add(Load(sums.name, place, self.dtype), term))
            inner = For(lane.name, Const(0), Const(lanes), 1, (new,), "vector")
            return For(i.name, Const(0), Const(rows), 1, (
                For(j.name, Const(0), Const(count), 1, (inner,), "unrolled"),), "unrolled")  # fmt: skip

        k = next(self.names)
        out: list[Stmt] = [Alloc(sums), each(self.lanes, Const(0, self.dtype), Const(0))]
        out += [For(k, Const(0), Const(whole), 1, (each(self.lanes, None, mul(Var(k), self.lanes)),))]
        out += [each(rest, None, Const(whole * self.lanes))] if rest else []
        return (*out, self.added(sums, first, count))

    def added(self, sums: Array, first: Expr, count: int) -> Stmt:
        """The result, of which each element has the sum of its lanes added to it, in the first of them."""
        found, (i, j) = self.found, (Var(next(self.names)) for _ in range(2))
        own = {**digits(found.rows, i), **digits(found.columns, add(first, j))}
        index = substitute(found.store.index, own)
        total: Expr = found.start or Load(found.store.array, index, self.dtype)
        for lane in range(self.lanes):
            total = add(total, Load(sums.name, (i, j, Const(lane)), self.dtype))
        body: tuple[Stmt, ...] = (replace(found.store, index=index, value=total),)
        if found.ends:
            here = Load(sums.name, (i, j, Const(0)), self.dtype)
            body = (Store(sums.name, here.index, total), *stored(found, own, here))
        inner = For(j.name, Const(0), Const(count), 1, body, "unrolled")
        return For(i.name, Const(0), Const(found.rows.size), 1, (inner,), "unrolled")
