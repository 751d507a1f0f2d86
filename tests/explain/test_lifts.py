"""polysched/explain/lifts.py: an array is to be privatized only if each iteration reads what it has stored itself."""

from __future__ import annotations

import random
from collections import defaultdict

import nests
import pytest

import polysched as ps
from polysched.explain.lifts import has_own_values
from polysched.explain.loops import Loop, Nest, loops
from polysched.ir.interp import Touch, interpret
from polysched.ir.node import walk
from polysched.ir.nodes import Function

SEEDS = (*range(16), 48, 75)  # reads are rare in such arrays


def loops_of(fn: Function) -> list[Loop]:
    draft = ps.Schedule(fn).draft
    nest = Nest(scop=draft.scop, dependences=draft.dependences, chosen=frozenset())
    return [loop for loop in loops(draft.nested, nest) if loop.statements]


def claims(fn: Function) -> list[tuple[Loop, str]]:
    return [
        (loop, array)
        for loop in loops_of(fn)
        for array in sorted({a.array for s in loop.statements for a in s.writes})
        if has_own_values(loop, array)
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_nests_read_nothing_else_in_an_iteration(seed):
    fn = nests.random_nest(random.Random(seed))
    log: list[Touch] = []
    interpret(fn, nests.arguments_for(fn, random.Random(seed), 6), log)
    for loop, array in claims(fn):
        inside = {id(node) for statement in loop.statements for node in walk(statement.body)}
        stored: dict[tuple[int, ...], set[tuple[int, ...]]] = defaultdict(set)
        for touch in log:
            if touch.array == array and id(touch.statement) in inside:
                own = stored[touch.iteration[: len(loop.around) + 1]]
                if touch.kind == "write":
                    own.add(touch.index)
                else:
                    assert touch.index in own, f"{loop.name}: {array}"


def test_the_random_nests_have_arrays_that_are_read_in_such_loops():
    read = [
        (loop.name, array)
        for seed in SEEDS
        for loop, array in claims(nests.random_nest(random.Random(seed)))
        if any(a.array == array for s in loop.statements for a in s.reads)
    ]
    assert read == [("i", "A"), ("i", "A")]
