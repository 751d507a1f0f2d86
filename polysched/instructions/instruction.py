"""Tensor instructions: what a warp computes in one, and which lane holds which elements.

    C[i, j] += f32(A[i, k]) * f32(B[k, j])   for 16 i, 8 j and 16 k       mma.m16n8k16.f16

An operand lies in registers of all lanes, its fragment: each subscript of element number r of a lane is made of bits of
`lane` and `r`. Fragments of factors are loaded by `ldmatrix`, which gives each lane two neighbours of a row of 8
elements of shared memory, for four tiles of 8 rows, each lane saying where one of these rows is. Which rows serve an
operand depends on what is next to what in the copy: its terms, or its rows or columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from polysched import isl
from polysched.instructions.bits import Bits
from polysched.ir.dtypes import DType

LANES = 32
LINE = 16  # bytes of a row that `ldmatrix` reads, and that an asynchronous copy moves at most
Subscripts = tuple[Bits, Bits]


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A factor of the products, with a subscript that the sum has, too, and one that counts terms: [i, k] or [k, j]."""

    elements: Subscripts  # of a lane's element r
    along: Subscripts  # of the row that a lane says, by `lane`, where terms are next to each other in a row
    across: Subscripts  # the same where terms are in different rows
    together: int = 1  # fragments next to each other that one `ldmatrix` loads


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """A product of small matrices that the lanes of a warp make together: sums of `terms` products each.

    Products are exact. Their sums are not rounded as by IEEE 754: terms are cut to the last place of the largest one,
    so that a sum of l of them is off by at most l * 2^-24 * sum |a b| in f32 (Fasi et al., PeerJ CS 7:e330, 2021).
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

    @cached_property
    def registers(self) -> tuple[int, int, int]:
        """How many registers of 32 bits hold a lane's fragment of the left factor, of the right one and of the sums."""
        left = self.rows * self.terms * self.factor.bits
        right = self.terms * self.columns * self.factor.bits
        sums = self.rows * self.columns * self.sum.bits
        return left // (32 * LANES), right // (32 * LANES), sums // (32 * LANES)


def as_map(subscripts: Subscripts) -> isl.Map:
    """{ [lane, r] -> [i, k] }"""
    return isl.Map(f"{{ [lane, r] -> [{', '.join(bits.isl() for bits in subscripts)}] : 0 <= lane < {LANES} }}")
