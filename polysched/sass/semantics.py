"""What instructions do to the registers of one thread; None is a value that is not known.

    decode(instruction) -> Step       step(thread) sets the registers that the instruction sets

Integers, predicates and constants are exact, whatever is loaded from memory is unknown, and so are floats: addresses
and loops do not depend on them. Only the way from an integer to a reciprocal and back is followed, since nvcc divides
integers by it. Instructions as in CUDA 11 to 13 for sm_75 to sm_90.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from polysched.errors import InputError
from polysched.sass.instructions import Instruction, kind, width

MASK = (1 << 32) - 1
_LONG = (1 << 64) - 1
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


def decode(instruction: Instruction) -> Step:
    """What it does to a thread, its guard left out; InputError if it cannot be interpreted."""
    opcode = instruction.opcode
    if opcode in _NOTHING or (kind(instruction) in ("reconverge", "barrier") and opcode not in _UNSUPPORTED):
        return lambda thread: None
    rule = _RULES.get(opcode)
    if rule is None and opcode.startswith("U"):
        opcode = opcode[1:]
        rule = _RULES.get(opcode)
    if rule is None and kind(instruction) in ("fma", "float", "special", "convert"):
        rule = _float
    if rule is None or not _MODIFIERS.get(opcode, set(instruction.modifiers)).issuperset(instruction.modifiers):
        raise InputError(f"'{instruction}' cannot be interpreted, line {instruction.line}")
    return rule(instruction)


_NOTHING = ("STG", "STS", "ST", "RED", "REDG", "LDGSTS", "CCTL", "BMOV")
_UNSUPPORTED = ("ELECT", "ENDCOLLECTIVE", "SYNCS")


# --- operands


_REGISTER = re.compile(r"([-~]?)(U?R(?:\d+|Z))(?:\.reuse|\.64|\.X4|\.U32)*")
_CONSTANT = re.compile(r"([-~]?)c\[0x([0-9a-f]+)\]\[(?:(U?R(?:\d+|Z))\+?)?(?:(-?0x[0-9a-f]+))?\]")
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
    if found := _CONSTANT.fullmatch(text):
        address = _constant_address(found)
        return found[1], lambda thread: _word_of_bank(thread, *address(thread))
    if re.fullmatch(r"-?0x[0-9a-f]+", text):
        bits = int(text, 16) & MASK
        return "", lambda thread: bits
    if re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", text):
        bits = struct.unpack("<I", struct.pack("<f", float(text)))[0]
        return "", lambda thread: bits
    return "", lambda thread: None  # |R3|, +INF, halves: operands of floats


def _constant_address(found: re.Match[str]) -> Callable[[Thread], tuple[int, Known]]:
    bank, register, offset = int(found[2], 16), found[3], int(found[4] or "0", 16)
    if register is None or register.endswith("Z"):
        return lambda thread: (bank, offset)

    def address(thread: Thread) -> tuple[int, Known]:
        base = thread.registers.get(register, 0)
        return bank, None if base is None else base + offset & MASK

    return address


def _word_of_bank(thread: Thread, bank: int, offset: Known) -> Known:
    return None if offset is None else thread.constants.get((bank, offset))


def pair(text: str) -> Reader:
    """64 bits, unsigned, of a register and the next one; a constant of 32 bits is extended by its sign."""
    found = _REGISTER.fullmatch(text)
    sign = -1 if found is not None and found[1] == "-" else 1
    plain = text if sign == 1 else text[1:]
    low, high = word(plain), _upper(plain)

    def both(thread: Thread) -> Known:
        lower, upper = low(thread), high(thread)
        return None if lower is None or upper is None else sign * (upper << 32 | lower) & _LONG

    return both


def _upper(text: str) -> Reader:
    if found := _CONSTANT.fullmatch(text):
        address = _constant_address(found)

        def behind(thread: Thread) -> Known:
            bank, offset = address(thread)
            return _word_of_bank(thread, bank, None if offset is None else offset + 4)

        return behind
    found = _REGISTER.fullmatch(text)
    if found is not None and not found[2].endswith("Z"):
        return _unknown if found[1] else word(_next(found[2]))
    low = word(text)

    def sign(thread: Thread) -> Known:
        value = low(thread)
        return None if value is None else MASK * (value >> 31)

    return sign


def _unknown(thread: Thread) -> Known:
    return None


def _next(register: str, by: int = 1) -> str:
    found = re.fullmatch(r"(U?R)(\d+)", register)
    assert found is not None, register
    return f"{found[1]}{int(found[2]) + by}"


def _set(text: str) -> Writer:
    """Sets a register or predicate to its lower bits; what is always zero or true stays so."""
    name = text.removesuffix(".reuse").removesuffix(".64")
    if name.endswith(("Z", "T")) or name == "PR":
        return lambda thread, value: None
    mask = 1 if is_predicate(name) else MASK

    def write(thread: Thread, value: Known) -> None:
        thread.registers[name] = None if value is None else value & mask

    return write


def _set_pair(text: str) -> Writer:
    name = text.removesuffix(".64")
    if name.endswith("Z"):
        return lambda thread, value: None
    low, high = _set(name), _set(_next(name))

    def write(thread: Thread, value: Known) -> None:
        low(thread, value)
        high(thread, None if value is None else value >> 32)

    return write


def _step(writers: list[Writer], readers: list[Reader], compute: Callable[..., Results]) -> Step:
    """All results are unknown where an operand is."""

    def step(thread: Thread) -> None:
        values = [read(thread) for read in readers]
        results = (None,) * len(writers) if None in values else compute(*values)
        for write, result in zip(writers, results, strict=False):
            write(thread, result)

    return step


def _split(instruction: Instruction) -> tuple[str, list[str], list[str]]:
    """The destination, the predicates right behind it, which are set too, and what is read."""
    destination, *rest = instruction.operands
    outputs = 0
    while outputs < len(rest) and is_predicate(rest[outputs]):
        outputs += 1
    return destination, rest[:outputs], rest[outputs:]


def signed(bits: int, of: int = 32) -> int:
    return bits - (1 << of) if bits >> of - 1 else bits


# --- integers


def _imad(i: Instruction) -> Step:
    destination, carries, (a, b, c, *carry) = _split(i)
    value = (lambda bits: bits) if "U32" in i.modifiers else signed
    carry_in = [predicate(text) for text in carry[:1]] if "X" in i.modifiers else []
    if "WIDE" in i.modifiers:
        readers = [word(a), word(b), pair(c), *carry_in]

        def wide(x: int, y: int, z: int, carried: int = 0) -> Results:
            total = (value(x) * value(y) & _LONG) + z + carried
            return total & _LONG, total >> 64

        return _step([_set_pair(destination), *map(_set, carries)], readers, wide)
    if "HI" in i.modifiers:

        def high(x: int, y: int, z: int, carried: int = 0) -> Results:
            total = (value(x) * value(y) & _LONG) + z + carried
            return total >> 32, total >> 64

        return _step([_set(destination), *map(_set, carries)], [word(a), word(b), pair(c), *carry_in], high)
    if {a, b} & {"RZ", "URZ"}:  # the other factor does not matter, known or not
        return _step([_set(destination)], [word(c), *carry_in], lambda z, carried=0: (z + carried,))
    return _step(
        [_set(destination)], [word(a), word(b), word(c), *carry_in], lambda x, y, z, carried=0: (x * y + z + carried,)
    )


def _iadd3(i: Instruction) -> Step:
    destination, carries, sources = _split(i)
    numbers = [addend(text) for text in sources if not is_predicate(text)]
    carried = [predicate(text) for text in sources if is_predicate(text)] if "X" in i.modifiers else []

    def compute(*values: int) -> Results:
        total = sum(values)
        return total, total >> 32 >= 1, total >> 32 >= 2

    return _step([_set(destination), *map(_set, carries)], numbers + carried, compute)


def _lea(i: Instruction) -> Step:
    destination, carries, sources = _split(i)
    a, b, *others = (text for text in sources if not is_predicate(text))
    high = others[0] if "HI" in i.modifiers and "SX32" not in i.modifiers else "RZ"
    carried = [predicate(text) for text in sources if is_predicate(text)][:1] if "X" in i.modifiers else []

    def compute(low: int, top: int, shift: int, base: int, carry: int = 0) -> Results:
        whole = signed(low) if "SX32" in i.modifiers else top << 32 | low
        moved = whole << (shift & 31)
        part = (moved >> 32 if "HI" in i.modifiers else moved) & MASK
        if a.startswith("-"):  # of what is shifted; it carries as other negations do
            part = -moved >> 32 & MASK if "HI" in i.modifiers else (~part & MASK) + 1
        total = part + base + carry
        return total, total >> 32

    readers = [word(a.removeprefix("-")), word(high), word(others[-1]), addend(b), *carried]
    return _step([_set(destination), *map(_set, carries)], readers, compute)


def _shf(i: Instruction) -> Step:
    destination, a, amount, b = i.operands
    modifiers, wraps = i.modifiers, "W" in i.modifiers
    is_long = "U64" in modifiers or "S64" in modifiers
    sign = any(name in modifiers for name in ("S32", "S64"))

    def compute(low: int, shift: int, high: int) -> Results:
        shift = shift & (63 if is_long else 31) if wraps else min(shift, 64 if is_long else 32)
        if "L" in modifiers:
            if "HI" in modifiers:
                return ((high << 32 | low) << shift >> 32,)
            return (low << shift,)
        if "HI" in modifiers:
            return ((signed(high) if sign else high) >> shift,)
        whole = high << 32 | low
        return ((signed(whole, 64) if sign else whole) >> shift,)

    if "L" in modifiers and "HI" not in modifiers:
        b = "RZ"  # the lower half does not depend on it
    if "R" in modifiers and "HI" in modifiers:
        a = "RZ"
    return _step([_set(destination)], [word(a), word(amount), word(b)], compute)


def _lop3(i: Instruction) -> Step:
    operands = list(i.operands)
    outputs = [_set(operands.pop(0))] if is_predicate(operands[0]) else []
    destination, a, b, c, table, *condition = operands
    lut = int(table, 16)

    def compute(x: int, y: int, z: int, given: int) -> Results:
        bits = 0
        for k in range(8):
            if lut >> k & 1:
                bits |= (x if k & 4 else ~x) & (y if k & 2 else ~y) & (z if k & 1 else ~z)
        bits &= MASK
        return bits, (bits != 0 and given) if "PAND" in i.modifiers else (bits != 0 or given)

    given = predicate(condition[0]) if condition else predicate("!PT")
    return _step([_set(destination), *outputs], [word(a), word(b), word(c), given], compute)


def _plop3(i: Instruction) -> Step:
    first, second, *conditions, table, other = i.operands
    readers = [predicate(text) for text in conditions]
    luts = int(table, 16), int(other, 16)

    def step(thread: Thread) -> None:
        values = [read(thread) for read in readers]
        for write, lut in zip((_set(first), _set(second)), luts, strict=True):
            ways = [0]
            for value in values:
                ways = [way << 1 | bit for way in ways for bit in ((0, 1) if value is None else (value,))]
            results = {lut >> way & 1 for way in ways}
            write(thread, results.pop() if len(results) == 1 else None)

    return step


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "LT": lambda x, y: x < y,
    "LE": lambda x, y: x <= y,
    "GT": lambda x, y: x > y,
    "GE": lambda x, y: x >= y,
    "EQ": lambda x, y: x == y,
    "NE": lambda x, y: x != y,
}
_COMBINE: dict[str, Callable[[bool, int], bool]] = {
    "AND": lambda result, given: result and bool(given),
    "OR": lambda result, given: result or bool(given),
    "XOR": lambda result, given: result != bool(given),
}


def _isetp(i: Instruction) -> Step:
    first, second, a, b, given, *lower = i.operands
    compare = _COMPARE[i.modifiers[0]]
    combine = next(_COMBINE[name] for name in i.modifiers if name in _COMBINE)
    value = (lambda bits: bits) if "U32" in i.modifiers else signed

    def compute(x: int, y: int, condition: int, below: int = 0) -> Results:
        result = compare(value(x), value(y))
        if "EX" in i.modifiers and x == y:  # the lower halves, compared before, decide
            result = bool(below)
        return combine(result, condition), combine(not result, condition)

    readers = [word(a), word(b), predicate(given), *([predicate(lower[0])] if "EX" in i.modifiers else [])]
    known = _step([_set(first), _set(second)], readers, compute)

    def step(thread: Thread) -> None:
        if "AND" in i.modifiers and readers[2](thread) == 0:  # whatever is compared
            _set(first)(thread, 0)
            _set(second)(thread, 0)
        else:
            known(thread)

    return step


def _minmax(i: Instruction) -> Step:
    destination, a, b, is_min = i.operands
    value = (lambda bits: bits) if "U32" in i.modifiers else signed

    def compute(x: int, y: int, smaller: int) -> Results:
        result = (min if smaller else max)(value(x), value(y))
        return (max(result, 0) if "RELU" in i.modifiers else result,)

    return _step([_set(destination)], [word(a), word(b), predicate(is_min)], compute)


def _add_minmax(i: Instruction) -> Step:
    destination, a, b, c, is_min = i.operands
    value = (lambda bits: bits) if "U32" in i.modifiers else signed

    def compute(x: int, y: int, z: int, smaller: int) -> Results:
        result = (min if smaller else max)(value(x + y & MASK), value(z))
        return (max(result, 0) if "RELU" in i.modifiers else result,)

    return _step([_set(destination)], [word(a), word(b), word(c), predicate(is_min)], compute)


def _select(i: Instruction) -> Step:
    destination, a, b, condition = i.operands
    then, other, decide, write = word(a), word(b), predicate(condition), _set(destination)

    def step(thread: Thread) -> None:
        given = decide(thread)
        write(thread, None if given is None else then(thread) if given else other(thread))

    return step


def _permute(i: Instruction) -> Step:
    destination, a, selector, b = i.operands

    def compute(x: int, chosen: int, y: int) -> Results:
        octets = (y << 32 | x).to_bytes(8, "little")
        out = 0
        for k in range(4):
            octet = octets[chosen >> 4 * k & 7]
            out |= (255 * (octet >> 7) if chosen >> 4 * k & 8 else octet) << 8 * k
        return (out,)

    return _step([_set(destination)], [word(a), word(selector), word(b)], compute)


def _unary(compute: Callable[[int], int]) -> Callable[[Instruction], Step]:
    return lambda i: _step([_set(i.operands[0])], [word(i.operands[-1])], lambda x: (compute(x),))


def _leading(i: Instruction) -> Step:
    """The position of the highest bit that is not the sign's; with SH, how far it is from the top."""

    def compute(x: int) -> Results:
        bits = (~x & MASK if x >> 31 and "U32" not in i.modifiers else x).bit_length()
        return (MASK,) if bits == 0 else (32 - bits if "SH" in i.modifiers else bits - 1,)

    return _step([_set(i.operands[0])], [word(i.operands[-1])], compute)


