"""What must hold of a nest after an edit by hand, whatever the edit: the loops that it had, and the same results.

    assert_holds(matmul.function, lambda schedule: schedule.reverse("j"))
    on_random_nests(range(8), lambda schedule, loop: schedule.peel(loop, first=1))
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import nests

from polysched import Schedule
from polysched.codegen.lower import lower
from polysched.errors import PolyschedError
from polysched.ir.nodes import Function
from polysched.transform.edits.base.loops import loops


def assert_holds(fn: Function, edit: Callable[[Schedule], Schedule]) -> Schedule:
    """The schedule after the edit; all loops that run are still there, and the code leaves the same bits."""
    before = Schedule(fn)
    after = edit(before)
    assert_survives(before, after)
    assert_same_results(fn, after)
    return after


def assert_survives(before: Schedule, after: Schedule) -> None:
    """All loops that run are still there."""
    running = {each.name for each in loops(before.draft.nested) if each.statements}
    assert running <= set(after.loops)
    assert len(set(after.loops)) == len(after.loops)


def assert_same_results(fn: Function, after: Schedule) -> None:
    """The code for the schedule leaves the same bits."""
    lowered = lower(after.tree, after.draft.scop)
    for n in (1, 2, 5, 9):
        nests.assert_same_outcome(fn, lowered, nests.arguments_for(fn, random.Random(n), n))


def on_random_nests(seeds: Iterable[int], edit: Callable[[Schedule, str], Schedule]) -> int:
    """How many edits, one for each loop of each nest, were not refused; all of them hold."""
    legal = 0
    for seed in seeds:
        fn = nests.random_nest(random.Random(seed))
        before = Schedule(fn)
        for loop in before.loops:
            try:
                after = edit(before, loop)
            except PolyschedError:
                continue
            assert_survives(before, after)
            assert_same_results(fn, after)
            legal += 1
    return legal
