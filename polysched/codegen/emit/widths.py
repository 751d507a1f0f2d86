"""For which sizes a kernel may count in 32 bits: when no value of its index arithmetic leaves them.

    for i in 0..n:
        for j in 1..m:              ->      n * m is at most 2^31 - 1
            ... A[i * m + j] ...

Values are polynomials in the sizes and in what has a range: loop variables, numbers of blocks and threads, quotients,
minima. To bound one, what has a range is replaced by an end of it, innermost first, since the ends of inner ranges are
made of outer variables; which end, the sign of its factor says. So i - 8 * b, for i in 8 * b..8 * b + 8, is at most 7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from fractions import Fraction

from polysched.codegen.emit.sufficient import strength, sufficient
from polysched.ir.dtypes import i64
from polysched.ir.node import walk
from polysched.ir.nodes import Binary, Call, Cast, Const, Expr, For, Let, Load, Select, Stmt, Unary, Var
from polysched.ir.polynomial import Polynomial
from polysched.ir.rename import bound_names
from polysched.ir.text import show

_MOST_STEPS = 3_000  # of replacing a variable, in one kernel

Range = tuple[Expr, Expr]  # the least and the largest value


def conditions(
    indices: Iterable[Expr], ranges: Mapping[str, Range], lets: Mapping[str, Expr], sizes: Iterable[str]
) -> tuple[Polynomial, ...] | None:
    """Polynomials in `sizes`, with positive integers: where the sizes are positive and none of these is above 2^31 - 1,
    neither is the absolute value of any part of `indices`. None if some part has no bound that is known.

    `ranges` and `lets` are of the other names in `indices`, in the ends of ranges and in the values of `lets`.
    """
    bounds = _Bounds(ranges, lets, frozenset(sizes))
    found: list[Polynomial] = []
    try:
        for part in dict.fromkeys(node for index in indices for node in walk(index) if node.dtype == i64):
            value = bounds.polynomial(part)
            found += (*bounds.upper(value), *bounds.upper(-value))
    except _Unbounded:
        return None
    return sufficient(found)


def wide_names(body: tuple[Stmt, ...], data: Set[str]) -> set[str]:
    """The i64 names that stay of 64 bits: `data`, what is made of data, and what is bound more than once."""
    wide = {name for name, count in Counter(bound_names(body)).items() if count > 1} | data
    for node in walk(body):
        match node:
            case For(var, lo, hi) if holds_data(lo, wide) or holds_data(hi, wide):
                wide.add(var)
            case Let(name, value) if holds_data(value, wide):
                wide.add(name)
    return wide


def holds_data(expr: Expr, wide: Set[str]) -> bool:
    """Is the expression made of anything but loop variables, sizes and constants?"""
    nodes = walk(expr)
    return any(isinstance(node, Load | Call | Cast) or (isinstance(node, Var) and node.name in wide) for node in nodes)


def range_of(loop: For) -> Range:
    """The values of the loop's variable in its body."""
    if loop.step > 0:
        return loop.lo, Binary("-", loop.hi, Const(1))
    return Binary("+", loop.hi, Const(1)), loop.lo


class _Unbounded(Exception):
    """Some value has no bound that is known."""


@dataclass(frozen=True)
class _End:
    """What a value does not pass: any of the `limits`, or not all of them."""

    limits: tuple[Polynomial, ...]
    passes_some: bool = False


@dataclass(frozen=True)
class _Ends:
    low: _End
    high: _End
    depth: int  # more than that of any name in them


_UNUSED = _End((Polynomial(),))


