"""polysched/counts/sass/instructions.py: kinds of work by opcode, and moves in disguise."""

from __future__ import annotations

import pytest

from polysched.counts.sass.instructions import Instruction, carries, compares, kind, width
from polysched.counts.sass.parse import _operands


def instruction(text: str) -> Instruction:
    guard, _, rest = text.rpartition("@")[2].partition(" ") if text.startswith("@") else ("", "", text)
    name, _, operands = rest.partition(" ")
    opcode, *modifiers = name.split(".")
    return Instruction(0, f"@{guard}" if guard else "", opcode, tuple(modifiers), _operands(operands)[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FFMA R4, R4, R5, RZ", "fma"),
        ("DFMA R2, -R8, R12, 1", "fma"),
        ("HFMA2.BF16_V2 R2, R8, R12, R2", "fma"),
        ("HMMA.16816.F32 R4, R8, R10, R4", "mma"),
        ("DADD R2, R4, R2", "float"),
        ("DSETP.GT.AND P0, PT, R8, RZ, PT", "float"),
        ("MUFU.RCP64H R3, R9", "special"),
        ("I2F.F64.S64 R6, R6", "convert"),
        ("IMAD.WIDE.U32 R6, R9, UR4, RZ", "integer"),
        ("IMAD.SHL.U32 R19, R19, 0x20, RZ", "integer"),
        ("IADD3.X R5, R5, -0x1, RZ, P0, !PT", "integer"),
        ("VIADDMNMX.U32 R0, R0, R3, 0x2, PT", "integer"),
        ("ISETP.GE.U32.AND P0, PT, R6, UR4, PT", "integer"),
        ("UIADD3.X UR5, URZ, UR7, URZ, UP0, !UPT", "uniform"),
        ("UISETP.GT.AND.EX UP0, UPT, UR6, UR5, UPT, UP0", "uniform"),
        ("PLOP3.LUT P0, PT, PT, PT, UP0, 0x80, 0x0", "predicate"),
        ("LDC.64 R4, c[0x0][0x230]", "constant"),
        ("ULDC.64 UR4, c[0x0][0x230]", "constant"),
        ("S2UR UR4, SR_CTAID.Y", "constant"),
        ("LDG.E.64.CONSTANT R16, desc[UR16][R14.64+-0x10]", "global"),
        ("REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR6][R2.64], R5", "global"),
        ("LDS.128 R4, [UR4]", "shared"),
        ("STL.64 [R1+0x8], R4", "local"),
        ("LDGSTS.E.BYPASS.128 [R5], desc[UR8][R2.64]", "copy"),
        ("SHFL.DOWN PT, R3, R0, 0x10, 0x1f", "shuffle"),
        ("@P1 BRA `(.L_x_5)", "branch"),
        ("CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_rn_f64_full)", "branch"),
        ("BSSY B0, `(.L_x_2)", "reconverge"),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", "barrier"),
        ("FROBNICATE R1, R2", "other"),
    ],
)
def test_kinds(text, expected):
    assert kind(instruction(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "MOV R0, 0x260",
        "UMOV UR4, 0x400",
        "R2UR UR6, R2",
        "CS2R R4, SRZ",
        "IMAD.MOV.U32 R14, RZ, RZ, R5",
        "IMAD.U32 R0, RZ, RZ, UR13",
        "IMAD.WIDE.U32 R8, RZ, RZ, R6.reuse",
        "HFMA2.MMA R5, -RZ, RZ, 0, 0",
        "IADD3 R5, R4, RZ, RZ",
    ],
)
def test_moves_in_disguise(text):
    assert kind(instruction(text)) == "move"


@pytest.mark.parametrize(
    "text",
    [
        "IMAD.MOV R7, RZ, RZ, -R9",  # a negation
        "IMAD.X R11, RZ, RZ, R16, P0",  # adds the carry
        "IADD3 R4, P0, R4, -0x1, RZ",
        "IADD3.X R5, RZ, R5, RZ, P0, !PT",
        "IMAD.IADD R4, R7, 0x1, R9",
    ],
)
def test_what_looks_like_a_move_and_is_none(text):
    assert kind(instruction(text)) == "integer"


def test_halves_and_comparisons():
    for text in ("IMAD.X R11, RZ, RZ, R16, P0", "LEA.HI.X R2, R2, UR5, RZ, 0x3, P0"):
        assert carries(instruction(text)) and not compares(instruction(text))
    compare = instruction("ISETP.GE.AND.EX P0, PT, R5, RZ, PT, P0")
    assert carries(compare) and compares(compare)
    assert not carries(instruction("IADD3 R4, P0, R4, -0x1, RZ"))
    assert not compares(instruction("FSETP.GT.AND P0, PT, R1, R2, PT"))


def test_widths():
    bits = {"": 32, ".U8": 8, ".S16": 16, ".64": 64, ".128": 128}
    assert {name: width(instruction(f"LDG.E{name} R2, desc[UR4][R4.64]")) for name in bits} == bits
