"""Ranges of values that meet what a nest asks of its data.

    h[x[i]] += 1                 with h: i64[64]        x is from 0 to 63
    a[i] = (u8) (b[i] - 300.0)                          b is from 300 to 555

Values are bounded as `ir/integers/intervals.py` does it: an operation at a time, and guards are not looked at. So
ranges that are found are right, and where none are, there may be some all the same: the interpreter decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite

from polysched.check.trials.demands import Bound, Demand, Demands, Scope
from polysched.ir.dtypes import DType
from polysched.ir.integers.intervals import interval, whole
from polysched.ir.interp import evaluate
from polysched.ir.node import children
from polysched.ir.nodes import Array, Binary, Cast, Const, Expr, Function, Load, Select, Unary, Var

Range = tuple[float, float]  # the least and the largest value; whole numbers, or infinite
Ranges = dict[str, Range]  # of arrays and scalars, by name


def ranges_of(demands: Demands, sizes: Mapping[str, int], usual: Ranges) -> Ranges | None:
    """Ranges that meet all demands: of integers as wide as they may be, of floats the usual ones where these do.
    None if none are found."""
    search = _Search(demands, sizes, dict(usual))
    return search.ranges if search.find() else None


def widened(demands: Demands, ranges: Ranges, by: int = 2) -> Ranges:
    """Ranges beyond what is asked for where a condition holds: it is to be false at times."""
    always = {name for demand in demands.all if not demand.is_guarded for name in demand.sources}
    wider = dict(ranges)
    for name in set(demands.sources) - always:
        (least, most), (low, high) = _every(_dtype(demands.nest, name)), ranges[name]
        wider[name] = max(low - by, least), min(high + by, most)
    return wider


_EVERY = (-inf, inf)
_SEEDS = (0, 1, 2, *(sign * (1 << k) for k in range(2, 48) for sign in (1, -1)), -1)
_FARTHEST, _FAR = 256, 4  # from zero: in all, or times an extent


@dataclass
class _Search:
    """Looks for ranges: the usual ones, or values from which ranges grow by turns, so that each gets its share."""

    demands: Demands
    sizes: Mapping[str, int]
    ranges: Ranges

    def __post_init__(self) -> None:
        self.asked = self.demands.all
        extents = (evaluate(demand.high, self.sizes) for demand in self.asked if isinstance(demand.high, Expr))
        self.farthest = max([_FARTHEST, *(_FAR * extent for extent in extents)])

    def find(self) -> bool:
        """Whether ranges were found; they are in `ranges`."""
        bad = {name for demand in self.asked if not self.holds(demand) for name in demand.sources}
        names = [name for name in self.demands.sources if name in bad or not _dtype(self.demands.nest, name).is_float]
        decided = set(self.ranges) - set(names)
        for name in names:
            decided.add(name)
            known = [demand for demand in self.asked if name in demand.sources and demand.sources <= decided]
            seed = next((seed for seed in _SEEDS if self.is_possible(name, (seed, seed), known)), None)
            if seed is None:
                return False
            self.ranges[name] = (seed, seed)
        self.grow(names)
        return all(map(self.holds, self.asked))

    def grow(self, names: list[str]) -> None:
        steps = {(name, side): 1 for name in names for side in (0, 1)}
        halved: set[tuple[str, int]] = set()
        while steps:
            for key in list(steps):
                (name, side), step = key, steps[key]
                low, high = self.ranges[name]
                wider = (low - step, high) if side == 0 else (low, high + step)
                touched = [demand for demand in self.asked if name in demand.sources]
                is_near = abs(wider[side]) <= max(self.farthest, 2 * abs(low))
                if is_near and self.is_possible(name, wider, touched):
                    self.ranges[name] = wider
                    steps[key] = step // 2 if key in halved else 2 * step
                else:
                    halved.add(key)
                    steps[key] = step // 2
                if not steps[key]:
                    del steps[key]

    def is_possible(self, name: str, candidate: Range, asked: Iterable[Demand]) -> bool:
        """Do these demands hold if the values of `name` are in the candidate?"""
        low, high = _every(_dtype(self.demands.nest, name))
        if not low <= candidate[0] <= candidate[1] <= high:
            return False
        before, self.ranges[name] = self.ranges[name], candidate
        try:
            return all(map(self.holds, asked))
        finally:
            self.ranges[name] = before

    def holds(self, demand: Demand) -> bool:
        low, high = _Values(self.demands, self.sizes, self.ranges).of(demand.expr, demand.scope)
        most = evaluate(demand.high, self.sizes) - 1 if isinstance(demand.high, Expr) else demand.high
        return (demand.low <= low and high <= most) or low > high  # nothing runs


@dataclass
class _Values:
    """Bounds of values, if those of the caller's arrays and scalars are in `ranges`."""

    demands: Demands
    sizes: Mapping[str, int]
    ranges: Ranges
    names: dict[int, Range] = field(default_factory=dict)  # by what they stand for
    elements: dict[str, Range] = field(default_factory=dict)  # of arrays; while one is being looked at, any

    def of(self, expr: Expr, scope: Scope) -> Range:
        """The least and the largest value; the largest is less where a loop around never runs."""
        match expr:
            case Const(value):
                return value, value
            case Var(name) if name in scope:
                return self.bound(scope[name])
            case Var(name):
                return self.ranges[name] if name in self.ranges else (self.sizes[name], self.sizes[name])
            case Load(array, _, _):
                return self.element(array)
            case Cast(arg, dtype) if arg.dtype.is_float and dtype.is_integer:
                low, high = self.of(arg, scope)
                return (int(low), int(high)) if isfinite(low) and isfinite(high) else whole(dtype)
        return _within(expr, lambda child: self.of(child, scope))

    def bound(self, bound: Bound) -> Range:
        if id(bound) not in self.names:
            first, *rest = [self.of(expr, bound.scope) for expr in bound.exprs]
            if rest:
                (end,) = rest
                first = (first[0], end[1] - 1) if bound.step > 0 else (end[0] + 1, first[1])
            self.names[id(bound)] = first
        return self.names[id(bound)]

    def element(self, array: str) -> Range:
        if array not in self.elements:
            self.elements[array] = _EVERY
            found = [self.of(bound.exprs[0], bound.scope) for bound in self.demands.stores.get(array, ())]
            found += [self.ranges[array]] if array in self.ranges else []
            if found:
                self.elements[array] = min(low for low, _ in found), max(high for _, high in found)
        return self.elements[array]


