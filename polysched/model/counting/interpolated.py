"""The number of points of a set as a polynomial through counts at small sizes, where no sum tells it.

    { [2i + 3j] : 0 <= i, j < n }        44, 49, 54, ... at n = 10, 11, 12, ...        ->        5 * n - 6

It is fitted, not proven: it also holds at larger sizes than those that it was made from, but only these are tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement, product
from math import prod

from polysched.errors import BudgetExceeded
from polysched.ir.integers.polynomial import Polynomial
from polysched.support import isl
from polysched.support.echelon import reduced

SMALLEST = 10  # the sizes from which on it is tried
_MOST_TERMS = 40
_OPERATIONS = 2_000_000  # of isl, for all counts


def interpolated(points: isl.Set) -> Polynomial | None:
    """The polynomial, for sizes of `SMALLEST` or more; None if none fits, or it would take too long to count."""
    names = isl.sizes_of(points)
    degree = points.dim(isl.dim_type.set)
    monomials = [m for d in range(degree + 1) for m in combinations_with_replacement(range(len(names)), d)]
    if len(monomials) > _MOST_TERMS:
        return None
    samples = [tuple(SMALLEST + m.count(k) for k in range(len(names))) for m in monomials]
    others = [tuple(SMALLEST + degree + 1 + k for k in more) for more in product((0, 1), repeat=len(names))]
    try:
        with isl.within(operations=_OPERATIONS):
            found = {sizes: _count(points, sizes) for sizes in (*samples, *others)}
    except (BudgetExceeded, isl.Error):
        return None
    equations = [[*(_value(m, sizes) for m in monomials), found[sizes]] for sizes in samples]
    rows, _ = reduced(equations, len(monomials))  # they have one solution, as those of Newton's interpolation
    terms = [(m, row[-1]) for m, row in zip(monomials, rows, strict=True)]
    if any(sum(f * _value(m, sizes) for m, f in terms) != found[sizes] for sizes in others):
        return None
    return Polynomial.of((tuple(sorted(names[k] for k in m)), f) for m, f in terms)


def _count(points: isl.Set, sizes: Sequence[int]) -> int:
    for k, value in enumerate(sizes):
        points = points.fix_val(isl.dim_type.param, k, isl.Val(value))
    return int(points.count_val().to_python())


def _value(monomial: Sequence[int], sizes: Sequence[int]) -> int:
    return prod(sizes[k] for k in monomial)
