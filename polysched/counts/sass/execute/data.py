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
    Writer,
    address,
    assign,
    assign_pair,
    constant,
    forgets,
    is_predicate,
    lifted,
    moves,
    pair,
    place_of_constant,
    predicate,
    registers,
    signed,
    unknown,
    word,
)
from polysched.counts.sass.instructions import Instruction, width
from polysched.errors import InputError


def _move(i: Instruction) -> Step:
    destination, source, *_ = (text for text in i.operands if not is_predicate(text))  # and a mask of lanes
    if "64" in i.modifiers:
        return moves([assign_pair(destination)], [pair(source)])
    return moves([assign(destination)], [word(source)])


def _special(i: Instruction) -> Step:
    destination, name = i.operands
    write = assign_pair(destination) if i.opcode == "CS2R" and "32" not in i.modifiers else assign(destination)
    return moves([write], [lambda thread: thread.special.get(name)])


def _load_constant(i: Instruction) -> Step:
    destination, source = i.operands
    found = CONSTANT.fullmatch(source)
    bits = width(i)
    if found is None:
        raise InputError(f"'{i}' cannot be interpreted, line {i.line}")
    bank, place = place_of_constant(found)
    aligned = lifted(lambda at: at & ~3, place) if bits < 32 else place
    words = [constant(bank, aligned, 4 * k) for k in range(max(bits // 32, 1))]

    def part(whole: int, at: int) -> int:
        found = whole >> 8 * (at & 3) & (1 << bits) - 1
        return signed(found, bits) if f"S{bits}" in i.modifiers else found

    return moves(_writers(i, destination), [lifted(part, *words, place)] if bits < 32 else words)


def _writers(i: Instruction, destination: str) -> list[Writer]:
    """Of as many registers as the instruction moves."""
    return list(map(assign, registers(destination, max(width(i) // 32, 1))))


def _load(i: Instruction) -> Step:
    """What other threads may have written is not known."""
    destination = next(text for text in i.operands if not is_predicate(text))
    predicates = [assign(text) for text in i.operands[:1] if is_predicate(text)]
    return forgets([*_writers(i, destination), *predicates])


def _fragment(i: Instruction) -> Step:
    """A lane's part of what a warp loads or computes: so many registers, whose values are not known."""
    first = i.modifiers[0] if i.modifiers else ""
    counts = {"DMMA": 8 if first.startswith("16") else 4, "LDSM": next((int(m) for m in i.modifiers if m in "124"), 1)}
    count = counts.get(i.opcode, 2 if i.modifiers[1:2] == ("F16",) else 4)
    return forgets(list(map(assign, registers(i.operands[0], count))))


_LOCAL = re.compile(r"\[(R\d+|RZ)?(?:\+?(-?0x[0-9a-f]+))?\]")


def _local_address(text: str) -> Reader:
    found = _LOCAL.fullmatch(text)
    return address(*found.groups()) if found else unknown


def _load_local(i: Instruction) -> Step:
    destination, place = i.operands[0], _local_address(i.operands[1])
    if width(i) < 32:
        return _load(i)

    def element(k: int) -> Reader:
        at = lifted(lambda start: start + 4 * k, place)
        return lambda thread: thread.local.get(at(thread))

    return moves(_writers(i, destination), map(element, range(width(i) // 32)))


def _store_local(i: Instruction) -> Step:
    place, source = _local_address(i.operands[0]), i.operands[1]
    readers = list(map(word, registers(source, max(width(i) // 32, 1))))

    def step(thread: Thread) -> None:
        start = place(thread)
        if start is None:
            thread.local.clear()
            return
        for k, read in enumerate(readers):
            thread.local[start + 4 * k] = read(thread) if width(i) >= 32 else None

    return step


def _vote(i: Instruction) -> Step:
    """As if all threads of the warp did the same."""
    *destinations, condition = i.operands
    given = predicate(condition)
    whole = lifted(lambda value: MASK * value, given)
    return moves(list(map(assign, destinations)), [given if is_predicate(text) else whole for text in destinations])


def _predicates_to_register(i: Instruction) -> Step:
    destination, file, base, mask = i.operands
    name = "UP" if file == "UPR" else "P"
    register, chosen, predicates = word(base), word(mask), [predicate(f"{name}{k}") for k in range(7)]

    def read(thread: Thread) -> Known:
        value, bits = register(thread), chosen(thread)
        if value is None or bits is None:
            return None
        for k, given in enumerate(each(thread) for each in predicates):
            if bits >> k & 1:
                if given is None:
                    return None
                value = value & ~(1 << k) | given << k
        return value

    return moves([assign(destination)], [read])


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
