"""How a product of matrices is cut: tiles that vector registers hold, blocks that a cache holds, shares for threads
(Goto and van de Geijn, TOMS 2008; Low et al., TOMS 2016).

    64 rows, 3136 columns, 576 terms, of f32      tiles of 6 x 64, blocks of 192 columns at most, which threads share
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from polysched.config.heuristics.cpu import (
    EVEN_SHARES,
    HIGHEST_TILE,
    OPERATIONS_OF_AN_UPDATE,
    SIMD_OPERATIONS,
    SPARE_REGISTERS,
    SUMS_UNDER_WAY,
    WIDEST_TILE,
)
from polysched.config.machine import Machine
from polysched.ir.dtypes import DType

Side = Literal["rows", "columns"]


@dataclass(frozen=True)
class Tile:
    """Sums that are made at a time."""

    rows: int
    columns: int


@dataclass(frozen=True)
class Shares:
    """So many units of work in `count` shares, as even as can be."""

    units: int
    count: int

    @property
    def most(self) -> int:
        """The units of the largest share."""
        return -(-self.units // self.count)

    def evenness(self, cores: int) -> float:
        """The part of the threads' time in which they do not wait for others."""
        return self.units / (cores * -(-self.units * -(-self.count // cores) // self.count))


def lanes_of(dtype: DType, machine: Machine) -> int:
    """How many values a vector holds."""
    return max(1, 8 * machine.vector_bytes // dtype.bits)


def whole_vectors(count: int, lanes: int) -> int:
    """So many values, and what fills the last vector up."""
    return -(-count // lanes) * lanes


def register_tile(rows: int, columns: int, lanes: int, registers: int) -> Tile:
    """The tile that takes the least time for so many rows and columns, remainders counted."""
    shapes = [
        Tile(high, wide * lanes)
        for wide in range(1, WIDEST_TILE + 1)
        for high in range(1, min(rows, HIGHEST_TILE) + 1)
        if high == wide == 1 or high * wide + wide + SPARE_REGISTERS <= registers
    ]
    return min(shapes, key=lambda tile: (_time(tile, rows, columns, lanes), -tile.columns))


def _time(tile: Tile, rows: int, columns: int, lanes: int) -> float:
    """In half cycles, for each term: multiplications, or loads, or waiting for sums."""
    return sum(
        m * n * (max(high * vectors, high + vectors, SUMS_UNDER_WAY) + 1)
        for m, high in _parts(rows, tile.rows)
        for n, vectors in ((n, -(-wide // lanes)) for n, wide in _parts(columns, tile.columns))
    )


def _parts(size: int, tile: int) -> Iterator[tuple[int, int]]:
    """How many tiles there are of which size."""
    yield size // tile, tile
    if size % tile:
        yield 1, size % tile


def blocks(size: int, tile: int, line: int, machine: Machine) -> Shares:
    """Blocks of tiles, as many for each core, of which lines of so many bytes take half of the second cache at most."""
    tiles = -(-size // tile)
    least = -(-tiles // max(1, machine.l2 // 2 // (line * tile)))
    return Shares(tiles, min(tiles, -(-least // machine.cores) * machine.cores))


def shared_loop(loops: dict[str, Shares], updates: int, cores: int) -> str | None:
    """Which of the loops, outermost first, threads share, given what each runs; None if there is too little to do."""
    if cores == 1 or OPERATIONS_OF_AN_UPDATE * updates < SIMD_OPERATIONS:
        return None
    even = {name: shares.evenness(cores) for name, shares in loops.items()}
    return next((name for name in loops if even[name] >= EVEN_SHARES), max(even, key=even.__getitem__))