def _within(expr: Expr, inner: Callable[[Expr], Range]) -> Range:
    """Bounds of an operation's value from those of its operands."""
    operands = [inner(child) for child in children(expr)]
    if expr.dtype.is_float:
        match expr:
            case Unary("-") | Select() | Cast() | Binary("+" | "-" | "*" | "min" | "max") if _are_finite(operands):
                return operands[0] if isinstance(expr, Cast) else interval(expr, inner)  # type: ignore[arg-type]
        return _EVERY
    if not _are_finite(operands):
        clamped = isinstance(expr, Binary) and expr.op in ("min", "max")
        return interval(expr, inner) if clamped else whole(expr.dtype)  # type: ignore[arg-type]
    low, high = interval(expr, inner)  # type: ignore[arg-type]
    least, most = whole(expr.dtype)
    return (low, high) if least <= low and high <= most else (least, most)  # it may wrap


def _are_finite(ranges: Iterable[Range]) -> bool:
    return all(isfinite(low) and isfinite(high) for low, high in ranges)


def _every(dtype: DType) -> Range:
    return _EVERY if dtype.is_float else whole(dtype)


def _dtype(nest: Function, name: str) -> DType:
    named: tuple[Array | Var, ...] = (*nest.arrays, *nest.scalars)
    return next(it.dtype for it in named if it.name == name)
