"""How many points a set has, as polynomials in the sizes.

    { S[i, j] : 0 <= i < n and i <= j < n }      n**2 / 2 + n / 2      where n >= 1
    { [x] : 0 <= x < 2n, x mod 2 = 0 }           n                     where n >= 1

A dimension at a time is summed over, from the last on, between its least and its largest value (Faulhaber's formula);
what these are, and hence the polynomial, may differ from part to part of the set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, permutations

from polysched.errors import BudgetExceeded
from polysched.ir.integers.polynomial import Polynomial, summed
from polysched.support import isl

_OPERATIONS = 200_000  # of isl for one set; those of PolyBench take some thousands


@dataclass(frozen=True)
class Cardinality:
    """How many points a set has: the sum of the polynomials of those parts whose condition holds."""

    parts: tuple[tuple[isl.Set, Polynomial], ...]  # { : conditions on the sizes }

    def formula(self, sizes: isl.Set) -> Polynomial:
        """The number at these sizes, a point, and wherever `within` says."""
        total = Polynomial()
        for condition, polynomial in self.parts:
            if not condition.is_disjoint(sizes):
                total += polynomial
        return total

    def within(self, where: isl.Set, sizes: isl.Set) -> isl.Set:
        """Those of the sizes `where` for which the same parts count as for `sizes`, a point."""
        for condition, _ in self.parts:
            where = where.subtract(condition) if condition.is_disjoint(sizes) else where.intersect(condition)
        return where.coalesce()


def large_sizes(known: isl.Set) -> isl.Set:
    """A point { : n = 100000 and m = 1000000 } of these sizes where all are large and far apart, in the order in which
    they come if possible; any point if there is none."""
    count = known.dim(isl.dim_type.param)
    for order in islice(permutations(range(count)), _ORDERS):
        point = known
        for k, place in enumerate(order):
            point = point.fix_val(isl.dim_type.param, k, isl.Val(_LARGE * 10**place))
        if not point.is_empty():
            return point
    return isl.Set.from_params(known).params().intersect(isl.Set.from_point(known.sample_point()).params())


_LARGE, _ORDERS = 100_000, 720  # all orders of six sizes


def cardinality(points: isl.Set) -> Cardinality | None:
    """The number of points of the set; None if polynomials cannot tell, as of n // 2 points, or if it is infinite."""
    count = points.dim(isl.dim_type.set)
    points = points.reset_tuple_id()
    for k in range(count):
        points = points.set_dim_name(isl.dim_type.set, k, f"{_POINT}{k}")
    try:
        with isl.within(operations=_OPERATIONS):
            return Cardinality(tuple(_parts(points.coalesce(), Polynomial.number(1))))
    except (_NoPolynomial, BudgetExceeded):
        return None


_POINT = "point_"  # coordinates are called so, for no size is likely to be


class _NoPolynomial(Exception):
    """The bounds of a dimension are not affine, or there are holes in it."""


def _parts(points: isl.Set, weight: Polynomial) -> Iterator[tuple[isl.Set, Polynomial]]:
    """What the weights of the points add up to."""
    count = points.dim(isl.dim_type.set)
    if points.is_empty() or not weight:
        return
    if count == 0:
        yield points.params(), weight
        return
    try:
        inner = list(_without_last(points, weight, count))
    except _NoPolynomial:
        pieces = points.make_disjoint().get_basic_sets()
        if len(pieces) < 2:
            raise
        for piece in pieces:
            yield from _parts(isl.Set.from_basic_set(piece), weight)
        return
    for outer, total in inner:
        yield from _parts(outer, total)


def _without_last(points: isl.Set, weight: Polynomial, count: int) -> Iterator[tuple[isl.Set, Polynomial]]:
    """The points without their last coordinate, and what the weights add up to along it."""
    name = f"{_POINT}{count - 1}"
    sizes = points.dim(isl.dim_type.param)
    line = points.move_dims(isl.dim_type.param, sizes, isl.dim_type.set, 0, count - 1)
    if not (line.dim_has_lower_bound(isl.dim_type.set, 0) and line.dim_has_upper_bound(isl.dim_type.set, 0)):
        raise _NoPolynomial
    step = line.get_stride(0).to_python()
    for least_where, least in line.dim_min(0).get_pieces():
        for last_where, last in line.dim_max(0).get_pieces():
            where = least_where.intersect(last_where)
            if where.is_empty():
                continue
            lo, hi = _polynomial(least), _polynomial(last)
            if not line.intersect_params(where).is_equal(_every(step, least, last, where)):
                raise _NoPolynomial
            at = Polynomial.name(name) * step + lo
            trips = (hi - lo) * Fraction(1, step) + 1
            total = summed(weight.replaced(name, at), name, Polynomial(), trips)
            outer = isl.Set.universe(where.get_space()).intersect(where)
            yield _as_points(outer, sizes, count - 1), total


def _every(step: int, least: isl.Aff, last: isl.Aff, where: isl.Set) -> isl.Set:
    """{ [x] : x = least + step * k, least <= x <= last }"""
    first, end = (isl.Set.from_pw_aff(isl.PwAff.from_aff(bound)) for bound in (least, last))
    ahead = isl.Map(f"{{ [x] -> [y] : y >= x and (y - x) mod {step} = 0 }}")
    return first.apply(ahead).intersect(end.apply(isl.Map("{ [x] -> [y] : y <= x }"))).intersect_params(where)


def _as_points(conditions: isl.Set, sizes: int, count: int) -> isl.Set:
    """The parameters behind the sizes as coordinates."""
    points = isl.Set.from_params(conditions) if conditions.is_params() else conditions
    return points.move_dims(isl.dim_type.set, 0, isl.dim_type.param, sizes, count)


def _polynomial(bound: isl.Aff) -> Polynomial:
    """The affine function of sizes."""
    if bound.dim(isl.dim_type.div):
        raise _NoPolynomial
    factors = [bound.get_coefficient_val(isl.dim_type.param, k) for k in range(bound.dim(isl.dim_type.param))]
    monomials = [(), *((name,) for name in isl.sizes_of(bound))]
    values = (Fraction(value.to_str()) for value in (bound.get_constant_val(), *factors))
    return Polynomial.of(zip(monomials, values, strict=True))
