"""Where the elements of an operand lie in an array, by how far loops move both.

    operand b[4 * j + g] moves by (4, 1), array B[n, 16 * k + g, j] by ((0, 0), (0, 1), (1, 0)): none fits, since
    4 steps of g are no step of j

    operand A[i, k] moves by ((1, 0), (0, 1)), array B[k, 2 * i] by ((0, 1), (2, 0)): A[i, k] is B[k, 2 * i]
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Rows = tuple[tuple[int, ...], ...]


def layout(operand: Rows, array: Rows) -> Rows | None:
    """By how much each dimension of the array goes on with each of the operand, so that it moves as given; None if
    there is nothing that does it. Rows are dimensions, and columns are loops, of both."""
    found = [_solved(operand, row) for row in array]
    return None if None in found else tuple(row for row in found if row is not None)


def is_independent(rows: Rows) -> bool:
    """Does no dimension that moves follow from others?"""
    moving = [row for row in rows if any(row)]
    return len(_reduced([list(map(Fraction, row)) for row in moving])) == len(moving)


def _solved(operand: Rows, row: Sequence[int]) -> tuple[int, ...] | None:
    """Whole x with x . operand = row, zero for dimensions that do not move; None if there are none."""
    moving = [d for d, own in enumerate(operand) if any(own)]
    equations = [[*(Fraction(operand[d][loop]) for d in moving), Fraction(by)] for loop, by in enumerate(row)]
    values = dict.fromkeys(range(len(operand)), 0)
    for equation in _reduced(equations):
        first = next(k for k, factor in enumerate(equation) if factor)
        if first == len(moving) or equation[-1].denominator != 1:
            return None
        values[moving[first]] = int(equation[-1])
    return tuple(values.values())


def _reduced(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    """The rows in reduced echelon form, without those of zeros (Gauss and Jordan)."""
    done: list[list[Fraction]] = []
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((row for row in rows if row[column]), None)
        if pivot is None:
            continue
        rows = [row for row in rows if row is not pivot]
        pivot = [each / pivot[column] for each in pivot]
        done, rows = ([_without(row, pivot, column) for row in every] for every in (done, rows))
        done.append(pivot)
    return done


def _without(row: list[Fraction], pivot: list[Fraction], column: int) -> list[Fraction]:
    return [own - row[column] * other for own, other in zip(row, pivot, strict=True)]
