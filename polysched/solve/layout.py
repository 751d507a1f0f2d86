"""The unknowns of one hyperplane, by position and by name.

    one statement S[i, j], size N:      u, w, C1, C2, c0
    several:                            u, w, S.i, S.j, S.0, T.i, T.0
    with coefficients of either sign:   u, w, C1, C2, d1, c0, |C1|, |C2|, side        d1 shifts by N
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polysched.solve.problem import Objective

LARGE = 1 << 20  # upper bound of u, w, shifts and constants, which are minimized anyway
STEEP = 32  # largest coefficient: a stencil of radius r needs r, a linearized index could ask for its extents
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
        return self._of("C", name)

    def shift(self, name: str) -> np.ndarray:
        """One column per size, none unless signed."""
        return self._of("d", name)

    def constant(self, name: str) -> np.ndarray:
        """The one column of c0."""
        return self._of("c0", name)

    def affine(self, name: str) -> np.ndarray:
        """Coefficients, shift, constant."""
        return np.concatenate([self._of(kind, name) for kind in ("C", "d", "c0")])

    def magnitudes(self, name: str) -> np.ndarray:
        """One column per iterator: of the magnitudes of the coefficients, which are themselves unless signed."""
        return self._of("|C|" if self.signed else "C", name)

    def side(self, name: str) -> np.ndarray:
        """The one column of the 0-1 unknown that chooses a half-space; only if signed."""
        return self._of("side", name)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(text for _, _, text in self._unknowns)

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

    @cached_property
    def _unknowns(self) -> list[tuple[str, str, str]]:
        """What each is, of which statement, and its name."""
        alone = len(self.statements) == 1
        found = [("u", "", "u" if len(self.sizes) == 1 else f"u.{size}") for size in self.sizes]
        found.append(("w", "", "w"))
        for name, iterators in self.statements:
            for kind, items in (("C", iterators), ("d", self.sizes if self.signed else ())):
                found += [(kind, name, f"{kind}{k}" if alone else f"{name}.{x}") for k, x in enumerate(items, 1)]
            found.append(("c0", name, "c0" if alone else f"{name}.0"))
        for name, _ in self.statements if self.signed else ():
            found += [("|C|", name, f"|{text}|") for kind, of, text in found if (kind, of) == ("C", name)]
            found.append(("side", name, "side" if alone else f"{name}.side"))
        return found

    @cached_property
    def _places(self) -> dict[tuple[str, str], list[int]]:
        places: dict[tuple[str, str], list[int]] = {}
        for k, (kind, name, _) in enumerate(self._unknowns):
            places.setdefault((kind, name), []).append(k)
        return places

    def _of(self, kind: str, name: str) -> np.ndarray:
        return np.array(self._places.get((kind, name), ()), dtype=np.int64)
