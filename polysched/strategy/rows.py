"""Rows as edits: sums along rows, what they start from and what is made of them, under one loop over the rows.

    on CPUs     .reorder(...).fuse("i", "i_2", "i_3")                       threads and lanes come later
    on GPUs     .fuse("i", "i_2", "i_3").inline("e").fuse("j", "j_2")       a block for each row
                .bind("i", "block.x").bind("j", "thread.x", threads=256).bind("j_3", "thread.x", threads=256)

What each element of a row is made of is then computed again where it is read, rather than stored for all rows: the row
itself comes from the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from polysched.config.heuristics.gpu import ROW_ELEMENTS, SUM_THREADS
from polysched.config.target import LIMITS
from polysched.deps.reaching import names_in
from polysched.model.scop import Statement
from polysched.strategy.grid import extent
from polysched.strategy.script import Script, names_of
from polysched.transform.edits.base.loops import Loop, loops
from polysched.transform.trees.fuse_rows import Rows, rows_to_fuse
from polysched.transform.trees.join_lanes import lanes_to_join


def fuse_rows(script: Script) -> None:
    """Each as one nest."""
    for found in list(rows_to_fuse(script.tree, script.scop, script.dependences)):
        _fused(script, found)


def rows_on_blocks(script: Script) -> None:
    """Each as one kernel, if there is more to it than one sum."""
    for found in list(rows_to_fuse(script.tree, script.scop, script.dependences)):
        has_several = sum(bool(nest.inner) for nest in found.nests) > 1
        if has_several and len(found.members) <= len(_BLOCKS) and _fused(script, found):
            _on_blocks(script, found)


_BLOCKS = ("block.x", "block.y", "block.z")


def _fused(script: Script, found: Rows) -> bool:
    """Are they one nest now?"""
    nests = [names_of(nest.rows) for nest in found.nests]
    if not script.says(f"fuse_rows.{nests[0][0]}", "a row stays in the cache from nest to nest"):
        return False
    for names, nest in zip(nests, found.nests, strict=True):
        script.reorder([*names, *names_of(nest.inner)])
    for together in zip(*nests, strict=True):
        script.do("fuse", *together)
    return True


def _on_blocks(script: Script, found: Rows) -> None:
    """A block for each row, its threads along it."""
    own, rows = names_in(found.instances), names_of(found.nests[0].rows)
    _make_again(script, own, len(rows))
    names = [each.name for each in _lanes(script, own, rows)]
    join_lanes(script, lambda: lanes_to_join(script.tree, script.scop, script.dependences, names))
    lanes = _lanes(script, own, rows)
    threads = script.pick(f"threads.{rows[-1]}", *_threads(script, lanes), "threads of a block along its row") or 1
    for lane in lanes:
        script.to_front(lane.name, [band.members[0] for band in lane.around if band.members[0].name not in rows])
    for axis, name in zip(_BLOCKS, reversed(rows), strict=False):
        script.do("bind", name, axis)
    for lane in lanes:
        script.do("bind", lane.name, "thread.x", threads=threads)


def join_lanes(script: Script, pairs: Callable[[], Iterable[tuple[str, str]]]) -> None:
    """Neighbours on lanes as one loop, where one of them adds up."""
    kept: set[tuple[str, str]] = set()
    while pair := next((pair for pair in pairs() if pair not in kept), None):
        if script.says(f"join.{pair[1]}", "a row is read once for both"):
            script.do("fuse", *pair)
        else:
            kept.add(pair)


def _make_again(script: Script, own: set[str], rows: int) -> None:
    """What is stored for each element of a row, and costs no more than to load it, where it is read."""
    for statement in script.scop.statements:
        users = _users(script, statement)
        if statement.name not in own or len(statement.iterators) == rows or not users or not users <= own:
            continue
        loads = sum(read.relation.is_injective() for read in statement.reads)
        if len(users) * loads > loads + 1 + len(users):
            continue
        (array,) = {write.array for write in statement.writes}
        if script.says(f"inline.{array}", "to compute it again costs less than to store it"):
            script.attempt(f"inline {array}", partial(script.do, "inline", array))


def _users(script: Script, statement: Statement) -> set[str]:
    """The other statements that read the temporary array that the statement alone writes; none if it is no such."""
    arrays = {write.array for write in statement.writes} - {array.name for array in script.scop.function.arrays}
    others = [s for s in script.scop.statements if s is not statement]
    if len(arrays) != 1 or any(write.array in arrays for s in others for write in s.writes):
        return set()
    return {s.name for s in others if any(read.array in arrays for read in s.reads)}


def _lanes(script: Script, own: set[str], rows: Sequence[str]) -> list[Loop]:
    """The innermost loops inside of rows."""
    inside = [each for each in loops(script.draft.nested) if {*each.statements} <= own and each.name not in rows]
    outer = {band.members[0].name for each in inside for band in each.around}
    return [each for each in inside if each.name not in outer]


def _threads(script: Script, lanes: Sequence[Loop]) -> tuple[int, tuple[int, ...]]:
    """How many threads the longest row has, and might have."""
    domain = script.scop.domain.intersect_params(script.scop.context)
    lengths = [extent(each.member, domain) for each in lanes]
    known = [length for length in lengths if length is not None]
    size = SUM_THREADS
    if len(known) == len(lengths):
        size = 1 << max(0, max(known) // ROW_ELEMENTS - 1).bit_length()
    powers = range(LIMITS.warp.bit_length() - 1, LIMITS.block.bit_length())
    return min(max(size, LIMITS.warp), LIMITS.block), tuple(1 << k for k in powers)
