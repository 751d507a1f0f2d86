"""polysched/counts/sass/flow.py: natural loops, against a brute-force reading of their definition."""

from __future__ import annotations

import random

import pytest

from polysched.counts.sass.flow import find_loops
from polysched.counts.sass.instructions import Instruction


def program(*lines: str) -> list[Instruction]:
    """ "add", "exit", "jump 3" always, "if 3" sometimes: the number is a position."""
    out = []
    for position, line in enumerate(lines):
        word, _, target = line.partition(" ")
        targets = (int(target) * 16,) if target else ()
        guard = "@P0" if word in ("if", "exit?") else ""
        opcode = {"jump": "BRA", "if": "BRA", "exit": "EXIT", "exit?": "EXIT", "call": "CALL"}.get(word, "IADD3")
        out.append(Instruction(position * 16, guard, opcode, (), (), targets))
    return out


def test_one_loop():
    (loop,) = find_loops(program("add", "add", "add", "if 1", "exit"))
    assert (loop.header, loop.body) == (1, {1, 2, 3})
    assert (loop.depth, loop.parent, loop.is_innermost) == (1, None, True)


def test_loops_inside_of_a_loop():
    #                            0      1      2       3      4      5       6       7
    loops = find_loops(program("add", "add", "add", "if 2", "add", "if 4", "if 1", "exit"))
    assert [(loop.header, loop.depth, loop.parent, loop.is_innermost) for loop in loops] == [
        (1, 1, None, False),
        (2, 2, 1, True),
        (4, 2, 1, True),
    ]


def test_two_jumps_to_one_header_are_one_loop():
    (loop,) = find_loops(program("add", "if 0", "add", "if 0", "exit"))
    assert loop.body == {0, 1, 2, 3}


def test_a_jump_into_the_middle_makes_no_natural_loop():
    assert find_loops(program("if 2", "add", "add", "if 1", "exit")) == ()


def test_what_is_not_reached_is_no_loop():
    assert find_loops(program("exit", "add", "jump 1")) == ()
    assert find_loops([]) == ()


def test_calls_return_behind_them_and_their_routines_are_no_loops():
    (loop,) = find_loops(program("add", "call 4", "if 0", "exit", "add", "if 4"))
    assert loop.body == {0, 1, 2}


def test_a_branch_with_a_predicate_of_its_own_may_go_on():
    instructions = program("add", "jump 0", "exit")
    instructions[1] = Instruction(16, "", "BRA", (), ("P1", "`(.L_x_0)"), (0,))
    assert len(find_loops(instructions)) == 1
    instructions = program("add", "jump 3", "jump 0", "exit")
    instructions[1] = Instruction(16, "", "BRA", (), ("!UP1", "`(.L_x_0)"), (48,))
    assert [loop.body for loop in find_loops(instructions)] == [{0, 1, 2}]


def brute_loops(instructions: list[Instruction]) -> dict[int, set[int]]:
    """Headers and bodies, from paths alone."""
    count = len(instructions)
    after: dict[int, set[int]] = {}
    for position, one in enumerate(instructions):
        falls = one.guard or one.opcode not in ("BRA", "EXIT")
        after[position] = {target // 16 for target in one.targets if one.opcode == "BRA"}
        after[position] |= {position + 1} if falls and position + 1 < count else set()

    def reached(start: int, without: int | None = None) -> set[int]:
        seen: set[int] = set()
        stack = [start] if start != without else []
        while stack:
            position = stack.pop()
            if position not in seen:
                seen.add(position)
                stack += [other for other in after[position] if other != without]
        return seen

    live = reached(0)
    bodies: dict[int, set[int]] = {}
    for jump in live:
        for header in after[jump]:
            if header == jump or jump not in reached(0, without=header):
                inside = {p for p in live if p != header and jump in reached(p, without=header)}
                bodies.setdefault(header, set()).update({header, jump}, inside)
    return bodies


@pytest.mark.parametrize("seed", range(40))
def test_random_jumps_against_the_definition(seed):
    choose = random.Random(seed)
    size = choose.randrange(2, 14)
    words = choose.choices(["add", "add", "if", "if", "jump", "exit?", "exit"], k=size)
    lines = [f"{word} {choose.randrange(size)}" if word in ("if", "jump") else word for word in words]
    instructions = program(*lines)
    assert {loop.header: set(loop.body) for loop in find_loops(instructions)} == brute_loops(instructions)
