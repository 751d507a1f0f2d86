"""Instructions of CPUs that multiply the terms of two words, and add the products to a sum of i32.

    sum += i32(first[0]) * i32(second[0]) + i32(first[1]) * i32(second[1]) + ...     in each lane of a vector

The first term is in the lowest bits of the word. Exact: a product fits into i32, where sums wrap.
"""

from __future__ import annotations

from dataclasses import dataclass

from polysched.ir.dtypes import DType, i8, i16, u8
from polysched.ir.nodes import DOT_BYTES, DOT_HALVES


@dataclass(frozen=True, kw_only=True)
class Dot:
    """Such an instruction, on x86, and the function of the IR that tells what it computes in a lane."""

    name: str
    function: str
    first: DType
    second: DType
    is_named: bool = False  # are there processors with such vectors that lack it, so that `Machine` has to name it?

    @property
    def terms(self) -> int:
        """Of a word."""
        return 32 // self.first.bits


VPDPBUSD = Dot(name="vpdpbusd", function=DOT_BYTES, first=u8, second=i8, is_named=True)  # VNNI
VPMADDWD = Dot(name="vpmaddwd", function=DOT_HALVES, first=i16, second=i16)  # AVX2; then an addition

DOTS = (VPDPBUSD, VPMADDWD)  # the best one first
VECTOR_BYTES = 32  # of the narrowest vectors that have them
