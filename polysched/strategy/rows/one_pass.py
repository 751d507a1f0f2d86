"""A sum that waits for one before it, in one loop with that, where both read a row from memory.

    .cyclic("j", 256).cyclic("k", 256)                       each thread has a part of the row
    .online("k_t", "s", scope="shared")                      and sums it up relative to a value of its own
    .fuse("j_t", "k_t").fuse("j", "k")

So are the sum of powers of a softmax and the variance of a norm (`transform/edits/values/online.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from polysched.strategy.rows.lanes import lanes_in
from polysched.strategy.script import Script
from polysched.transform.edits.base.loops import Loop, loops


def in_one_pass(script: Script, rows: Sequence[str], threads: int) -> list[str]:
    """The loops that deal such a row to so many threads."""
    for earlier, later in pairwise(lanes_in(script, rows)):
        if not _read_one_array(script, earlier, later) or not _is_sum(script, later):
            continue
        if script.says(f"online.{later.name}", "a row is read once for both"):
            write = partial(_written, script, earlier.name, later.name, later.statements[0], threads)
            if dealt := script.attempt(f"one pass over {earlier.name} and {later.name}", write):
                return dealt
    return []


def _read_one_array(script: Script, earlier: Loop, later: Loop) -> bool:
    """Does either read elements of an array that is given, and nobody writes?"""
    given = {array.name for array in script.scop.function.arrays}
    given -= {write.array for statement in script.scop.statements for write in statement.writes}
    for lane in (earlier, later):
        given &= {read.array for name in lane.statements for read in script.scop.statement(name).reads}
    return bool(given)


def _is_sum(script: Script, lane: Loop) -> bool:
    names = tuple(lane.statements)
    return len(names) == 1 and script.scop.statement(names[0]).reduction == "+"


def _written(script: Script, earlier: str, later: str, statement: str, threads: int) -> list[str]:
    one, other = script.named("t", earlier, later)
    script.do("cyclic", earlier, threads, names=(one,))
    script.do("cyclic", later, threads, names=(other,))
    before = {each.name for each in loops(script.draft.nested)}
    script.do("online", other, statement, scope="shared")
    (fold,) = (each.name for each in loops(script.draft.nested) if each.name not in before)
    script.do("fuse", one, other)
    script.do("fuse", earlier, later)
    return [one, fold]
