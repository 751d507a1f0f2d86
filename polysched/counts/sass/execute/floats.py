"""What instructions on floats do: their results are not known.

But for the way from an integer to its reciprocal and back, which nvcc divides integers by.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction

from polysched.counts.sass.execute.operands import (
    Rules,
    Step,
    assign,
    assign_pair,
    forgets,
    is_predicate,
    lifted,
    moves,
    pair,
    sets,
    signed,
    word,
)
from polysched.counts.sass.instructions import Instruction


def unknown_float(i: Instruction) -> Step:
    """Unknown results, of the right width."""
    destinations = [text for text in i.operands[:2] if is_predicate(text) and not text.startswith("!")]
    return forgets(list(map(assign, destinations)) or [(assign_pair if _is_wide(i) else assign)(i.operands[0])])


def _is_wide(i: Instruction) -> bool:
    match i.opcode:
        case "F2I":
            return "S64" in i.modifiers or "U64" in i.modifiers
        case "I2F" | "FRND":
            return "F64" in i.modifiers
        case "F2F":
            return i.modifiers[:1] == ("F64",)
        case opcode:
            return opcode in ("DADD", "DMUL", "DFMA", "DMNMX")


def _half_move(i: Instruction) -> Step:
    destination, a, b, *halves = i.operands
    if not (a.strip("-").startswith("RZ") and b.startswith("RZ") and len(halves) == 2):
        return unknown_float(i)
    try:
        bits = struct.unpack("<I", struct.pack("<2e", float(halves[1]), float(halves[0])))[0]
    except ValueError:
        return unknown_float(i)
    return sets(destination, lambda: int(bits))


def _to_float(i: Instruction) -> Step:
    if not set(i.modifiers) <= {"F32", "S32", "U32", "S64", "U64", "RP"}:
        return unknown_float(i)
    is_long = "S64" in i.modifiers or "U64" in i.modifiers
    is_unsigned = "U32" in i.modifiers or "U64" in i.modifiers

    def compute(x: int) -> int:
        return _float_bits(Fraction(x if is_unsigned else signed(x, 64 if is_long else 32)), up="RP" in i.modifiers)

    return sets(i.operands[0], compute, (pair if is_long else word)(i.operands[1]))


def _reciprocal(i: Instruction) -> Step:
    if i.modifiers != ("RCP",):
        return unknown_float(i)

    def compute(bits: int) -> int:
        x = _of_bits(bits)
        return _float_bits(1 / Fraction(x)) if math.isfinite(x) and x else 0x7F800000 if x == 0 else 0

    return sets(i.operands[0], compute, word(i.operands[1]))


def _to_integer(i: Instruction) -> Step:
    bits = 64 if "U64" in i.modifiers or "S64" in i.modifiers else 32
    if "F64" in i.modifiers or "TRUNC" not in i.modifiers:
        return unknown_float(i)
    low, high = (0, (1 << bits) - 1) if f"U{bits}" in i.modifiers else (-(1 << bits - 1), (1 << bits - 1) - 1)

    def compute(given: int) -> int:
        x = _of_bits(given)
        return 0 if math.isnan(x) else low if x < low else high if x > high else int(x)

    return moves([(assign_pair if bits == 64 else assign)(i.operands[0])], [lifted(compute, word(i.operands[1]))])


def _of_bits(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def _float_bits(x: Fraction, up: bool = False) -> int:
    """The closest f32, or the one not below."""
    try:
        bits = int(struct.unpack("<I", struct.pack("<f", float(x)))[0])
    except OverflowError:
        return 0x7F800000
    if up and Fraction(_of_bits(bits)) < x:
        bits += 1 if x > 0 else -1
    return bits


# The rule of each opcode, with any modifiers; other opcodes on floats have `unknown_float`.
FLOATS: Rules = {
    "HFMA2": (_half_move, None),
    "I2F": (_to_float, None),
    "I2FP": (_to_float, None),
    "MUFU": (_reciprocal, None),
    "F2I": (_to_integer, None),
}
