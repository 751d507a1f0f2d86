"""How many instructions of each kind there are, and the ratios by which a loop is judged.

    counts = count(loop)
    counts["integer"]            their number
    counts.fma_share             of all instructions
    counts.per_fma("integer")    for one multiply-add
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat

from polysched.counts.sass.instructions import KINDS, Instruction, Kind, carries, compares, kind, width


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Instructions by kind; each counts once, however many lanes or elements it is for."""

    kinds: dict[Kind, int]  # all kinds, with zeros
    accesses: dict[tuple[str, int], int]  # of global, shared and local memory: by opcode and bits of one thread
    carries: int  # of "integer": upper halves of 64-bit operations
    compares: int  # of "integer": comparisons, with their upper halves
    calls: int  # of "branch"
    unknown: tuple[str, ...]  # the opcodes that are "other"

    def __getitem__(self, kind: Kind) -> int:
        return self.kinds[kind]

    @property
    def total(self) -> int:
        return sum(self.kinds.values())

    @property
    def fma_share(self) -> float:
        """The part of all instructions that multiplies and adds; 0 where there are none."""
        return self["fma"] / self.total if self.total else 0.0

    @property
    def arithmetic(self) -> int:
        """Instructions that compute with floats; where -fmad=false keeps products and sums apart, FMA are none."""
        return self["fma"] + self["float"] + self["special"] + self["mma"]

    def per_fma(self, kind: Kind) -> float | None:
        """Instructions of that kind for each multiply-add; None where there is none."""
        return self[kind] / self["fma"] if self["fma"] else None

    @property
    def shared_loads(self) -> int:
        return sum(number for (opcode, _), number in self.accesses.items() if opcode in ("LDS", "LDSM"))


def count(instructions: Sequence[Instruction], times: Sequence[int] | None = None) -> Counts:
    """The counts of some instructions, of a loop or of a whole kernel; each is there once, or `times` often."""
    kinds, accesses, carried, compared, called = Counter[Kind](), Counter[tuple[str, int]](), 0, 0, 0
    for instruction, number in zip(instructions, times or repeat(1), strict=False):
        name = kind(instruction)
        kinds[name] += number
        if name in ("global", "shared", "local", "copy"):
            accesses[instruction.opcode, width(instruction)] += number
        carried += number * (name == "integer" and carries(instruction))
        compared += number * (name == "integer" and compares(instruction))
        called += number * (instruction.opcode == "CALL")
    return Counts(
        kinds={name: kinds[name] for name in KINDS},
        accesses={access: number for access, number in sorted(accesses.items()) if number},
        carries=carried,
        compares=compared,
        calls=called,
        unknown=tuple(sorted({each.opcode for each in instructions if kind(each) == "other"})),
    )
