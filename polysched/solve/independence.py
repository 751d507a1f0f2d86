"""Which new hyperplanes are linearly independent of those found: exact, over the integers.

    complement([(1, 1)], 2) == [(-1, 1)]      c . (-1, 1) != 0   <=>   c is not a multiple of (1, 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import lcm

from polysched.support.echelon import reduced

Vector = tuple[int, ...]
Found = dict[str, tuple[Vector, ...]]  # the coefficients of the hyperplanes found so far, per statement


@cache
def complement(found: tuple[Vector, ...], depth: int) -> tuple[Vector, ...]:
    """A basis of the vectors orthogonal to all of `found`; empty once these span everything."""
    rows, pivots = reduced(found, depth)
    free = [k for k in range(depth) if k not in pivots]
    return tuple(_null_vector(rows, pivots, k, depth) for k in free)


def is_independent(vector: Vector, found: tuple[Vector, ...]) -> bool:
    """Is `vector` outside of the span of `found`?"""
    return any(sum(a * b for a, b in zip(row, vector, strict=True)) for row in complement(found, len(vector)))


def _null_vector(rows: Sequence[Sequence[Fraction]], pivots: Sequence[int], free: int, depth: int) -> Vector:
    vector = [Fraction(0)] * depth
    vector[free] = Fraction(1)
    for row, pivot in zip(rows, pivots, strict=False):
        vector[pivot] = -row[free]
    scale = lcm(*(x.denominator for x in vector))
    return tuple(int(x * scale) for x in vector)
