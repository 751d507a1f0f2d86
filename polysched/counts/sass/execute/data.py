"""What moves, loads and stores do: what other threads may have written is not known."""

from __future__ import annotations

import re

from polysched.counts.sass.execute.operands import (
    CONSTANT,
    MASK,
    Known,
    Reader,
    Rules,
    Step,
    Thread,
    assign,
    assign_pair,
    constant_address,
    is_predicate,
    next_register,
    operation,
    pair,
    predicate,
    signed,
    word,
    word_of_bank,
)
from polysched.counts.sass.instructions import Instruction, width
from polysched.errors import InputError


def _move(i: Instruction) -> Step:
    operands = [text for text in i.operands if not is_predicate(text)]
    if "64" in i.modifiers:
        return operation([assign_pair(operands[0])], [pair(operands[1])], lambda x: (x,))
    return operation([assign(operands[0])], [word(operands[1])], lambda x: (x,))


def _special(i: Instruction) -> Step:
    destination, name = i.operands
    write = assign_pair(destination) if i.opcode == "CS2R" and "32" not in i.modifiers else assign(destination)
    return lambda thread: write(thread, 0 if name == "SRZ" else thread.special.get(name))


def _load_constant(i: Instruction) -> Step:
    destination, source = i.operands
    found = CONSTANT.fullmatch(source)
    bits = width(i)
    if found is None:
        raise InputError(f"'{i}' cannot be interpreted, line {i.line}")
    address = constant_address(found)
    writers = [assign(destination if k == 0 else next_register(destination, k)) for k in range(max(bits // 32, 1))]

    def step(thread: Thread) -> None:
        bank, offset = address(thread)
        for k, write in enumerate(writers):
            if bits >= 32:
                write(thread, word_of_bank(thread, bank, None if offset is None else offset + 4 * k))
            else:
                whole = word_of_bank(thread, bank, None if offset is None else offset & ~3)
                part = None if whole is None or offset is None else whole >> 8 * (offset & 3) & (1 << bits) - 1
                is_signed = f"S{bits}" in i.modifiers
                write(thread, signed(part, bits) if part is not None and is_signed else part)

    return step


def _load(i: Instruction) -> Step:
    """What other threads may have written is not known."""
    destination = next(text for text in i.operands if not is_predicate(text))
    predicates = [assign(text) for text in i.operands[:1] if is_predicate(text)]
    names = [] if destination.endswith("Z") else [next_register(destination, k) for k in range(max(width(i) // 32, 1))]
    writers = [*map(assign, names), *predicates]

    def step(thread: Thread) -> None:
        for write in writers:
            write(thread, None)

    return step


def _fragment(i: Instruction) -> Step:
    """A lane's part of what a warp loads or computes: so many registers, whose values are not known."""
    first = i.modifiers[0] if i.modifiers else ""
    counts = {"DMMA": 8 if first.startswith("16") else 4, "LDSM": next((int(m) for m in i.modifiers if m in "124"), 1)}
    count = counts.get(i.opcode, 2 if i.modifiers[1:2] == ("F16",) else 4)
    writers = [assign(next_register(i.operands[0], k)) for k in range(count)]

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
    writers = [assign(next_register(destination, k)) for k in range(width(i) // 32)]

    def step(thread: Thread) -> None:
        address = place(thread)
        for k, write in enumerate(writers):
            write(thread, None if address is None else thread.local.get(address + 4 * k))

    return step


def _store_local(i: Instruction) -> Step:
    place, source = _local_address(i.operands[0]), i.operands[1]
    words = range(max(width(i) // 32, 1))
    readers = [word(source if source.endswith("Z") else next_register(source, k)) for k in words]

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
    writers = [assign(text) for text in i.operands[:-1]]

    def step(thread: Thread) -> None:
        value = given(thread)
        for text, write in zip(i.operands, writers, strict=False):
            write(thread, value if is_predicate(text) or value is None else MASK * value)

    return step


def _predicates_to_register(i: Instruction) -> Step:
    destination, file, base, mask = i.operands
    name = "UP" if file == "UPR" else "P"
    readers = [word(base), word(mask), *(predicate(f"{name}{k}") for k in range(7))]
    write = assign(destination)

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


# The rule of each opcode, and the modifiers that it may have; None: any.
DATA: Rules = {
    "MOV": (_move, "64"),
    "R2UR": (_move, ""),
    "S2R": (_special, ""),
    "S2UR": (_special, ""),
    "CS2R": (_special, "32"),
    "LDC": (_load_constant, "64 128 U8 S8 U16 S16"),
    **dict.fromkeys(("LDG", "LD", "LDS", "ATOM", "ATOMG", "ATOMS", "SHFL"), (_load, None)),
    **dict.fromkeys(("LDSM", "HMMA", "IMMA", "DMMA"), (_fragment, None)),
    "LDL": (_load_local, None),
    "STL": (_store_local, None),
    "VOTE": (_vote, "ANY ALL"),
    "VOTEU": (_vote, "ANY ALL"),
    "P2R": (_predicates_to_register, ""),
    "UP2UR": (_predicates_to_register, ""),
    "R2P": (_register_to_predicates, ""),
}
