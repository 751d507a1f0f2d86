"""Tensor instructions: what a warp computes in one, and which lane holds which elements.

    C[i, j] += f32(A[i, k]) * f32(B[k, j])   for 16 i, 8 j and 16 k       mma.m16n8k16.f16

An operand lies in registers of all lanes, its fragment: each subscript of element number r of a lane is made of bits of
`lane` and `r`. Fragments of factors are loaded element by element, or by `ldmatrix`, which gives each lane 4 bytes of
a row of 16 of shared memory, for four tiles of 8 rows, each lane saying where one of these rows is.
Which rows serve an operand depends on what is next to what in the copy: its terms, or its rows or columns.
"""

from __future__ import annotations

from dataclasses import dataclass

from polysched.ir.dtypes import DType, u32
from polysched.model.instructions.bits import Bits

LANES = 32
LINE = 16  # bytes of a row that `ldmatrix` reads, and that an asynchronous copy moves at most
Subscripts = tuple[Bits, Bits]


@dataclass(frozen=True)
class Rows:
    """Where the row begins that a lane says to `ldmatrix`, in a copy with terms next to each other in a row, and in one
    with terms in different rows; None where there is no instruction for that."""

    along: Subscripts
    across: Subscripts | None = None


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A factor of the products, with a subscript that the sum has, too, and one that counts terms: [i, k] or [k, j]."""

    elements: Subscripts  # of a lane's element r, of as many fragments as are loaded together
    rows: Rows | None = None  # by which `ldmatrix` loads it; None: it is loaded element by element
    together: int = 1  # fragments next to each other that are loaded at once

    def rows_of(self, *, has_terms_in_rows: bool) -> Subscripts | None:
        """Where `ldmatrix` reads it in such a copy; None if it is to be loaded element by element."""
        if self.rows is None:
            return None
        return self.rows.along if has_terms_in_rows else self.rows.across


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """A product of small matrices that the lanes of a warp make together: sums of `terms` products each.

    Products of halves are exact. Their sums are not rounded as by IEEE 754: terms are cut to the last place of the
    largest one, so that a sum of l of them is off by at most l * 2^-24 * sum |a b| in f32 (Fasi et al., PeerJ CS
    7:e330, 2021). Those of doubles are rounded once for each term, as by fma, and those of integers are exact. Of
    floats, the first `digits` of the factors' significands count.
    """

    name: str
    rows: int
    columns: int
    terms: int
    factor: DType  # of both factors
    sum: DType
    left: Factor
    right: Factor
    sums: Subscripts  # [i, j] of a lane's element r
    opcode: str  # in PTX
    arch: int  # the first compute capability that has it, times ten
    digits: int = 0  # that count of a factor's significand; 0: all of them

    @property
    def word(self) -> DType:
        """What a lane's register holds of a factor: an element, or several."""
        return self.factor if self.factor.bits >= 32 else u32

    @property
    def reads_across(self) -> bool:
        """May terms be in different rows of memory?"""
        return self.word == self.factor or bool(self.left.rows and self.left.rows.across)

    @property
    def cut(self) -> float:
        """By how much of itself a factor is less at most, of which not all digits count."""
        return 2.0 ** (1 - self.digits) if self.digits else 0.0

    @property
    def registers(self) -> tuple[int, int, int]:
        """How many words hold a lane's fragment of the left factor, of the right one, and how many sums it has."""
        left, right, sums = (
            count // LANES for count in (self.rows * self.terms, self.terms * self.columns, self.rows * self.columns)
        )
        packed = self.word.bits // self.factor.bits
        return left // packed, right // packed, sums