def _extend(i: Instruction) -> Step:
    destination, a, bits = i.operands

    def compute(x: int, number: int) -> Results:
        number = min(number, 32)
        low = x & (1 << number) - 1
        return (signed(low, number) if number and "U32" not in i.modifiers else low,)

    return _step([_set(destination)], [word(a), word(bits)], compute)


def _mask(i: Instruction) -> Step:
    destination, position, bits = i.operands

    def compute(at: int, number: int) -> Results:
        return ((1 << min(number, 32)) - 1 << min(at, 32),)

    return _step([_set(destination)], [word(position), word(bits)], compute)


# --- moves, constants, memory


def _move(i: Instruction) -> Step:
    operands = [text for text in i.operands if not is_predicate(text)]
    if "64" in i.modifiers:
        return _step([_set_pair(operands[0])], [pair(operands[1])], lambda x: (x,))
    return _step([_set(operands[0])], [word(operands[1])], lambda x: (x,))


def _special(i: Instruction) -> Step:
    destination, name = i.operands
    write = _set_pair(destination) if i.opcode == "CS2R" and "32" not in i.modifiers else _set(destination)
    return lambda thread: write(thread, 0 if name == "SRZ" else thread.special.get(name))


def _load_constant(i: Instruction) -> Step:
    destination, source = i.operands
    found = _CONSTANT.fullmatch(source)
    bits = width(i)
    if found is None or bits > 128:
        raise InputError(f"'{i}' cannot be interpreted, line {i.line}")
    address = _constant_address(found)
    writers = [_set(destination if k == 0 else _next(destination, k)) for k in range(max(bits // 32, 1))]

    def step(thread: Thread) -> None:
        bank, offset = address(thread)
        for k, write in enumerate(writers):
            if bits >= 32:
                write(thread, _word_of_bank(thread, bank, None if offset is None else offset + 4 * k))
            else:
                whole = _word_of_bank(thread, bank, None if offset is None else offset & ~3)
                part = None if whole is None or offset is None else whole >> 8 * (offset & 3) & (1 << bits) - 1
                is_signed = f"S{bits}" in i.modifiers
                write(thread, signed(part, bits) if part is not None and is_signed else part)

    return step


def _load(i: Instruction) -> Step:
    """What other threads may have written is not known."""
    destination = next(text for text in i.operands if not is_predicate(text))
    predicates = [_set(text) for text in i.operands[:1] if is_predicate(text)]
    names = [] if destination.endswith("Z") else [_next(destination, k) for k in range(max(width(i) // 32, 1))]
    writers = [*map(_set, names), *predicates]

    def step(thread: Thread) -> None:
        for write in writers:
            write(thread, None)

    return step


_LOCAL = re.compile(r"\[(R\d+|RZ)?(?:\+?(-?0x[0-9a-f]+))?\]")


def _local_address(text: str) -> Reader:
    found = _LOCAL.fullmatch(text)
    if found is None:
        return lambda thread: None
    base, offset = word(found[1] or "RZ"), int(found[2] or "0", 16)

    def address(thread: Thread) -> Known:
        start = base(thread)
        return None if start is None else start + offset & MASK

    return address


def _load_local(i: Instruction) -> Step:
    destination, place = i.operands[0], _local_address(i.operands[1])
    if width(i) < 32:
        return _load(i)
    writers = [_set(_next(destination, k)) for k in range(width(i) // 32)]

    def step(thread: Thread) -> None:
        address = place(thread)
        for k, write in enumerate(writers):
            write(thread, None if address is None else thread.local.get(address + 4 * k))

    return step


def _store_local(i: Instruction) -> Step:
    place, source = _local_address(i.operands[0]), i.operands[1]
    words = range(max(width(i) // 32, 1))
    readers = [word(source if source.endswith("Z") else _next(source, k)) for k in words]

    def step(thread: Thread) -> None:
        address = place(thread)
        if address is None:
            thread.local.clear()
            return
        for k, read in enumerate(readers):
            thread.local[address + 4 * k] = read(thread) if width(i) >= 32 else None

    return step


def _vote(i: Instruction) -> Step:
    """As if all threads of the warp did the same."""
    given = predicate(i.operands[-1])
    writers = [_set(text) for text in i.operands[:-1]]

    def step(thread: Thread) -> None:
        value = given(thread)
        for text, write in zip(i.operands, writers, strict=False):
            write(thread, value if is_predicate(text) or value is None else MASK * value)

    return step


def _predicates_to_register(i: Instruction) -> Step:
    destination, _, base, mask = i.operands
    readers = [word(base), word(mask), *(predicate(f"P{k}") for k in range(7))]
    write = _set(destination)

    def step(thread: Thread) -> None:
        value, bits, *predicates = (read(thread) for read in readers)
        if value is None or bits is None:
            write(thread, None)
            return
        for k, given in enumerate(predicates):
            if bits >> k & 1:
                if given is None:
                    write(thread, None)
                    return
                value = value & ~(1 << k) | given << k
        write(thread, value)

    return step


def _register_to_predicates(i: Instruction) -> Step:
    _, source, mask = i.operands
    register, _, part = source.partition(".B")
    value, bits = word(register), word(mask)

    def step(thread: Thread) -> None:
        whole, chosen = value(thread), bits(thread)
        for k in range(7):
            if chosen is None or chosen >> k & 1:
                at = k + 8 * int(part or 0)
                thread.registers[f"P{k}"] = None if whole is None or chosen is None else whole >> at & 1

    return step


# --- floats


def _float(i: Instruction) -> Step:
    """Unknown results, of the right width."""
    destinations = [text for text in i.operands[:2] if is_predicate(text) and not text.startswith("!")]
    writers = [_set(text) for text in destinations]
    if not destinations:
        writers = [(_set_pair if _is_wide(i) else _set)(i.operands[0])]

    def step(thread: Thread) -> None:
        for write in writers:
            write(thread, None)

    return step


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
        return _float(i)
    try:
        bits = struct.unpack("<I", struct.pack("<2e", float(halves[1]), float(halves[0])))[0]
    except ValueError:
        return _float(i)
    write = _set(destination)
    return lambda thread: write(thread, bits)


def _to_float(i: Instruction) -> Step:
    if not set(i.modifiers) <= {"F32", "S32", "U32", "S64", "U64", "RP"}:
        return _float(i)
    is_long = "S64" in i.modifiers or "U64" in i.modifiers
    is_unsigned = "U32" in i.modifiers or "U64" in i.modifiers

    def compute(x: int) -> Results:
        return (_float_bits(Fraction(x if is_unsigned else signed(x, 64 if is_long else 32)), up="RP" in i.modifiers),)

    source = i.operands[1]
    return _step([_set(i.operands[0])], [pair(source) if is_long else word(source)], compute)


def _reciprocal(i: Instruction) -> Step:
    if i.modifiers != ("RCP",):
        return _float(i)

    def compute(bits: int) -> Results:
        x = _of_bits(bits)
        return (_float_bits(1 / Fraction(x)) if math.isfinite(x) and x else 0x7F800000 if x == 0 else 0,)

    return _step([_set(i.operands[0])], [word(i.operands[1])], compute)


def _to_integer(i: Instruction) -> Step:
    bits = 64 if "U64" in i.modifiers or "S64" in i.modifiers else 32
    if "F64" in i.modifiers or "TRUNC" not in i.modifiers:
        return _float(i)
    low, high = (0, (1 << bits) - 1) if f"U{bits}" in i.modifiers else (-(1 << bits - 1), (1 << bits - 1) - 1)

    def compute(given: int) -> Results:
        x = _of_bits(given)
        return (0 if math.isnan(x) else low if x < low else high if x > high else int(x),)

    return _step([(_set_pair if bits == 64 else _set)(i.operands[0])], [word(i.operands[1])], compute)


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


_RULES: dict[str, Callable[[Instruction], Step]] = {
    "IMAD": _imad,
    "IADD3": _iadd3,
    "IADD": _iadd3,
    "VIADD": _iadd3,
    "LEA": _lea,
    "SHF": _shf,
    "LOP3": _lop3,
    "PLOP3": _plop3,
    "ISETP": _isetp,
    "IMNMX": _minmax,
    "VIMNMX": _minmax,
    "VIADDMNMX": _add_minmax,
    "SEL": _select,
    "PRMT": _permute,
    "IABS": _unary(lambda x: abs(signed(x))),
    "POPC": _unary(lambda x: x.bit_count()),
    "BREV": _unary(lambda x: int(f"{x:032b}"[::-1], 2)),
    "FLO": _leading,
    "SGXT": _extend,
    "BMSK": _mask,
    "MOV": _move,
    "R2UR": _move,
    "S2R": _special,
    "S2UR": _special,
    "CS2R": _special,
    "LDC": _load_constant,
    "LDG": _load,
    "LD": _load,
    "LDS": _load,
    "ATOM": _load,
    "ATOMG": _load,
    "ATOMS": _load,
    "SHFL": _load,
    "LDL": _load_local,
    "STL": _store_local,
    "VOTE": _vote,
    "VOTEU": _vote,
    "P2R": _predicates_to_register,
    "R2P": _register_to_predicates,
    "HFMA2": _half_move,
    "I2F": _to_float,
    "I2FP": _to_float,
    "MUFU": _reciprocal,
    "F2I": _to_integer,
}

# What may follow their names; with anything else they mean something else.
_MODIFIERS: dict[str, set[str]] = {
    opcode: set(modifiers.split())
    for opcode, modifiers in {
        "IMAD": "U32 WIDE HI X MOV SHL IADD",
        "IADD3": "X",
        "IADD": "X",
        "VIADD": "",
        "LEA": "HI X SX32",
        "SHF": "L R W HI U32 S32 U64 S64",
        "LOP3": "LUT PAND",
        "PLOP3": "LUT",
        "ISETP": "LT LE GT GE EQ NE AND OR XOR U32 EX",
        "IMNMX": "U32",
        "VIMNMX": "U32 RELU",
        "VIADDMNMX": "U32 RELU",
        "SEL": "",
        "PRMT": "",
        "IABS": "",
        "POPC": "",
        "BREV": "",
        "FLO": "U32 SH",
        "SGXT": "U32",
        "BMSK": "",
        "MOV": "64",
        "R2UR": "",
        "S2R": "",
        "S2UR": "",
        "CS2R": "32",
        "LDC": "64 128 U8 S8 U16 S16",
        "VOTE": "ANY ALL",
        "VOTEU": "ANY ALL",
        "P2R": "",
        "R2P": "",
    }.items()
}
