"""Hyperplanes: one affine function per statement, together one dimension of a schedule.

    {"S": Affine((1, 1), (0,), 2)}   is   [N] -> { S[i, j] -> [i + j + 2] }
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from polysched.support import isl


@dataclass(frozen=True)
class Affine:
    """phi(i) = coefficients . iterators + shift . sizes + constant."""

    coefficients: tuple[int, ...]  # one per iterator
    shift: tuple[int, ...]  # one per size
    constant: int

    def text(self, iterators: tuple[str, ...], sizes: tuple[str, ...]) -> str:
        """As in "i + 2j - 1"."""
        return sum_text(zip((*self.coefficients, *self.shift), (*iterators, *sizes), strict=True), self.constant)


Hyperplane = Mapping[str, Affine]  # by statement name


def schedule(hyperplane: Hyperplane, iterators: Mapping[str, tuple[str, ...]], sizes: tuple[str, ...]) -> isl.UnionMap:
    """{ S[i, j] -> [phi_S(i, j)] } for every statement."""
    parts = (
        f"{name}[{', '.join(iterators[name])}] -> [{affine.text(iterators[name], sizes)}]"
        for name, affine in hyperplane.items()
    )
    return isl.UnionMap(f"[{', '.join(sizes)}] -> {{ {'; '.join(parts)} }}")


def sum_text(terms: Iterable[tuple[int, str]], constant: int = 0) -> str:
    """The sum of (factor, name) pairs and a constant as text: "x - 2y + 1"; "0" if nothing is left."""
    parts = [(factor, name if abs(factor) == 1 else f"{abs(factor)}{name}") for factor, name in terms if factor]
    parts += [(constant, str(abs(constant)))] if constant else []
    text = "".join(f" {'-' if factor < 0 else '+'} {part}" for factor, part in parts)
    sign = "-" if text.startswith(" -") else ""
    return sign + text[3:] or "0"


def row_text(row: np.ndarray, names: Iterable[str]) -> str:
    """The sum of the unknowns of these names by the factors in the row."""
    return sum_text((int(factor), name) for factor, name in zip(row, names, strict=True))
