"""Outer loops that store an element again in a later iteration: gcc 12 may leave the earlier value there.

    for i in 0..n:                          for (...) {
        for j in 0..n:           ->             __asm__ volatile ("");
            A[i + j] = B[i]                     for (...) { A[i + j] = B[i]; }

With -O3 gcc runs several iterations of such a loop as vectors, and does not ask whether a store depends on itself. A
loop with an asm statement in it is no vector; the loop inside still may be.

Rows of an array are told apart by their sizes: i * n + j and i * (n + 1) + j are elements of different rows i, as
subscripts stay inside of arrays. Only where the steps of both loops are multiples of one number, as 1 and 1 or n and
2 * n, may elements be the same; numbers are compared with how far the loops run.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from polysched.codegen.emit.gcc.overwriting import is_unrolled
from polysched.ir.dtypes import i64
from polysched.ir.integers.intervals import Interval, interval
from polysched.ir.integers.polynomial import Polynomial, polynomial_of
from polysched.ir.integers.trips import most_trips
from polysched.ir.node import loaded, statements, walk
from polysched.ir.nodes import Expr, For, Function, Let, Load, Store, Var

_FAR = 1 << 62


def storing_again(fn: Function) -> frozenset[int]:
    """The id() of each loop around an innermost one that may store an element which an earlier iteration stored."""
    known = _Known(dict.fromkeys(fn.sizes, (0, _FAR)))
    for node in walk(fn.body):
        known.meet(node)
    loops = (node for node in statements(fn.body) if isinstance(node, For) and node.kind != "vector")
    return frozenset(id(loop) for loop in loops if known.stores_again(loop))


@dataclass
class _Known:
    """What the names of a function are: bound once, they may be read in any order."""

    ranges: dict[str, Interval]
    values: dict[str, Polynomial] = field(default_factory=dict)  # of Lets

    def meet(self, node: object) -> None:
        """A loop or a Let, whose operands have been met."""
        match node:
            case Let(name=name, value=value) if value.dtype == i64:
                self.values[name], self.ranges[name] = self.polynomial(value), self.range(value)
            case For(var=var, lo=lo, hi=hi, step=step):
                low, high = (lo, hi) if step > 0 else (hi, lo)
                self.ranges[var] = self.range(low)[0], self.range(high)[1]

    def stores_again(self, outer: For) -> bool:
        """May a store in the only loop inside that is not unrolled do so?"""
        inner = [node for node in statements(outer.body) if isinstance(node, For) and not is_unrolled(node)]
        if len(inner) != 1:
            return False
        stores = [node for node in statements(inner[0].body) if isinstance(node, Store) and node.index]
        compared = loaded(inner[0].body)  # by gcc
        return any(self.are_alike(outer, inner[0], store) for store in stores if store.array not in compared)

    def are_alike(self, outer: For, inner: For, store: Store) -> bool:
        """May the store be to one element in two iterations of the outer loop, and in different ones of the inner?"""
        index = self.polynomial(store.index[0])
        if any(name.startswith("(") for name in index.names):
            return True
        one, other = index.split(outer.var)[0], index.split(inner.var)[0]
        if not one or not other or one * other.terms[0][1] != other * one.terms[0][1]:  # not proportional
            return False
        if one.degree or other.degree:
            return True
        by, across = abs(int(one.constant)), abs(int(other.constant))
        return by * abs(outer.step) <= across * self.span(inner) and across * abs(inner.step) <= by * self.once(outer)

    def span(self, loop: For) -> int:
        """How far apart the first and the last value of its variable are at most."""
        low, high = self.ranges[loop.var]
        return max(0, high - 1 - low)

    def once(self, loop: For) -> int:
        """The same while it runs once, from its lower bound then."""
        trips = most_trips(loop.lo, loop.hi, loop.step)
        return self.span(loop) if trips is None else min(self.span(loop), max(0, trips - 1) * abs(loop.step))

    def polynomial(self, expr: Expr) -> Polynomial:
        """The value; what is no sum and no product has a name of its own."""
        if isinstance(expr, Var):
            return self.values.get(expr.name, Polynomial.name(expr.name))
        found = polynomial_of(expr, self.polynomial)
        return Polynomial.name(f"({expr})") if found is None else found

    def range(self, expr: Expr) -> Interval:
        match expr:
            case Var(name) if name in self.ranges:
                return self.ranges[name]
            case Var() | Load():
                return -_FAR, _FAR
        return interval(expr, self.range)
