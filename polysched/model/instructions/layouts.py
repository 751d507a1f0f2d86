"""Where the elements of an operand lie in an array, by how far loops move both.

    operand b[4 * j + g] moves by (4, 1), array B[n, 16 * k + g, j] by ((0, 0), (0, 1), (1, 0)): none fits, since
    4 steps of g are no step of j

    operand A[i, k] moves by ((1, 0), (0, 1)), array B[k, 2 * i] by ((0, 1), (2, 0)): A[i, k] is B[k, 2 * i]
"""

from __future__ import annotations

from collections.abc import Sequence

from polysched.support.echelon import reduced

Rows = tuple[tuple[int, ...], ...]


def layout(operand: Rows, array: Rows) -> Rows | None:
    """By how much each dimension of the array goes on with each of the operand, so that it moves as given; None if
    there is nothing that does it. Rows are dimensions, and columns are loops, of both."""
    found = [_solved(operand, row) for row in array]
    return None if None in found else tuple(row for row in found if row is not None)


def is_independent(rows: Rows) -> bool:
    """Does no dimension that moves follow from others?"""
    moving = [row for row in rows if any(row)]
    return not moving or len(reduced(moving, len(moving[0]))[1]) == len(moving)


def _solved(operand: Rows, row: Sequence[int]) -> tuple[int, ...] | None:
    """Whole x with x . operand = row, zero for dimensions that do not move; None if there are none."""
    moving = [d for d, own in enumerate(operand) if any(own)]
    equations = [[*(operand[d][loop] for d in moving), by] for loop, by in enumerate(row)]
    rows, pivots = reduced(equations, len(moving))
    values = [equation[-1] for equation in rows]
    if any(values[len(pivots) :]) or any(value.denominator != 1 for value in values):
        return None
    found = dict.fromkeys(range(len(operand)), 0)
    for column, value in zip(pivots, values, strict=False):
        found[moving[column]] = int(value)
    return tuple(found.values())
