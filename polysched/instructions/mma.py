"""NVIDIA's mma.sync, which cards have from compute capability 8.0 on (PTX ISA, "Matrix multiply-accumulate")."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from polysched.instructions.bits import Bits
from polysched.instructions.instruction import Factor, Instruction, Rows, Subscripts
from polysched.ir.dtypes import f16, f32, f64, i8, i32

_LANE, _R, _ZERO = (lambda *k: Bits.of("lane", *k)), (lambda *k: Bits.of("r", *k)), Bits.zeros(3)

# The rows of four tiles of 8 x 8: tile number lane / 8 is a step further by its low bit along one side, by its high bit
# along the other one.
_DOWN_FIRST: Subscripts = _LANE(0, 4), _ZERO + _LANE(4)
_RIGHT_FIRST: Subscripts = _LANE(0, 3) + _LANE(4), _ZERO + _LANE(3)


M16N8K16 = Instruction(
    name="mma.m16n8k16.f16",
    rows=16,
    columns=8,
    terms=16,
    factor=f16,
    sum=f32,
    left=Factor(
        elements=(_LANE(2, 5) + _R(1), _R(0) + _LANE(0, 2) + _R(2)),
        rows=Rows(along=_DOWN_FIRST, across=_RIGHT_FIRST[::-1]),
    ),
    right=Factor(
        elements=(_R(0) + _LANE(0, 2) + _R(1), _LANE(2, 5) + _R(2)),
        rows=Rows(along=_RIGHT_FIRST[::-1], across=_DOWN_FIRST),
        together=2,
    ),
    sums=(_LANE(2, 5) + _R(1), _R(0) + _LANE(0, 2)),
    opcode="mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    arch=80,
)

M16N8K8_F64 = Instruction(
    name="mma.m16n8k8.f64",
    rows=16,
    columns=8,
    terms=8,
    factor=f64,
    sum=f64,
    left=Factor(elements=(_LANE(2, 5) + _R(0), _LANE(0, 2) + _R(1))),
    right=Factor(elements=(_LANE(0, 2) + _R(0), _LANE(2, 5))),
    sums=(_LANE(2, 5) + _R(1), _R(0) + _LANE(0, 2)),
    opcode="mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64",
    arch=90,
)

M16N8K8_TF32 = Instruction(
    name="mma.m16n8k8.tf32",
    rows=16,
    columns=8,
    terms=8,
    factor=f32,
    sum=f32,
    left=Factor(
        elements=(_LANE(2, 5) + _R(0), _LANE(0, 2) + _R(1)),
        rows=Rows(along=(_LANE(0, 4), Bits.zeros(2) + _LANE(4))),
    ),
    right=Factor(
        elements=(_LANE(0, 2) + _R(0), _LANE(2, 5) + _R(1)),
        rows=Rows(along=(Bits.zeros(2) + _LANE(3), _LANE(0, 3) + _LANE(4))),
        together=2,
    ),
    sums=(_LANE(2, 5) + _R(1), _R(0) + _LANE(0, 2)),
    opcode="mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    arch=80,
    digits=11,
)

M16N8K32_S8 = Instruction(
    name="mma.m16n8k32.s8",
    rows=16,
    columns=8,
    terms=32,
    factor=i8,
    sum=i32,
    left=Factor(
        elements=(_LANE(2, 5) + _R(2), _R(0, 2) + _LANE(0, 2) + _R(3)),
        rows=Rows(along=(_LANE(0, 4), Bits.zeros(4) + _LANE(4))),
    ),
    right=Factor(
        elements=(_R(0, 2) + _LANE(0, 2) + _R(2), _LANE(2, 5) + _R(3)),
        rows=Rows(along=(Bits.zeros(4) + _LANE(3), _LANE(0, 3) + _LANE(4))),
        together=2,
    ),
    sums=(_LANE(2, 5) + _R(1), _R(0) + _LANE(0, 2)),
    opcode="mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
    arch=80,
)

M8N8K4_F64 = Instruction(
    name="mma.m8n8k4.f64",
    rows=8,
    columns=8,
    terms=4,
    factor=f64,
    sum=f64,
    left=Factor(elements=(_LANE(2, 5), _LANE(0, 2))),
    right=Factor(elements=(_LANE(0, 2), _LANE(2, 5))),
    sums=(_LANE(2, 5), _R(0) + _LANE(0, 2)),
    opcode="mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    arch=80,
)

# The first that a device has is the best of those for the same types.
INSTRUCTIONS: Mapping[str, Instruction] = MappingProxyType(
    {each.name: each for each in (M16N8K16, M16N8K8_TF32, M16N8K32_S8, M16N8K8_F64, M8N8K4_F64)}
)
