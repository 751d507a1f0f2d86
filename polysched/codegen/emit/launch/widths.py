"""For which sizes a kernel may count in 32 bits: when no value of its index arithmetic leaves them.

    for i in 0..n:
        for j in 1..m:              ->      n * m is at most 2^31 - 1
            ... A[i * m + j] ...

Index arithmetic that differs in names alone, as in the steps of a recurrence, is of one shape, and has the same bounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set

from polysched.codegen.emit.launch.census import is_data
from polysched.codegen.emit.launch.sufficient import sufficient
from polysched.codegen.lowered import operation
from polysched.ir.dtypes import i32, i64
from polysched.ir.integers.bounds import Bounds, Range, Unbounded
from polysched.ir.integers.intervals import Interval, holds, interval
from polysched.ir.integers.polynomial import Monomial, Number, Polynomial
from polysched.ir.node import statements, walk
from polysched.ir.nodes import Expr, For, Let, Stmt, Var
from polysched.ir.rename import bound_names


def shape_of(exprs: Iterable[Expr], ranges: Mapping[str, Range], lets: Mapping[str, Expr]) -> object:
    """The same for expressions, and for what their names have ends or values of, that differ in these names alone."""
    numbers: dict[str, int] = {}
    shape: list[object] = []
    rest = list(exprs)
    for expr in rest:  # which grows
        for node in walk(expr):
            if isinstance(node, Var) and (node.name in ranges or node.name in lets):
                if node.name not in numbers:
                    numbers[node.name] = len(numbers)
                    rest += [lets[node.name]] if node.name in lets else ranges[node.name]
                shape.append((numbers[node.name], node.name in lets, node.dtype))
            else:
                shape.append(operation(node))
    return tuple(shape)


def conditions(
    indices: Iterable[Expr], ranges: Mapping[str, Range], lets: Mapping[str, Expr], sizes: Iterable[str]
) -> tuple[Polynomial, ...] | None:
    """Polynomials in `sizes`, with positive integers: where the sizes are positive and none of these is above 2^31 - 1,
    neither is the absolute value of any part of `indices`. None if some part has no bound that is known.

    `ranges` and `lets` are of the other names in `indices`, in the ends of ranges and in the values of `lets`.
    """
    bounds = Bounds(ranges, lets, frozenset(sizes))
    try:
        parts = dict.fromkeys(node for index in indices for node in walk(index) if node.dtype == i64)
        fits = _Intervals(ranges, lets).fits
        values = dict.fromkeys(bounds.polynomial(part) for part in parts if not fits(part))
        counts, most = {value for value in values if bounds.is_sum_of_counts(value)}, bounds.largest_numbers()
        sums = dict.fromkeys(value.with_numbers(most) for value in values if value in counts)
        signed = [each for value in values if value not in counts for each in (value, -value)]
        return sufficient(upper for value in (*_largest(sums), *signed) for upper in bounds.upper(value))
    except Unbounded:
        return None


class _Intervals:
    """Numbers that values lie between whatever the sizes are, found by less work than polynomials."""

    def __init__(self, ranges: Mapping[str, Range], lets: Mapping[str, Expr]):
        self.ranges, self.lets = ranges, lets
        self.found: dict[Expr, Interval] = {}

    def fits(self, part: Expr) -> bool:
        """Is it one of 32 bits, if the parts of it are?"""
        return holds(i32, self.interval(part))

    def interval(self, expr: Expr) -> Interval:
        if expr not in self.found:
            self.found[expr] = self._interval(expr)
        return self.found[expr]

    def _interval(self, expr: Expr) -> Interval:
        match expr:
            case Var(name) if name in self.lets:
                return self.interval(self.lets[name])
            case Var(name) if name in self.ranges:
                low, high = self.ranges[name]
                return self.interval(low)[0], self.interval(high)[1]
        return interval(expr, self.interval)


def _largest(sums: Iterable[Polynomial]) -> Iterator[Polynomial]:
    """Those of these sums of counts that no other one has all terms of, as many times: it would not be less."""
    kept: dict[Monomial, list[Mapping[Monomial, Number]]] = {}  # those with the term
    for value in sorted(sums, key=lambda each: (len(each.terms), sum(factor for _, factor in each)), reverse=True):
        others = min((kept.get(monomial, []) for monomial, _ in value), key=len, default=())
        if not any(all(factor <= other.get(monomial, 0) for monomial, factor in value) for other in others):
            factors = dict(value.terms)
            for monomial in factors:
                kept.setdefault(monomial, []).append(factors)
            yield value


def wide_names(body: tuple[Stmt, ...], data: Set[str]) -> set[str]:
    """The i64 names that stay of 64 bits: `data`, what is made of data, and what is bound more than once."""
    wide = {name for name, count in Counter(bound_names(body)).items() if count > 1} | data
    for stmt in statements(body):
        match stmt:
            case For(var, lo, hi) if is_data(lo, wide) or is_data(hi, wide):
                wide.add(var)
            case Let(name, value) if is_data(value, wide):
                wide.add(name)
    return wide
