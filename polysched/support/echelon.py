"""Rows of rational numbers in reduced row echelon form."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction


def reduced(given: Iterable[Iterable[int]], depth: int) -> tuple[list[list[Fraction]], list[int]]:
    """The rows with pivots among the first `depth` columns, and the columns of these."""
    rows = [[Fraction(x) for x in row] for row in given]
    pivots: list[int] = []
    for column in range(depth):
        rank = len(pivots)
        chosen = next((k for k in range(rank, len(rows)) if rows[k][column]), None)
        if chosen is None:
            continue
        rows[rank], rows[chosen] = rows[chosen], rows[rank]
        rows[rank] = [x / rows[rank][column] for x in rows[rank]]
        for k, row in enumerate(rows):
            if k != rank and row[column]:
                rows[k] = [x - row[column] * y for x, y in zip(row, rows[rank], strict=True)]
        pivots.append(column)
    return rows, pivots
