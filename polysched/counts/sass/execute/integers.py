"""What integer instructions and those on predicates do, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import eq, ge, gt, le, lt, mul, ne

from polysched.counts.sass.execute.operands import (
    LONG,
    MASK,
    Known,
    Reader,
    Results,
    Rules,
    Step,
    Thread,
    addend,
    assign,
    assign_pair,
    is_predicate,
    lifted,
    moves,
    operation,
    pair,
    predicate,
    sets,
    signed,
    split,
    word,
)
from polysched.counts.sass.instructions import Instruction


def _number(i: Instruction) -> Callable[[int], int]:
    """The number that a register's bits are for the instruction."""
    return (lambda bits: bits) if "U32" in i.modifiers else signed


def _imad(i: Instruction) -> Step:
    destination, carries, (a, b, c, *carry) = split(i)
    number, is_wide, is_high = _number(i), "WIDE" in i.modifiers, "HI" in i.modifiers
    carry_in = [predicate(text) for text in carry[:1]] if "X" in i.modifiers else []
    if not is_wide and not is_high:
        # Beside a factor of zero, the other does not matter, known or not.
        product = [] if {a, b} & {"RZ", "URZ"} else [lifted(mul, word(a), word(b))]
        return sets(destination, lambda *terms: sum(terms), *product, word(c), *carry_in)

    def compute(x: int, y: int, z: int, carried: int = 0) -> Results:
        total = (number(x) * number(y) & LONG) + z + carried
        return total & LONG if is_wide else total >> 32, total >> 64

    write = (assign_pair if is_wide else assign)(destination)
    return operation([write, *map(assign, carries)], [word(a), word(b), pair(c), *carry_in], compute)


def _iadd3(i: Instruction) -> Step:
    destination, carries, sources = split(i)
    numbers = [addend(text) for text in sources if not is_predicate(text)]
    carried = [predicate(text) for text in sources if is_predicate(text)] if "X" in i.modifiers else []

    def compute(*values: int) -> Results:
        total = sum(values)
        return total, total >> 32 >= 1, total >> 32 >= 2

    return operation([assign(destination), *map(assign, carries)], numbers + carried, compute)


def _lea(i: Instruction) -> Step:
    destination, carries, sources = split(i)
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
    return operation([assign(destination), *map(assign, carries)], readers, compute)


def _shf(i: Instruction) -> Step:
    destination, a, amount, b = i.operands
    modifiers, wraps = i.modifiers, "W" in i.modifiers
    is_long = "U64" in modifiers or "S64" in modifiers
    sign = any(name in modifiers for name in ("S32", "S64"))

    def compute(low: int, shift: int, high: int) -> int:
        shift = shift & (63 if is_long else 31) if wraps else min(shift, 64 if is_long else 32)
        if "L" in modifiers:
            return (high << 32 | low) << shift >> 32 if "HI" in modifiers else low << shift
        if "HI" in modifiers:
            return (signed(high) if sign else high) >> shift
        whole = high << 32 | low
        return (signed(whole, 64) if sign else whole) >> shift

    if "L" in modifiers and "HI" not in modifiers:
        b = "RZ"  # the lower half does not depend on it
    if "R" in modifiers and "HI" in modifiers:
        a = "RZ"
    return sets(destination, compute, word(a), word(amount), word(b))


def _lop3(i: Instruction) -> Step:
    operands = list(i.operands)
    outputs = [assign(operands.pop(0))] if is_predicate(operands[0]) else []
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
    return operation([assign(destination), *outputs], [word(a), word(b), word(c), given], compute)


def _plop3(i: Instruction) -> Step:
    first, second, *conditions, table, other = i.operands
    readers = [predicate(text) for text in conditions]
    luts = int(table, 16), int(other, 16)

    def step(thread: Thread) -> None:
        values = [read(thread) for read in readers]
        for write, lut in zip((assign(first), assign(second)), luts, strict=True):
            ways = [0]
            for value in values:
                ways = [way << 1 | bit for way in ways for bit in ((0, 1) if value is None else (value,))]
            results = {lut >> way & 1 for way in ways}
            write(thread, results.pop() if len(results) == 1 else None)

    return step


_COMPARE: dict[str, Callable[[int, int], bool]] = {"LT": lt, "LE": le, "GT": gt, "GE": ge, "EQ": eq, "NE": ne}
_COMBINE: dict[str, Callable[[bool, int], bool]] = {
    "AND": lambda result, given: result and bool(given),
    "OR": lambda result, given: result or bool(given),
    "XOR": lambda result, given: result != bool(given),
}


