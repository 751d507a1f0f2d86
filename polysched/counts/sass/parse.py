"""Reads what nvdisasm prints of a cubin: per kernel its instructions, with the lines of the CUDA text they come from.

    .text._Z4axpyPdS_dl:
            //## File "/tmp/axpy.cu", line 3
            /*0000*/                   S2R R0, SR_TID.X ;                     Instruction(0, "", "S2R", ..., line=3)
    .L_x_1:
            /*0010*/              @!P0 BRA `(.L_x_1) ;                        ... targets=(0x10,)

Calls of nvcc's own routines (`$__internal_0_$__cuda_sm20_div_rn_f64_full`) stay inside of a kernel's section.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from polysched.counts.sass.instructions import Instruction


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """The SASS of one kernel."""

    symbol: str  # as the linker knows it: _Z4axpyPdS_dl
    name: str  # as the text does: axpy
    arch: str  # "sm_90"
    instructions: tuple[Instruction, ...]
    routines: dict[str, int]  # nvcc's own, and the address of the first instruction of each
    launch_bounds: tuple[int, int, int] | None  # most threads of a block along x, y, z, if the text states it
    parameters: tuple[tuple[int, int], ...]  # offset and size in bytes of each, in order
    parameter_base: int  # the offset of the first in constant bank 0
    constants: dict[int, bytes] = field(repr=False)  # the constant banks that the compiler has filled, by number


def parse(text: str) -> tuple[Assembly, ...]:
    """The kernels in nvdisasm's output, in the order of their lines in the CUDA text where that is known."""
    sections = _sections(text)
    arch = match[1] if (match := re.search(r"^\s*\.target\s+(\w+)", text, re.MULTILINE)) else ""
    symbols = [name.removeprefix(".text.") for name in sections if name.startswith(".text.")]
    names = _names(symbols)
    kernels = [_assembly(symbol, names[symbol], arch, sections) for symbol in symbols]
    return tuple(sorted(kernels, key=lambda kernel: min((i.line for i in kernel.instructions if i.line), default=0)))


