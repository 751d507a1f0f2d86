"""The loops of a kernel, from its jumps.

    0: S2R ...                  Loop(header=1, body={1, 2, 3}, depth=1, parent=None)
    1: LDG ...  <-+
    2: FFMA ...   |
    3: @P0 BRA ---+
    4: STG ...

A natural loop is a jump back to an instruction through which every way to the jump leads, with all instructions from
which the jump is reached without passing that one (Aho et al., Compilers, section 9.6). Jumps back to one
instruction make one loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polysched.counts.sass.instructions import Instruction
from polysched.support.dominators import dominators


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A loop, by the positions of its instructions in the kernel."""

    header: int  # the first instruction of every iteration
    body: frozenset[int]  # with those of the loops inside
    parent: int | None  # which loop is right around this one, by its header
    depth: int  # 1 for an outermost loop
    is_innermost: bool


def find_loops(instructions: Sequence[Instruction]) -> tuple[Loop, ...]:
    """The loops of a kernel in order of their headers; those of routines that it calls are not among them."""
    after = _successors(instructions)
    before: dict[int, list[int]] = {position: [] for position in range(len(instructions))}
    for position, following in enumerate(after):
        for other in following:
            before[other].append(position)
    above = dominators(after)
    jumps: dict[int, set[int]] = {}
    for position in above:
        for header in after[position]:
            if above[position] >> header & 1:
                jumps.setdefault(header, set()).add(position)
    bodies = {header: _body(header, sources, before, set(above)) for header, sources in sorted(jumps.items())}
    around = {header: [other for other in bodies if other != header and header in bodies[other]] for header in bodies}
    return tuple(
        Loop(
            header=header,
            body=frozenset(body),
            parent=min(around[header], key=lambda other: len(bodies[other]), default=None),
            depth=len(around[header]) + 1,
            is_innermost=not any(header in outer for outer in around.values()),
        )
        for header, body in bodies.items()
    )


def _successors(instructions: Sequence[Instruction]) -> list[list[int]]:
    """The positions that may be executed next; a call returns behind it."""
    at = {instruction.address: position for position, instruction in enumerate(instructions)}
    out = []
    for position, instruction in enumerate(instructions):
        following = []
        if not _ends(instruction) and position + 1 < len(instructions):
            following.append(position + 1)
        if instruction.opcode in JUMPS:
            following += [at[target] for target in instruction.targets if target in at]
        out.append(sorted(set(following)))
    return out


JUMPS = ("BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU")


def _ends(instruction: Instruction) -> bool:
    """Whether what stands behind it is not executed next."""
    if instruction.opcode not in (*JUMPS, "EXIT", "RET", "KILL"):
        return False
    is_conditional = instruction.guard not in ("", "@PT", "@UPT") or (
        instruction.opcode == "BRA" and len(instruction.operands) > 1
    )
    return not is_conditional


def _body(header: int, sources: set[int], before: dict[int, list[int]], reachable: set[int]) -> set[int]:
    body, stack = {header}, sorted(sources)
    while stack:
        position = stack.pop()
        if position not in body:
            body.add(position)
            stack += [other for other in before[position] if other in reachable]
    return body