def _isetp(i: Instruction) -> Step:
    first, second, a, b, given, *lower = i.operands
    compare, number = _COMPARE[i.modifiers[0]], _number(i)
    combine = next(_COMBINE[name] for name in i.modifiers if name in _COMBINE)

    def compute(x: int, y: int, condition: int, below: int = 0) -> Results:
        result = compare(number(x), number(y))
        if "EX" in i.modifiers and x == y:  # the lower halves, compared before, decide
            result = bool(below)
        return combine(result, condition), combine(not result, condition)

    readers = [word(a), word(b), predicate(given), *([predicate(lower[0])] if "EX" in i.modifiers else [])]
    writers = [assign(first), assign(second)]
    known = operation(writers, readers, compute)

    def step(thread: Thread) -> None:
        is_false = "AND" in i.modifiers and readers[2](thread) == 0  # whatever is compared
        for write in writers if is_false else ():
            write(thread, 0)
        if not is_false:
            known(thread)

    return step


def _minmax(i: Instruction) -> Step:
    """Of two numbers, or of three."""
    destination, *numbers, is_min = i.operands
    return _least_or_most(i, destination, is_min, map(word, numbers))


def _add_minmax(i: Instruction) -> Step:
    destination, a, b, c, is_min = i.operands
    total = lifted(lambda x, y: x + y & MASK, word(a), word(b))
    return _least_or_most(i, destination, is_min, (total, word(c)))


def _least_or_most(i: Instruction, destination: str, is_min: str, numbers: Iterable[Reader]) -> Step:
    def compute(smaller: int, *given: int) -> int:
        result = (min if smaller else max)(map(_number(i), given))
        return max(result, 0) if "RELU" in i.modifiers else result

    return sets(destination, compute, predicate(is_min), *numbers)


def _select(i: Instruction) -> Step:
    destination, a, b, condition = i.operands
    then, other, decide = word(a), word(b), predicate(condition)

    def read(thread: Thread) -> Known:
        given = decide(thread)
        return None if given is None else then(thread) if given else other(thread)

    return moves([assign(destination)], [read])


def _permute(i: Instruction) -> Step:
    destination, a, selector, b = i.operands

    def compute(x: int, chosen: int, y: int) -> int:
        octets = (y << 32 | x).to_bytes(8, "little")
        out = 0
        for k in range(4):
            octet = octets[chosen >> 4 * k & 7]
            out |= (255 * (octet >> 7) if chosen >> 4 * k & 8 else octet) << 8 * k
        return out

    return sets(destination, compute, word(a), word(selector), word(b))


def _unary(compute: Callable[[int], int]) -> Callable[[Instruction], Step]:
    return lambda i: sets(i.operands[0], compute, word(i.operands[-1]))


def _leading(i: Instruction) -> Step:
    """The position of the highest bit that is not the sign's; with SH, how far it is from the top."""

    def compute(x: int) -> int:
        bits = (~x & MASK if x >> 31 and "U32" not in i.modifiers else x).bit_length()
        return MASK if bits == 0 else 32 - bits if "SH" in i.modifiers else bits - 1

    return sets(i.operands[0], compute, word(i.operands[-1]))


def _extend(i: Instruction) -> Step:
    destination, a, bits = i.operands

    def compute(x: int, number: int) -> int:
        number = min(number, 32)
        low = x & (1 << number) - 1
        return signed(low, number) if number and "U32" not in i.modifiers else low

    return sets(destination, compute, word(a), word(bits))


def _mask(i: Instruction) -> Step:
    destination, position, bits = i.operands
    return sets(destination, lambda at, number: (1 << min(number, 32)) - 1 << min(at, 32), word(position), word(bits))


# The rule of each opcode, and the modifiers that it may have: with any other it means something else.
INTEGERS: Rules = {
    "IMAD": (_imad, "U32 WIDE HI X MOV SHL IADD"),
    "IADD3": (_iadd3, "X"),
    "IADD": (_iadd3, "X"),
    "VIADD": (_iadd3, ""),
    "LEA": (_lea, "HI X SX32"),
    "SHF": (_shf, "L R W HI U32 S32 U64 S64"),
    "LOP3": (_lop3, "LUT PAND"),
    "PLOP3": (_plop3, "LUT"),
    "ISETP": (_isetp, "LT LE GT GE EQ NE AND OR XOR U32 EX"),
    "IMNMX": (_minmax, "U32"),
    "VIMNMX": (_minmax, "U32 RELU"),
    "VIMNMX3": (_minmax, "U32"),
    "VIADDMNMX": (_add_minmax, "U32 RELU"),
    "SEL": (_select, ""),
    "PRMT": (_permute, ""),
    "IABS": (_unary(lambda x: abs(signed(x))), ""),
    "POPC": (_unary(lambda x: x.bit_count()), ""),
    "BREV": (_unary(lambda x: int(f"{x:032b}"[::-1], 2)), ""),
    "FLO": (_leading, "U32 SH"),
    "SGXT": (_extend, "U32"),
    "BMSK": (_mask, ""),
}
