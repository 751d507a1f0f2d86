"""The registers of one thread, and how instructions read and set them; None is a value that is not known.

    read = word("-c[0x0][0x210]")      read(thread) is 32 bits, or None
    write = assign("UR4")              write(thread, 7)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from polysched.counts.sass.instructions import Instruction

MASK = (1 << 32) - 1
LONG = (1 << 64) - 1
Known = int | None
Results = tuple[int, ...]


@dataclass
class Thread:
    """The registers of one thread; those of its warp, uniform, are as if it were alone."""

    registers: dict[str, Known] = field(default_factory=dict)  # R0, UR4; P0 and UP0 as 0 or 1; without a value, 0
    constants: dict[tuple[int, Known], Known] = field(default_factory=dict)  # words by bank and offset
    special: dict[str, int] = field(default_factory=dict)  # SR_TID.X
    local: dict[Known, Known] = field(default_factory=dict)  # words by address; none is at one that is not known


Reader = Callable[[Thread], Known]
Writer = Callable[[Thread, Known], None]
Step = Callable[[Thread], None]
Rules = dict[str, tuple[Callable[[Instruction], Step], str | None]]


_REGISTER = re.compile(r"([-~]?)(U?R(?:\d+|Z))(?:\.reuse|\.64|\.X4|\.U32)*")
CONSTANT = re.compile(r"([-~]?)c\[0x([0-9a-f]+)\]\[(?:(U?R(?:\d+|Z))\+?)?(?:(-?0x[0-9a-f]+))?\]")
_PREDICATE = re.compile(r"(!?)(U?P(?:\d|T))")


def lifted(compute: Callable[..., int], *readers: Reader) -> Reader:
    """What is computed of operands, which is not known where one of them is not."""

    def read(thread: Thread) -> Known:
        values = [read(thread) for read in readers]
        return None if None in values else compute(*values)

    return read


def unknown(thread: Thread) -> Known:
    return None


def is_predicate(text: str) -> bool:
    return _PREDICATE.fullmatch(text) is not None


def predicate(text: str) -> Reader:
    found = _PREDICATE.fullmatch(text)
    assert found is not None, text
    inverted, name = bool(found[1]), found[2]
    if name.endswith("T"):
        return lambda thread: int(not inverted)
    return lifted(lambda value: int(bool(value) != inverted), _register(name))


def word(text: str) -> Reader:
    """32 bits, unsigned."""
    return lifted(lambda bits: bits & MASK, addend(text))


def addend(text: str) -> Reader:
    """32 bits to be added, so that the sum carries as the hardware's does: -x is ~x + 1, which for 0 is 1 << 32."""
    sign, plain = _plain(text)
    return lifted(lambda bits: (~bits & MASK) + (sign == "-"), plain) if sign else plain


def _plain(text: str) -> tuple[str, Reader]:
    """The sign of an operand, and the bits without it."""
    if found := _REGISTER.fullmatch(text):
        return found[1], _register(found[2])
    if found := CONSTANT.fullmatch(text):
        return found[1], constant(*place_of_constant(found))
    if re.fullmatch(r"-?0x[0-9a-f]+", text):
        bits = int(text, 16) & MASK
        return "", lambda thread: bits
    if re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", text):
        bits = struct.unpack("<I", struct.pack("<f", float(text)))[0]
        return "", lambda thread: bits
    return "", unknown  # |R3|, +INF, halves: operands of floats


def _register(name: str) -> Reader:
    return (lambda thread: 0) if name.endswith("Z") else lambda thread: thread.registers.get(name, 0)


def place_of_constant(found: re.Match[str]) -> tuple[int, Reader]:
    """The bank of a constant, and its address there."""
    return int(found[2], 16), address(found[3], found[4])


def address(register: str | None, offset: str | None) -> Reader:
    """As in [R2+0x10], of which either may be left out."""
    behind = int(offset or "0", 16)
    return lifted(lambda start: start + behind & MASK, _register(register or "RZ"))


def constant(bank: int, place: Reader, behind: int = 0) -> Reader:
    """The word of a bank at an address, or so many bytes behind it; unknown between words."""
    start = lifted(lambda at: at + behind, place)
    return lambda thread: thread.constants.get((bank, start(thread)))


def pair(text: str) -> Reader:
    """64 bits, unsigned, of a register and the next one; a constant of 32 bits is extended by its sign."""
    found = _REGISTER.fullmatch(text)
    sign = -1 if found is not None and found[1] == "-" else 1
    plain = text if sign == 1 else text[1:]
    return lifted(lambda low, high: sign * (high << 32 | low) & LONG, word(plain), _upper(plain))


def _upper(text: str) -> Reader:
    if found := CONSTANT.fullmatch(text):
        return constant(*place_of_constant(found), behind=4)
    found = _REGISTER.fullmatch(text)
    if found is not None and not found[2].endswith("Z"):
        return unknown if found[1] else word(registers(found[2], 2)[1])
    return lifted(lambda low: MASK * (low >> 31), word(text))


def registers(first: str, count: int) -> list[str]:
    """The names of a register and of those behind it; RZ is all of them itself."""
    found = re.match(r"(U?R)(\d+)", first)
    return [f"{found[1]}{int(found[2]) + k}" for k in range(count)] if found else [first] * count


def assign(text: str) -> Writer:
    """Sets a register or predicate to its lower bits; what is always zero or true stays so."""
    name = text.removesuffix(".reuse").removesuffix(".64")
    if name.endswith(("Z", "T")) or name == "PR":
        return lambda thread, value: None
    mask = 1 if is_predicate(name) else MASK

    def write(thread: Thread, value: Known) -> None:
        thread.registers[name] = None if value is None else value & mask

    return write


def assign_pair(text: str) -> Writer:
    low, high = map(assign, registers(text, 2))

    def write(thread: Thread, value: Known) -> None:
        low(thread, value)
        high(thread, None if value is None else value >> 32)

    return write


def moves(writers: Sequence[Writer], readers: Iterable[Reader]) -> Step:
    """Sets each to what is read; all is read before."""
    pairs = list(zip(writers, readers, strict=False))

    def step(thread: Thread) -> None:
        for write, value in [(write, read(thread)) for write, read in pairs]:
            write(thread, value)

    return step


def forgets(writers: Sequence[Writer]) -> Step:
    """What they write is not known from now on."""
    return moves(writers, repeat(unknown))


def sets(text: str, compute: Callable[..., int], *readers: Reader) -> Step:
    """Sets a register to what is computed."""
    return moves([assign(text)], [lifted(compute, *readers)])


def operation(writers: Sequence[Writer], readers: Sequence[Reader], compute: Callable[..., Results]) -> Step:
    """Several results, which are all unknown where an operand is."""

    def step(thread: Thread) -> None:
        values = [read(thread) for read in readers]
        results = repeat(None) if None in values else compute(*values)
        for write, result in zip(writers, results, strict=False):
            write(thread, result)

    return step


def split(instruction: Instruction) -> tuple[str, list[str], list[str]]:
    """The destination, the predicates right behind it, which are set too, and what is read."""
    destination, *rest = instruction.operands
    outputs = 0
    while outputs < len(rest) and is_predicate(rest[outputs]):
        outputs += 1
    return destination, rest[:outputs], rest[outputs:]


def signed(bits: int, of: int = 32) -> int:
    return bits - (1 << of) if bits >> of - 1 else bits
