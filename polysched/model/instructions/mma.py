"""NVIDIA's mma.sync, which cards have from compute capability 8.0 on (PTX ISA, "Matrix multiply-accumulate")."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from polysched.ir.dtypes import f16, f32, f64, i8, i32
from polysched.model.instructions.bits import Bits
from polysched.model.instructions.instruction import Factor, Instruction, Rows, Subscripts

_LANE, _R, _ZERO = (lambda *k: Bits.of("lane", *k)), (lambda *k: Bits.of("r", *k)), Bits.zeros(3)

# The rows of four tiles of 8 x 8: tile number lane / 8 is a step further by its low bit along one side, by its high bit
# along the other one.
_DOWN_FIRST: Subscripts = _LANE(0, 4), _ZERO + _LANE(4)
_RIGHT_FIRST: Subscripts = _LANE(0, 3) + _LANE(4), _ZERO + _LANE(3)

# Of factors, by their name in PTX, and of their sums.
_TYPES = {"f16": (f16, "f32", f32), "tf32": (f32, "f32", f32), "f64": (f64, "f64", f64), "s8": (i8, "s32", i32)}


def _mma(
    shape: tuple[int, int, int], kind: str, left: Factor, right: Factor, arch: int = 80, digits: int = 0
) -> Instruction:
    """The instruction for so many rows, columns and terms; a lane has two sums of a row, and of the row 8 further."""
    (rows, columns, terms), (factor, ptx_sum, sum) = shape, _TYPES[kind]
    size = f"m{rows}n{columns}k{terms}"
    return Instruction(
        name=f"mma.{size}.{kind}",
        rows=rows,
        columns=columns,
        terms=terms,
        factor=factor,
        sum=sum,
        left=left,
        right=right,
        sums=(_LANE(2, 5) + _R(1, rows // 8), _R(0) + _LANE(0, 2)),
        opcode=f"mma.sync.aligned.{size}.row.col.{ptx_sum}.{kind}.{kind}.{ptx_sum}",
        arch=arch,
        digits=digits,
    )


M16N8K16 = _mma(
    (16, 8, 16),
    "f16",
    left=Factor(
        elements=(_LANE(2, 5) + _R(1), _R(0) + _LANE(0, 2) + _R(2)),
        rows=Rows(along=_DOWN_FIRST, across=_RIGHT_FIRST[::-1]),
    ),
    right=Factor(
        elements=(_R(0) + _LANE(0, 2) + _R(1), _LANE(2, 5) + _R(2)),
        rows=Rows(along=_RIGHT_FIRST[::-1], across=_DOWN_FIRST),
        together=2,
    ),
)

M16N8K8_F64 = _mma(
    (16, 8, 8),
    "f64",
    left=Factor(elements=(_LANE(2, 5) + _R(0), _LANE(0, 2) + _R(1))),
    right=Factor(elements=(_LANE(0, 2) + _R(0), _LANE(2, 5))),
    arch=90,
)

M16N8K8_TF32 = _mma(
    (16, 8, 8),
    "tf32",
    left=Factor(
        elements=(_LANE(2, 5) + _R(0), _LANE(0, 2) + _R(1)),
        rows=Rows(along=(_LANE(0, 4), Bits.zeros(2) + _LANE(4))),
    ),
    right=Factor(
        elements=(_LANE(0, 2) + _R(0), _LANE(2, 5) + _R(1)),
        rows=Rows(along=(Bits.zeros(2) + _LANE(3), _LANE(0, 3) + _LANE(4))),
        together=2,
    ),
    digits=11,
)

M16N8K32_S8 = _mma(
    (16, 8, 32),
    "s8",
    left=Factor(
        elements=(_LANE(2, 5) + _R(2), _R(0, 2) + _LANE(0, 2) + _R(3)),
        rows=Rows(along=(_LANE(0, 4), Bits.zeros(4) + _LANE(4))),
    ),
    right=Factor(
        elements=(_R(0, 2) + _LANE(0, 2) + _R(2), _LANE(2, 5) + _R(3)),
        rows=Rows(along=(Bits.zeros(4) + _LANE(3), _LANE(0, 3) + _LANE(4))),
        together=2,
    ),
)

M8N8K4_F64 = _mma(
    (8, 8, 4),
    "f64",
    left=Factor(elements=(_LANE(2, 5), _LANE(0, 2))),
    right=Factor(elements=(_LANE(0, 2), _LANE(2, 5))),
)

# The first that a device has is the best of those for the same types.
INSTRUCTIONS: Mapping[str, Instruction] = MappingProxyType(
    {each.name: each for each in (M16N8K16, M16N8K8_TF32, M16N8K32_S8, M16N8K8_F64, M8N8K4_F64)}
)