def _sections(text: str) -> dict[str, list[str]]:
    """The lines of each section by its name: .text.KERNEL, .nv.info.KERNEL, .nv.constant2.KERNEL."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if found := re.match(r'\s*\.section\s+"?([^\s",]+)', line):
            lines = sections.setdefault(found[1], [])
        lines.append(line)
    return sections


def _assembly(symbol: str, name: str, arch: str, sections: dict[str, list[str]]) -> Assembly:
    instructions, labels = _code(sections[f".text.{symbol}"])
    info = _attributes(sections.get(f".nv.info.{symbol}", []))
    bounds = next((struct.unpack("<3I", _values(lines)) for key, lines in info if key == "EIATTR_MAX_THREADS"), None)
    bank = next((_values(lines) for key, lines in info if key == "EIATTR_PARAM_CBANK"), b"")
    parameters = sorted(_parameter(lines) for key, lines in info if key == "EIATTR_KPARAM_INFO")
    suffix = f".{symbol}"
    constants = {
        int(found[1]): _data(lines)
        for section, lines in sections.items()
        if section.endswith(suffix) and (found := re.fullmatch(r"\.nv\.constant(\d+)", section.removesuffix(suffix)))
    }
    return Assembly(
        symbol=symbol,
        name=name,
        arch=arch,
        instructions=instructions,
        routines={label: address for label, address in labels.items() if label.startswith("$")},
        launch_bounds=bounds,
        parameters=tuple((offset, size) for _, offset, size in parameters),
        parameter_base=int.from_bytes(bank[:2], "little"),
        constants=constants,
    )


_CODE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([\w.]+)\s*(.*?)\s*;")
_LABEL = re.compile(r"([.$\w]+):\s*$")
_LINE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
_TARGET = re.compile(r"`\(([^()]+)\)")


def _code(lines: list[str]) -> tuple[tuple[Instruction, ...], dict[str, int]]:
    """The instructions of a section up to the padding behind them, and the address of each label."""
    found: list[tuple[Instruction, list[str]]] = []
    waiting: list[str] = []
    labels: dict[str, int] = {}
    line = 0
    for text in lines:
        if code := _CODE.match(text):
            address = int(code[1], 16)
            labels |= dict.fromkeys(waiting, address)
            waiting.clear()
            opcode, *modifiers = code[3].split(".")
            operands, jumps = _operands(code[4])
            instruction = Instruction(address, code[2] or "", opcode, tuple(modifiers), operands, (), line)
            found.append((instruction, jumps))
        elif label := _LABEL.match(text):
            waiting.append(label[1])
        elif (place := _LINE.match(text)) and place[1].endswith(".cu"):
            line = int(place[2])  # where a header has been inlined, the line of ours stays that calls it
    kernel = [replace(i, targets=tuple(labels[j] for j in jumps if j in labels)) for i, jumps in found]
    while kernel and kernel[-1].opcode == "NOP":
        kernel.pop()
    if kernel and kernel[-1].targets == (kernel[-1].address,):
        kernel.pop()  # an endless loop, for what would run over the end
    return tuple(kernel), labels


def _operands(text: str) -> tuple[tuple[str, ...], list[str]]:
    """The operands, and the labels that they name."""
    text, _, note = text.partition('(*"')  # nvdisasm's: SpillRefill, BRANCH_TARGETS .L_x_1,.L_x_2
    jumps = _TARGET.findall(text)
    if note.startswith("BRANCH_TARGETS"):
        jumps = note.removeprefix("BRANCH_TARGETS").partition('"')[0].split(",")
    operands = tuple(operand.strip() for operand in re.split(r",(?![^\[(]*[\])])", text) if operand.strip())
    return operands, [jump.strip() for jump in jumps]


def _attributes(lines: Sequence[str]) -> list[tuple[str, list[str]]]:
    """What .nv.info says of a kernel: attributes by name, with the lines that hold their data."""
    attributes: list[tuple[str, list[str]]] = []
    for line in lines:
        if found := re.search(r"nvinfo : (EIATTR_\w+)", line):
            attributes.append((found[1], []))
        elif attributes:
            attributes[-1][1].append(line)
    return attributes


def _values(lines: Sequence[str]) -> bytes:
    """The data of an attribute, after the two bytes that tell its form and name, and the two of its size."""
    return _data([line for line in lines if "(" not in line])[2:]


def _parameter(lines: Sequence[str]) -> tuple[int, int, int]:
    """Position, offset and size in bytes of one parameter."""
    _, position, offset, packed = struct.unpack("<IHHI", _values(lines))
    return position, offset, packed >> 18


_SIZES = {".byte": 1, ".short": 2, ".word": 4, ".dword": 8, ".quad": 8}


def _data(lines: Sequence[str]) -> bytes:
    """The bytes that directives put into a section."""
    out = bytearray()
    for line in lines:
        if found := re.match(r"\s*(?:/\*\w+\*/\s*)?(\.\w+)\s+(.*)", line):
            if found[1] in _SIZES:
                for number in re.findall(r"-?(?:0x[0-9a-f]+|\d+)", found[2]):
                    out += (int(number, 0) % (1 << 8 * _SIZES[found[1]])).to_bytes(_SIZES[found[1]], "little")
            elif found[1] in (".zero", ".skip"):
                out += bytes(int(found[2].split()[0], 0))
    return bytes(out)


def _names(symbols: Sequence[str]) -> dict[str, str]:
    """The names of functions without their parameters; symbols stay where two would be called the same."""
    short = {symbol: _demangled(symbol) for symbol in symbols}
    once = {name for name in short.values() if list(short.values()).count(name) == 1}
    return {symbol: name if name in once else symbol for symbol, name in short.items()}


def _demangled(symbol: str) -> str:
    """_Z4axpyPdS_dl is axpy, _ZN2la4axpyEPd is la::axpy; Itanium C++ ABI, section 5.1."""
    rest = symbol.removeprefix("_ZN").removeprefix("_Z")
    parts = []
    while length := re.match(r"[1-9]\d*", rest):
        end = length.end() + int(length[0])
        parts.append(rest[length.end() : end])
        rest = rest[end:]
        if not symbol.startswith("_ZN"):
            break
    return "::".join(parts) if symbol.startswith("_Z") and parts else symbol
