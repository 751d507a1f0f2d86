"""One instruction of SASS, and what kind of work it is.

    @!P1 IMAD.WIDE.U32 R6, R9, UR4, RZ       guard "@!P1", opcode "IMAD", modifiers ("WIDE", "U32"): "integer"

Opcodes: CUDA Binary Utilities, "Instruction Set Reference"; one that is not in the table here is "other", not a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal[
    "fma",  # multiplies and adds in one instruction: f32, f64, pairs of f16
    "mma",  # tensor cores
    "float",  # other arithmetic on floats, min, max and comparisons
    "special",  # reciprocals, roots, exponentials and trigonometry, approximate
    "convert",
    "integer",  # addresses, counters, comparisons, bits
    "uniform",  # the same, once for a warp, on a datapath of its own
    "predicate",
    "move",  # registers and immediates to registers
    "constant",  # kernel parameters, launch dimensions, thread indices
    "global",
    "shared",
    "local",  # arrays of a thread with subscripts unknown to the compiler, and spills
    "copy",  # from global to shared memory, past the registers
    "shuffle",
    "branch",  # with calls and exits
    "reconverge",  # bookkeeping of threads that took different branches
    "barrier",  # waits, of a block or for memory
    "other",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

_OPCODES: dict[Kind, str] = {
    "fma": "FFMA FFMA2 FFMA32I DFMA HFMA2 HFMA2_32I",
    "mma": "HMMA IMMA DMMA BMMA QMMA OMMA HGMMA IGMMA BGMMA QGMMA UTCHMMA UTCIMMA UTCQMMA UTCOMMA",
    "float": "FADD FADD2 FADD32I FMUL FMUL2 FMUL32I FMNMX FMNMX3 FSEL FSET FSETP FCHK FSWZADD "
    "DADD DMUL DMNMX DSETP HADD2 HADD2_32I HMUL2 HMUL2_32I HMNMX2 HSET2 HSETP2 HADD32I",
    "special": "MUFU",
    "convert": "F2F F2FP F2I F2IP I2F I2FP I2I I2IP FRND",
    "integer": "IMAD IMUL IADD IADD3 IADD32I VIADD VIADDMNMX VIMNMX VIMNMX3 VHMNMX IMNMX IABS INEG LEA ISCADD LOP LOP3 "
    "SHF SHL SHR PRMT SEL ISETP ISET BMSK BREV BFE BFI FLO POPC SGXT IDP IDP4A VABSDIFF VABSDIFF4 SCADD XMAD",
    "predicate": "PLOP3 PSETP PSET P2R R2P VOTE MATCH",
    "move": "MOV MOV32I UMOV R2UR UR2UP R2B B2R MOVM CS2R",
    "constant": "LDC ULDC LDCU S2R S2UR CS2UR",
    "global": "LDG STG LD ST RED REDG ATOM ATOMG",
    "shared": "LDS STS ATOMS LDSM STSM LDAS",
    "local": "LDL STL",
    "copy": "LDGSTS UBLKCP UBLKPF UTMALDG UTMASTG UTMAPF UBLKRED STAS",
    "shuffle": "SHFL REDUX CREDUX",
    "branch": "BRA BRX BRXU JMP JMX JMXU CALL RET EXIT KILL BPT RTT",
    "reconverge": "BSSY BSYNC BREAK BMOV WARPSYNC YIELD NOP NANOSLEEP ENDCOLLECTIVE ELECT PREEXIT LEPC",
    "barrier": "BAR UCGABAR_ARV UCGABAR_WAIT DEPBAR LDGDEPBAR ARRIVES SYNCS MEMBAR ERRBAR CCTL CCTLL FENCE WARPGROUP "
    "WARPGROUPSET UTMACMDFLUSH ACQBULK",
}
_KIND: dict[str, Kind] = {opcode: kind for kind, opcodes in _OPCODES.items() for opcode in opcodes.split()}

_WIDTHS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256}


@dataclass(frozen=True)
class Instruction:
    """One line of SASS."""

    address: int  # in bytes from the start of the kernel
    guard: str  # "@P0", "@!UP1": what it is executed under; "" if always
    opcode: str  # without modifiers
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    targets: tuple[int, ...] = ()  # addresses that it may jump to, calls included
    line: int = 0  # in the CUDA text; 0 if unknown

    def __str__(self) -> str:
        opcode = ".".join((self.opcode, *self.modifiers))
        return f"{self.guard} {opcode} {', '.join(self.operands)}".strip()


def kind(instruction: Instruction) -> Kind:
    """What kind of work it is; "other" for an opcode that is not known."""
    opcode = instruction.opcode
    if _moves(instruction):
        return "move"
    known = _KIND.get(opcode)
    if known is None and opcode.startswith("U") and _KIND.get(opcode[1:]) in ("integer", "predicate", "shuffle"):
        return "uniform"
    if known is None and opcode.startswith("U") and _KIND.get(opcode[1:]) in ("float", "fma", "convert", "branch"):
        return _KIND[opcode[1:]]
    return known or "other"


def carries(instruction: Instruction) -> bool:
    """Whether it is the upper half of a 64-bit operation: the two are one operation of the program."""
    return kind(instruction) in ("integer", "uniform") and any(m in ("X", "EX") for m in instruction.modifiers)


def compares(instruction: Instruction) -> bool:
    """Whether it is a comparison of integers."""
    return instruction.opcode in ("ISETP", "UISETP", "ISET")


def width(instruction: Instruction) -> int:
    """Bits that one thread accesses; 32 where nothing is said."""
    return next((_WIDTHS[m] for m in instruction.modifiers if m in _WIDTHS), 32)


def _moves(instruction: Instruction) -> bool:
    """nvcc moves through whichever pipe is idle: IMAD.MOV.U32 R5, RZ, RZ, R2 and HFMA2.MMA R5, -RZ, RZ, 0, 0."""
    sources = [operand for operand in instruction.operands if not _PREDICATE.fullmatch(operand)][1:]
    used = [source for source in sources if not _ZERO.fullmatch(source)]
    match instruction.opcode:
        case "IMAD" | "UIMAD":
            moves = any(_ZERO.fullmatch(factor) for factor in sources[:2])
        case "IADD3" | "UIADD3":
            moves = len(used) <= 1
        case "HFMA2":
            return all(_ZERO.fullmatch(factor) for factor in sources[:2])
        case _:
            return False
    return moves and "X" not in instruction.modifiers and not any(_NEGATED.match(source) for source in used)


_PREDICATE = re.compile(r"!?U?P(\d|T)")
_ZERO = re.compile(r"-?U?RZ(\.reuse)?")
_NEGATED = re.compile(r"[-~]U?R")