@dataclass
class _Bounds:
    ranges: Mapping[str, Range]
    lets: Mapping[str, Expr]
    sizes: frozenset[str]
    ends: dict[str, _Ends] = field(default_factory=dict)  # of all that has a range in `polynomials`
    polynomials: dict[Expr, Polynomial] = field(default_factory=dict)
    uppers: dict[Polynomial, list[Polynomial]] = field(default_factory=dict)

    # --- expressions as polynomials

    def polynomial(self, expr: Expr) -> Polynomial:
        if expr not in self.polynomials:
            self.polynomials[expr] = self.translated(expr)
        return self.polynomials[expr]

    def translated(self, expr: Expr) -> Polynomial:
        match expr:
            case Const(int(value)):
                return Polynomial.number(value)
            case Var(name) if name in self.sizes:
                return Polynomial.name(name)
            case Var(name) if name in self.lets:
                return self.polynomial(self.lets[name])
            case Var(name) if name in self.ranges:
                low, high = self.ranges[name]
                return self.between(name, _End((self.polynomial(low),)), _End((self.polynomial(high),)))
            case Unary("-", arg):
                return -self.polynomial(arg)
            case Binary("+", left, right):
                return self.polynomial(left) + self.polynomial(right)
            case Binary("-", left, right):
                return self.polynomial(left) - self.polynomial(right)
            case Binary("*", left, right):
                return self.polynomial(left) * self.polynomial(right)
            case Binary("<<", left, Const(int(shift))) if 0 <= shift < 64:
                return self.polynomial(left) * (1 << shift)
            case Binary(">>", left, Const(int(shift))) if 0 <= shift < 64:
                return self.polynomial(Binary("floordiv", left, Const(1 << shift)))
            case Binary("min" | "max" as op, left, right):
                both = self.polynomial(left), self.polynomial(right)
                return self.between(show(expr), _End(both, op == "min"), _End(both, op == "max"))
            case Select(_, then, other):
                both = self.polynomial(then), self.polynomial(other)
                return self.between(show(expr), _End(both, True), _End(both, True))
            case Binary("floordiv" | "truncdiv" | "floormod" | "truncmod" | "&" as op, left, right):
                return self.between(show(expr), *self.divided(op, self.polynomial(left), self.polynomial(right)))
        raise _Unbounded

    def divided(self, op: str, value: Polynomial, divisor: Polynomial) -> tuple[_End, _End]:
        """The ends of a quotient or a remainder. A divisor that is not negative is positive: division by zero traps."""
        zero = Polynomial()
        if not divisor or not self.is_nonnegative(divisor):
            raise _Unbounded
        if op == "&":  # of bits that no negative number limits
            return _End((zero,)), _End((divisor,))
        floors = op.startswith("floor") or self.is_nonnegative(value)
        if op.endswith("mod"):
            return _End((zero if floors else -(divisor - 1),)), _End((divisor - 1,))
        if divisor.degree > 0:
            return _End((value, zero), True), _End((value, zero), True)
        exact, slack = value * Fraction(1, divisor.constant), 1 - Fraction(1, divisor.constant)
        return _End((exact - slack,)), _End((exact if floors else exact + slack,))

    def between(self, name: str, low: _End, high: _End) -> Polynomial:
        """A name for what has these ends."""
        if name not in self.ends:
            inner = {inner for end in (*low.limits, *high.limits) for inner in end.names}
            depth = 1 + max((self.ends[name].depth for name in inner if name in self.ends), default=0)
            self.ends[name] = _Ends(low, high, depth)
        return Polynomial.name(name)

    # --- bounds of polynomials

    def upper(self, value: Polynomial) -> list[Polynomial]:
        """Polynomials in the sizes, the largest of which `value` does not exceed."""
        if value not in self.uppers:
            if len(self.uppers) >= _MOST_STEPS:
                raise _Unbounded
            self.uppers[value] = self.without_ranges(value)
        return self.uppers[value]

    def without_ranges(self, value: Polynomial) -> list[Polynomial]:
        ranged = [name for name in value.names if name in self.ends]
        if not ranged:
            return [value]
        name = max(ranged, key=lambda name: (self.ends[name].depth, name))
        factor, rest = value.split(name)  # value = factor * name + rest
        if name in factor.names:  # powers of the name: none falls as it rises, if it is never negative
            self.require_nonnegative({name, *factor.names})
            rising, falling = factor.rising, Polynomial()
        elif self.is_nonnegative(factor):
            rising, falling = factor, Polynomial()
        elif self.is_nonnegative(-factor):
            rising, falling = Polynomial(), factor
        else:
            self.require_nonnegative(factor.names)
            rising, falling = factor.rising, -(-factor).rising
        ends = self.ends[name]
        return _chosen(
            ends.high if rising else _UNUSED,
            lambda most: _chosen(
                ends.low if falling else _UNUSED,
                lambda least: self.upper(rest + rising.replaced(name, most) * most + falling * least),
            ),
        )

    def is_nonnegative(self, value: Polynomial) -> bool:
        """Is the value certain not to be below zero?"""
        try:
            return all(bound.is_nonpositive() for bound in self.upper(-value))
        except _Unbounded:
            return False

    def require_nonnegative(self, names: Iterable[str]) -> None:
        if not all(self.is_nonnegative(Polynomial.name(name)) for name in names):
            raise _Unbounded


def _chosen(end: _End, upper: Callable[[Polynomial], list[Polynomial]]) -> list[Polynomial]:
    """The upper bounds with a limit of this end: with all of them, or with the one that asks least of the sizes."""
    if end.passes_some:
        return [bound for limit in end.limits for bound in upper(limit)]
    results = []
    for limit in end.limits:
        try:
            results.append(upper(limit))
        except _Unbounded:
            continue
    if not results:
        raise _Unbounded
    return min(results, key=lambda result: (max(map(strength, result)), len(result)))
