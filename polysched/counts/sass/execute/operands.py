"""The registers of one thread, and how instructions read and set them; None is a value that is not known.

    read = word("-c[0x0][0x210]")      read(thread) is 32 bits, or None
    write = assign("UR4")              write(thread, 7)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from polysched.counts.sass.instructions import Instruction

MASK = (1 << 32) - 1
LONG = (1 << 64) - 1
Known = int | None
Results = tuple[int, ...]


@dataclass
class Thread:
    """The registers of one thread; those of its warp, uniform, are as if it were alone."""

    registers: dict[str, Known] = field(default_factory=dict)  # R0, UR4; P0 and UP0 as 0 or 1; without a value, 0
    constants: dict[tuple[int, int], Known] = field(default_factory=dict)  # words by bank and offset
    special: dict[str, int] = field(default_factory=dict)  # SR_TID.X
    local: dict[int, Known] = field(default_factory=dict)  # words by address


Reader = Callable[[Thread], Known]
Writer = Callable[[Thread, Known], None]
Step = Callable[[Thread], None]
Rules = dict[str, tuple[Callable[[Instruction], Step], str | None]]


_REGISTER = re.compile(r"([-~]?)(U?R(?:\d+|Z))(?:\.reuse|\.64|\.X4|\.U32)*")
CONSTANT = re.compile(r"([-~]?)c\[0x([0-9a-f]+)\]\[(?:(U?R(?:\d+|Z))\+?)?(?:(-?0x[0-9a-f]+))?\]")
_PREDICATE = re.compile(r"(!?)(U?P(?:\d|T))")


def is_predicate(text: str) -> bool:
    return _PREDICATE.fullmatch(text) is not None


def predicate(text: str) -> Reader:
    found = _PREDICATE.fullmatch(text)
    assert found is not None, text
    inverted, name = bool(found[1]), found[2]
    if name.endswith("T"):
        return lambda thread: int(not inverted)

    def read(thread: Thread) -> Known:
        value = thread.registers.get(name, 0)
        return None if value is None else int(bool(value) != inverted)

    return read


def word(text: str) -> Reader:
    """32 bits, unsigned."""
    read = addend(text)

    def value(thread: Thread) -> Known:
        bits = read(thread)
        return None if bits is None else bits & MASK

    return value


def addend(text: str) -> Reader:
    """32 bits to be added, so that the sum carries as the hardware's does: -x is ~x + 1, which for 0 is 1 << 32."""
    sign, plain = _plain(text)
    if not sign:
        return plain

    def value(thread: Thread) -> Known:
        bits = plain(thread)
        return None if bits is None else (~bits & MASK) + (sign == "-")

    return value


def _plain(text: str) -> tuple[str, Reader]:
    """The sign of an operand, and the bits without it."""
    if found := _REGISTER.fullmatch(text):
        name = found[2]
        if name.endswith("Z"):
            return found[1], lambda thread: 0
        return found[1], lambda thread: thread.registers.get(name, 0)
    if found := CONSTANT.fullmatch(text):
        address = constant_address(found)
        return found[1], lambda thread: word_of_bank(thread, *address(thread))
    if re.fullmatch(r"-?0x[0-9a-f]+", text):
        bits = int(text, 16) & MASK
        return "", lambda thread: bits
    if re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", text):
        bits = struct.unpack("<I", struct.pack("<f", float(text)))[0]
        return "", lambda thread: bits
    return "", lambda thread: None  # |R3|, +INF, halves: operands of floats


def constant_address(found: re.Match[str]) -> Callable[[Thread], tuple[int, Known]]:
    bank, register, offset = int(found[2], 16), found[3], int(found[4] or "0", 16)
    if register is None or register.endswith("Z"):
        return lambda thread: (bank, offset)

    def address(thread: Thread) -> tuple[int, Known]:
        base = thread.registers.get(register, 0)
        return bank, None if base is None else base + offset & MASK

    return address


def word_of_bank(thread: Thread, bank: int, offset: Known) -> Known:
    return None if offset is None else thread.constants.get((bank, offset))


def pair(text: str) -> Reader:
    """64 bits, unsigned, of a register and the next one; a constant of 32 bits is extended by its sign."""
    found = _REGISTER.fullmatch(text)
    sign = -1 if found is not None and found[1] == "-" else 1
    plain = text if sign == 1 else text[1:]
    low, high = word(plain), _upper(plain)

    def both(thread: Thread) -> Known:
        lower, upper = low(thread), high(thread)
        return None if lower is None or upper is None else sign * (upper << 32 | lower) & LONG

    return both


def _upper(text: str) -> Reader:
    if found := CONSTANT.fullmatch(text):
        address = constant_address(found)

        def behind(thread: Thread) -> Known:
            bank, offset = address(thread)
            return word_of_bank(thread, bank, None if offset is None else offset + 4)

        return behind
    found = _REGISTER.fullmatch(text)
    if found is not None and not found[2].endswith("Z"):
        return _unknown if found[1] else word(next_register(found[2]))
    low = word(text)

    def sign(thread: Thread) -> Known:
        value = low(thread)
        return None if value is None else MASK * (value >> 31)

    return sign


def _unknown(thread: Thread) -> Known:
    return None


def next_register(register: str, by: int = 1) -> str:
    found = re.fullmatch(r"(U?R)(\d+)", register)
    assert found is not None, register
    return f"{found[1]}{int(found[2]) + by}"


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
    name = text.removesuffix(".64")
    if name.endswith("Z"):
        return lambda thread, value: None
    low, high = assign(name), assign(next_register(name))

    def write(thread: Thread, value: Known) -> None:
        low(thread, value)
        high(thread, None if value is None else value >> 32)

    return write


def operation(writers: list[Writer], readers: list[Reader], compute: Callable[..., Results]) -> Step:
    """All results are unknown where an operand is."""

    def step(thread: Thread) -> None:
        values = [read(thread) for read in readers]
        results = (None,) * len(writers) if None in values else compute(*values)
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
