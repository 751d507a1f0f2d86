"""Numbers whose bits are bits of other numbers: where the elements of a fragment are, by lane and register.

    Bits.of("lane", 2, 5) + Bits.of("r", 1)        (lane >> 2 & 7) + (r >> 1 & 1) * 8
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from polysched.ir.build import add, binary, mul
from polysched.ir.nodes import Const, Expr

Bit = tuple[str, int] | None  # of what is named so, which one; None is zero


@dataclass(frozen=True)
class Bits:
    """A number by its bits, the lowest one first."""

    bits: tuple[Bit, ...]

    @staticmethod
    def of(name: str, first: int, end: int | None = None) -> Bits:
        """Bits `first` to `end` - 1 of what is named so; one bit without `end`."""
        return Bits(tuple((name, k) for k in range(first, first + 1 if end is None else end)))

    @staticmethod
    def zeros(count: int) -> Bits:
        return Bits((None,) * count)

    def __add__(self, higher: Bits) -> Bits:
        return Bits(self.bits + higher.bits)

    def __getitem__(self, part: slice) -> Bits:
        """The number that these of its bits are."""
        return Bits(self.bits[part])

    @property
    def names(self) -> frozenset[str]:
        return frozenset(bit[0] for bit in self.bits if bit)

    def expression(self, values: Mapping[str, Expr]) -> Expr:
        """The number, where names have these values."""
        terms = []
        for name, first, count, place in self._runs():
            shifted = binary(">>", values[name], first) if first else values[name]
            masked = binary("&", shifted, (1 << count) - 1)
            terms.append(mul(masked, 1 << place) if place else masked)
        return add(*terms) if terms else Const(0)

    def _runs(self) -> list[tuple[str, int, int, int]]:
        """Neighbors that stay neighbors: the name, its first bit, how many, and the first one's place."""
        placed = [(bit[0], bit[1], place) for place, bit in enumerate(self.bits) if bit]
        runs = [list(run) for _, run in groupby(placed, lambda each: (each[0], each[1] - each[2]))]
        return [(name, first, len(run), place) for run in runs for name, first, place in run[:1]]
