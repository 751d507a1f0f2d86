"""The unknowns of one hyperplane, by position and by name.

    one statement S[i, j], size N:      u, w, C1, C2, c0
    several:                            u, w, S.i, S.j, S.0, T.i, T.0
    with coefficients of either sign:   u, w, C1, C2, d1, c0, |C1|, |C2|, side        d1 shifts by N
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from polysched.solve.problem import Objective

LARGE = 1 << 20  # upper bound of u, w, shifts and constants, which are minimised anyway
STEEP = 32  # largest coefficient: a stencil of radius r needs r, a linearised index could ask for its extents
STEEP_SIGNED = 4  # largest magnitude of a coefficient that may be negative (TOPLAS 2016, section 3.3)


@dataclass(frozen=True)
class Layout:
    """The columns of a Problem over these statements."""

    sizes: tuple[str, ...]
    statements: tuple[tuple[str, tuple[str, ...]], ...]  # name and iterators
    signed: bool  # coefficients may be negative, and hyperplanes be shifted by multiples of the sizes

    @property
    def bound(self) -> np.ndarray:
        """The columns of u, one per size, and of w."""
        return np.arange(len(self.sizes) + 1)

    def coefficients(self, name: str) -> np.ndarray:
        """One column per iterator."""
        return self._start[name] + np.arange(self._depth[name])

    def shift(self, name: str) -> np.ndarray:
        """One column per size, none unless signed."""
        return self._start[name] + self._depth[name] + np.arange(len(self.sizes) if self.signed else 0)

    def constant(self, name: str) -> np.ndarray:
        """The one column of c0."""
        return self._start[name] + self._depth[name] + len(self.shift(name)) + np.arange(1)

    def affine(self, name: str) -> np.ndarray:
        """Coefficients, shift, constant."""
        return self._affine[name]

    def magnitudes(self, name: str) -> np.ndarray:
        """One column per iterator: of the magnitudes of the coefficients, which are themselves unless signed."""
        return self._magnitude[name] + np.arange(self._depth[name])

    def side(self, name: str) -> np.ndarray:
        """The one column of the 0-1 unknown that chooses a half-space; only if signed."""
        return self._magnitude[name] + self._depth[name] + np.arange(1)

    @cached_property
    def names(self) -> tuple[str, ...]:
        u = ["u"] if len(self.sizes) == 1 else [f"u.{size}" for size in self.sizes]
        names = [*u, "w"]
        for name, iterators in self.statements:
            names += self._numbered("C", iterators) or [f"{name}.{iterator}" for iterator in iterators]
            if self.signed:
                names += self._numbered("d", self.sizes) or [f"{name}.{size}" for size in self.sizes]
            names.append("c0" if len(self.statements) == 1 else f"{name}.0")
        if self.signed:
            for name, _ in self.statements:
                names += [f"|{names[k]}|" for k in self.coefficients(name)]
                names.append("side" if len(self.statements) == 1 else f"{name}.side")
        return tuple(names)

    @property
    def width(self) -> int:
        return len(self.names)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest value of each unknown."""
        lower, upper = np.zeros(self.width, dtype=np.int64), np.full(self.width, LARGE)
        for name, _ in self.statements:
            steepest = STEEP_SIGNED if self.signed else STEEP
            upper[self.coefficients(name)] = steepest
            upper[self.magnitudes(name)] = steepest
            if self.signed:
                lower[self.coefficients(name)] = -steepest
                upper[self.side(name)] = 1
        return lower, upper

    def objectives(self) -> tuple[Objective, ...]:
        """u, w, sum of coefficients, of shifts and of constants; then outer iterators rather than inner ones."""
        row = {name: np.zeros(self.width) for name in ("u", "w", "coefficients", "shifts", "constants", "order")}
        row["u"][self.bound[:-1]] = 1
        row["w"][self.bound[-1]] = 1
        for k, (name, iterators) in enumerate(self.statements):
            row["coefficients"][self.magnitudes(name)] = 1
            row["shifts"][self.shift(name)] = 1
            row["constants"][self.constant(name)] = 1
            row["order"][self.magnitudes(name)] = 2 * np.arange(1, len(iterators) + 1)
            if self.signed:
                # forward rather than backward, the first statements above all
                row["order"][self.coefficients(name)] -= 1 - k / (2 * len(self.statements))
        weights = {"u": 1e6, "w": 1e4, "coefficients": 10, "shifts": 3, "constants": 1, "order": 0.005}
        return tuple(Objective(name, row[name], weight) for name, weight in weights.items() if row[name].any())

    def _numbered(self, letter: str, items: tuple[str, ...]) -> list[str]:
        return [f"{letter}{k}" for k in range(1, len(items) + 1)] if len(self.statements) == 1 else []

    @cached_property
    def _affine(self) -> dict[str, np.ndarray]:
        parts = {name: (self.coefficients(name), self.shift(name), self.constant(name)) for name, _ in self.statements}
        return {name: np.concatenate(columns) for name, columns in parts.items()}

    @cached_property
    def _depth(self) -> dict[str, int]:
        return {name: len(iterators) for name, iterators in self.statements}

    @cached_property
    def _start(self) -> dict[str, int]:
        extra = 1 + (len(self.sizes) if self.signed else 0)
        return self._offsets(len(self.sizes) + 1, extra)

    @cached_property
    def _magnitude(self) -> dict[str, int]:
        if not self.signed:
            return self._start
        end = len(self.sizes) + 1 + sum(self._depth.values()) + len(self.statements) * (1 + len(self.sizes))
        return self._offsets(end, 1)

    def _offsets(self, start: int, extra: int) -> dict[str, int]:
        sizes = [self._depth[name] + extra for name, _ in self.statements]
        return dict(zip(self._depth, accumulate(sizes[:-1], initial=start), strict=True))
