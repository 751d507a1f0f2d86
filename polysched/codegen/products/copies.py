"""Copies of a factor, as the tiles read it: rows one after the other, or the columns of each term.

    P[k, q] = data[c, y + r, x + s]         for k = (c, r, s), for q = (y, x) in a block

Zeros around data are stored before what lies inside of it, whose guards become bounds of loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from polysched.codegen.products.axes import digits, lies_by_terms, number
from polysched.ir.build import add, binary, floordiv, mul, sub
from polysched.ir.node import substitute, walk
from polysched.ir.nodes import Alloc, Array, Const, Expr, For, If, Select, Stmt, Store, Var
from polysched.ir.simplify import simplify
from polysched.transform.products import Axes

_CHUNK = 64  # terms, of which a few lines each fit into the first cache


@dataclass(frozen=True)
class Copy:
    """Of `value` for the numbers `first`..`end` of `axes`, which go up to a multiple of `lanes`, and all terms."""

    array: Array  # [number, term], or with `by_terms` [term, number]
    by_terms: bool
    value: Expr
    axes: Axes
    terms: Axes
    is_flat: bool  # does the factor lie in memory number by number,
    is_row: bool  # and does it, term by term?
    lanes: int
    names: Iterator[str]

    def index(self, place: Expr, term: Expr) -> tuple[Expr, Expr]:
        """Where the copy has a term of the number that is `place` after the first."""
        return (term, place) if self.by_terms else (place, term)

    def filled(self, first: Expr, end: Expr, *, shared: bool) -> tuple[Stmt, ...]:
        """The array and the loops that fill it, which threads share if `shared`."""
        lines = self.lines(first, end)
        if not self.by_terms:
            return (Alloc(self.array), *(self.by_rows(line, shared) for line in lines))
        if lies_by_terms(self.value, self.terms):
            return (Alloc(self.array), *(stmt for line in lines for stmt in self.in_chunks(line, shared)))
        # Else gcc 12 unrolls short lines in a loop over terms, and stores their zeros last.
        if self.is_guarded_by_terms:
            lines = [_innermost(line, lambda loop: replace(loop, kind="vector")) for line in lines]
        return (Alloc(self.array), *self.over_terms(tuple(lines), shared))

    @property
    def is_guarded_by_terms(self) -> bool:
        """Are there zeros for whole lines?"""
        match self.value:
            case Select(cond):
                return not any(isinstance(node, Var) and node.name in self.axes.extents for node in walk(cond))
        return False

    def lines(self, first: Expr, end: Expr) -> list[For]:
        """The loops over numbers that store one term."""

        def stored(at: Expr, value: Expr) -> Store:
            return Store(self.array.name, self.index(simplify(sub(at, first)), number(self.terms)), value)

        match self.value:
            case Select(cond, then, Const() as other):
                zeros = replace(self, is_flat=True).line(first, end, lambda at, _: stored(at, other))
                lines = [zeros, self.line(first, end, lambda at, own: _under(cond, stored(at, then), own))]
            case value:
                lines = [self.line(first, end, lambda at, own: _under(None, stored(at, value), own))]
        if self.axes.size % self.lanes:
            x, whole = next(self.names), -(-self.axes.size // self.lanes) * self.lanes
            most = binary("min", add(first, self.array.shape[1]), whole)
            lines.append(For(x, end, most, 1, (stored(Var(x), Const(0, self.array.dtype)),)))
        return lines

    def line(self, first: Expr, end: Expr, body: Callable[[Expr, Mapping[str, Expr]], Stmt]) -> For:
        """What `body` gives for the numbers `first`..`end`, and for the loops' variables that they are."""
        *outer, (name, length) = self.axes.extents.items()
        x = next(self.names)
        if not outer or self.is_flat:
            return For(x, first, end, 1, (body(Var(x), digits(self.axes, Var(x))),))
        r = next(self.names)
        start = mul(Var(r), length)
        inner = body(add(start, Var(x)), {**digits(Axes(dict(outer)), Var(r)), name: Var(x)})
        row = For(x, binary("max", 0, sub(first, start)), binary("min", length, sub(end, start)), 1, (inner,))
        return For(r, floordiv(first, length), add(floordiv(sub(end, 1), length), 1), 1, (row,))

    def by_rows(self, line: For, shared: bool) -> For:
        """The line with the loops over terms inside of its own."""
        new = _innermost(line, lambda loop: replace(loop, body=self.over_terms(loop.body, shared=False)))
        return replace(new, kind="parallel" if shared else "serial")

    def in_chunks(self, line: For, shared: bool) -> tuple[Stmt, ...]:
        """The line with a chunk of terms inside: it is read as it lies, and what is written stays in the cache."""
        axes = [*self.terms.extents.items()]
        outer, inner = ({}, self.terms) if self.is_row else (dict(axes[:-1]), Axes(dict(axes[-1:])))
        chunk, k = next(self.names), next(self.names)
        first = mul(Var(chunk), _CHUNK)
        end = binary("min", add(first, _CHUNK), inner.size)

        def with_chunk(loop: For) -> For:
            return replace(loop, body=(For(k, first, end, 1, substitute(loop.body, digits(inner, Var(k)))),))

        new = _innermost(line, with_chunk)
        kind = "parallel" if shared and not outer else "serial"
        body = (For(chunk, Const(0), Const(-(-inner.size // _CHUNK)), 1, (new,), kind),)
        return replace(self, terms=Axes(outer)).over_terms(body, shared)

    def over_terms(self, body: tuple[Stmt, ...], shared: bool) -> tuple[Stmt, ...]:
        """The loops over all terms around `body`, which has them by the names of the nest."""
        own = {name: next(self.names) for name in self.terms.extents}
        body = substitute(body, {name: Var(new) for name, new in own.items()})
        for depth, (name, new) in reversed([*enumerate(own.items())]):
            kind = "parallel" if shared and depth == 0 else "serial"
            body = (For(new, Const(0), Const(self.terms.extents[name]), 1, body, kind),)
        return body


def _innermost(loop: For, change: Callable[[For], For]) -> For:
    """The loops with a change of the innermost, where each is all there is in the one around it."""
    match loop.body:
        case (For() as inner,):
            return replace(loop, body=(_innermost(inner, change),))
    return change(loop)


def _under(cond: Expr | None, stmt: Stmt, names: Mapping[str, Expr]) -> Stmt:
    guarded = stmt if cond is None else If(cond, (stmt,))
    new: Stmt = substitute(guarded, dict(names))
    return new
