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


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A loop, by the positions of its instructions in the kernel."""

    header: int  # the first instruction of every iteration
    body: frozenset[int]  # with those of the loops inside
    jumps: frozenset[int]  # back to the header
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
    order = _reachable(after)
    dominator = _dominators(order, before)
    jumps: dict[int, set[int]] = {}
    for position in order:
        for header in after[position]:
            if _dominates(header, position, dominator, order):
                jumps.setdefault(header, set()).add(position)
    bodies = {header: _body(header, sources, before, set(order)) for header, sources in sorted(jumps.items())}
    around = {header: [other for other in bodies if other != header and header in bodies[other]] for header in bodies}
    return tuple(
        Loop(
            header=header,
            body=frozenset(body),
            jumps=frozenset(jumps[header]),
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


def _reachable(after: list[list[int]]) -> dict[int, int]:
    """What can be reached from the first instruction, each with its place in reverse postorder."""
    if not after:
        return {}
    seen, finished, stack = {0}, [], [(0, iter(after[0]))]
    while stack:
        position, rest = stack[-1]
        following = next((other for other in rest if other not in seen), None)
        if following is None:
            finished.append(position)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(after[following])))
    return {position: place for place, position in enumerate(reversed(finished))}


def _dominators(order: dict[int, int], before: dict[int, list[int]]) -> dict[int, int]:
    """The closest instruction that every way to another leads through (Cooper, Harvey, Kennedy, 2001)."""
    closest = {0: 0} if order else {}
    changed = True
    while changed:
        changed = False
        for position in order:
            if position == 0:
                continue
            found = [other for other in before[position] if other in closest]
            new = found[0]
            for other in found[1:]:
                new = _meet(new, other, closest, order)
            if closest.get(position) != new:
                closest[position] = new
                changed = True
    return closest


def _meet(a: int, b: int, closest: dict[int, int], order: dict[int, int]) -> int:
    while a != b:
        if order[a] > order[b]:
            a = closest[a]
        else:
            b = closest[b]
    return a


def _dominates(a: int, b: int, closest: dict[int, int], order: dict[int, int]) -> bool:
    while order[b] > order[a]:
        b = closest[b]
    return a == b


def _body(header: int, sources: set[int], before: dict[int, list[int]], reachable: set[int]) -> set[int]:
    body, stack = {header}, sorted(sources)
    while stack:
        position = stack.pop()
        if position not in body:
            body.add(position)
            stack += [other for other in before[position] if other in reachable]
    return body
