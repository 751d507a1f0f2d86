"""Copies of a factor, tile by tile, as the tiles read it: the numbers of each term, or the terms of each number.

    P[t, k, j] = data[c, y + r, x + s]         for k = (c, r, s), for q = (y, x) = t * 16 + j

A tile is read from its begin to its end. Zeros around data are stored before what lies inside of it, whose guards
become bounds of loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from polysched.codegen.products.axes import digits, full_or_last, number
from polysched.codegen.products.sizes import whole_vectors
from polysched.codegen.products.words import first_term
from polysched.config.heuristics.cpu import COPIED_TERMS
from polysched.ir.build import add, binary, floordiv, mul, sub, where
from polysched.ir.node import substitute
from polysched.ir.nodes import Alloc, Array, Const, Expr, For, Select, Stmt, Store, Var
from polysched.transform.analysis.axes import Axes, lies_by_terms


@dataclass(frozen=True)
class Copy:
    """Of `value` for all terms, and for tiles of `width` numbers of `axes`, the last of which is in whole `lanes`."""

    array: Array  # [tile, number, term], or with `by_terms` [tile, term, number]
    by_terms: bool
    value: Expr
    axes: Axes
    terms: Axes
    is_flat: bool  # does the factor lie in memory number by number,
    is_row: bool  # and does it, term by term?
    width: int
    lanes: int
    names: Iterator[str]

    def index(self, tile: Expr, place: Expr, term: Expr) -> tuple[Expr, Expr, Expr]:
        """Where the copy has a term of the number at this place of a tile."""
        return (tile, term, place) if self.by_terms else (tile, place, term)

    def filled(self, first: Expr, end: Expr, *, shared: bool) -> tuple[Stmt, ...]:
        """The array and the loops that fill it with the tiles `first`..`end`, which threads share if `shared`."""
        tile = Var(next(self.names))
        body = full_or_last(tile, self.axes.size, self.width, lambda size: self.tile(tile, sub(tile, first), size))
        return (Alloc(self.array), For(tile.name, first, end, 1, body, "parallel" if shared else "serial"))

    def tile(self, tile: Expr, copied: Expr, size: int) -> tuple[Stmt, ...]:
        """The loops that fill a tile of so many numbers, which the copy has as the tile `copied`."""

        def stored(place: Expr, value: Expr) -> Store:
            return Store(self.array.name, self.index(copied, place, number(self.terms)), value)

        def constant(first: int, end: int, value: Const) -> Stmt:
            x = next(self.names)
            return self.with_terms(For(x, Const(first), Const(end), 1, (stored(Var(x), value),)))

        lines: list[Stmt] = []
        cond, value = None, self.value
        if isinstance(value, Select) and isinstance(value.other, Const):
            lines.append(constant(0, size, value.other))
            cond, value = value.cond, value.then

        def guarded(at: Expr, own: Mapping[str, Expr]) -> Stmt:
            (stmt,) = where([cond] if cond else [], stored(at, value))
            return substitute(stmt, dict(own))

        lines.append(self.line(mul(tile, self.width), size, guarded))
        if size % self.lanes:
            lines.append(constant(size, whole_vectors(size, self.lanes), Const(0, self.array.dtype)))
        return tuple(lines)

    def line(self, first: Expr, size: int, body: Callable[[Expr, Mapping[str, Expr]], Stmt]) -> Stmt:
        """What `body` gives for so many numbers: for their places after the first, and the variables that they are."""
        *outer, (name, length) = self.axes.extents.items()
        x = Var(next(self.names))
        if not outer or self.is_flat:
            inner = body(x, digits(self.axes, add(first, x)))
            return self.with_terms(For(x.name, Const(0), Const(size), 1, (inner,)))
        r, end = Var(next(self.names)), add(first, size)
        start = mul(r, length)
        inner = body(sub(add(start, x), first), {**digits(Axes(dict(outer)), r), name: x})
        piece = For(x.name, binary("max", 0, sub(first, start)), binary("min", length, sub(end, start)), 1, (inner,))
        last = add(floordiv(sub(end, 1), length), 1)
        return For(r.name, floordiv(first, length), last, 1, (self.with_terms(piece),))

    def with_terms(self, line: For) -> Stmt:
        """The line and loops over terms: inside of it where they are stored so, or by chunks where they are read so."""
        if not self.by_terms:
            return replace(line, body=(self.over_terms(self.terms, line.body),))
        if not lies_by_terms(first_term(self.value), self.terms):
            return self.over_terms(self.terms, (line,))
        axes = [*self.terms.extents.items()]
        outer, inner = (Axes({}), self.terms) if self.is_row else (Axes(dict(axes[:-1])), Axes(dict(axes[-1:])))
        chunk, k = next(self.names), next(self.names)
        first = mul(Var(chunk), COPIED_TERMS)
        of_chunk = substitute(line.body, digits(inner, Var(k)))
        body = replace(line, body=(For(k, first, binary("min", add(first, COPIED_TERMS), inner.size), 1, of_chunk),))
        return self.over_terms(outer, (For(chunk, Const(0), Const(-(-inner.size // COPIED_TERMS)), 1, (body,)),))

    def over_terms(self, terms: Axes, body: tuple[Stmt, ...]) -> Stmt:
        """The loops over these terms around `body`, which has them by the names of the nest."""
        own = {name: next(self.names) for name in terms.extents}
        body = substitute(body, {name: Var(new) for name, new in own.items()})
        for name, new in reversed([*own.items()]):
            body = (For(new, Const(0), Const(terms.extents[name]), 1, body),)
        (stmt,) = body
        return stmt
