"""Few conditions on sizes that imply many: that polynomials are at most `LARGEST`, for sizes of 1 or more.

    n * n - n + 3, 2 * n + 31, n * m, m + 1, k        ->        n * n, n * m, m + k + 1
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from math import ceil

from polysched.ir.integers.bounds import strength
from polysched.ir.integers.polynomial import Monomial, Number, Polynomial

LARGEST = 2**31 - 1


def sufficient(bounds: Iterable[Polynomial]) -> tuple[Polynomial, ...] | None:
    """Conditions that imply all of these, with positive integers as factors: those of higher degree, and in one sum the
    linear ones that they leave. None if some cannot hold."""
    kept: list[Polynomial] = []  # of higher degree
    linear: dict[Monomial, Number] = {}
    for bound in sorted({_rounded(bound) for bound in bounds}, key=strength, reverse=True):
        if bound.constant > LARGEST:
            return None
        if _is_implied(bound, kept):
            continue
        if bound.degree > 1:
            kept.append(bound)
        else:
            linear |= {monomial: max(factor, linear.get(monomial, 0)) for monomial, factor in bound}
    for bound in tuple(kept):
        others = [other for other in kept if other is not bound]
        kept = others if _is_implied(bound, others) else kept
    return (*kept, Polynomial.of(linear.items())) if linear else tuple(kept)


def _rounded(bound: Polynomial) -> Polynomial:
    """A condition with positive integers that implies it."""
    falling = sum(factor for monomial, factor in bound if factor < 0 and monomial)  # at most, since sizes are 1 or more
    return Polynomial(tuple((monomial, ceil(factor)) for monomial, factor in (bound + falling).rising))


def _is_implied(bound: Polynomial, others: Collection[Polynomial]) -> bool:
    """Does it hold where all others do?"""
    if any((bound - other).is_nonpositive() for other in others):
        return True
    most = [(_largest(monomial, others), factor) for monomial, factor in bound]
    known = [factor * value for value, factor in most if value is not None]
    return len(known) == len(most) and sum(known) <= LARGEST


def _largest(monomial: Monomial, others: Collection[Polynomial]) -> int | None:
    """The most that a product of sizes may be where all others are at most `LARGEST`; None if they do not tell."""
    found = [1] if not monomial else []
    for product, factor in (term for other in others for term in other if term[0]):
        most = LARGEST // ceil(factor)
        if len(set(product)) == 1 and set(monomial) == set(product):
            found.append(_root(most, len(product)) ** len(monomial))
        elif not Counter(monomial) - Counter(product):
            found.append(most)
    return min(found, default=None)


def _root(number: int, degree: int) -> int:
    """The largest integer whose power is at most `number`."""
    root = round(number ** (1 / degree)) + 1
    while root**degree > number:
        root -= 1
    return root
