"""A block of a GPU for each row, its threads along it.

    .fuse("i", "i_2", "i_3").inline("e").fuse("j", "j_2")       rows are one nest (`fuse.py`)
    .bind("i", "block.x").bind("j", "thread.x", threads=256).bind("j_3", "thread.x", threads=256)

What each element of a row is made of is computed again where it is read, rather than stored for all rows: the row
itself comes from the cache, or from shared memory (`copies.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from polysched.config.heuristics.gpu import ROW_ELEMENTS, SUM_THREADS
from polysched.config.target import LIMITS
from polysched.deps.reaching import names_in
from polysched.model.scop import Statement
from polysched.strategy.rows.copies import copied
from polysched.strategy.rows.fuse import are_fused
from polysched.strategy.rows.lanes import lanes_in, lanes_of
from polysched.strategy.rows.one_pass import in_one_pass
from polysched.strategy.script import Script, names_of
from polysched.strategy.tiles import extent
from polysched.transform.edits.base.loops import Loop
from polysched.transform.trees.fusion import Fused, lanes_to_join


def on_blocks(script: Script, found: Fused) -> None:
    """One kernel, if there is more to it than one sum."""
    has_several = sum(bool(nest.inner) for nest in found.nests) > 1
    if has_several and are_fused(script, found):
        _on_blocks(script, found)


BLOCKS = ("block.x", "block.y", "block.z")


def _on_blocks(script: Script, found: Fused) -> None:
    own, rows = names_in(found.instances), names_of(found.nests[0].members)
    _make_again(script, own, len(rows))
    names = [each.name for each in lanes_of(script, own, rows)]
    join_lanes(script, lambda: lanes_to_join(script.tree, script.scop, script.dependences, names))
    versions = copied(script, own, rows)
    threads = script.pick(f"threads.{rows[-1]}", *_threads(script, versions), "threads of a block along its row") or 1
    dealt = [in_one_pass(script, each, threads) for each in versions]
    for each, on_threads in zip(versions, dealt, strict=True):
        _bound(script, each, on_threads, threads)


def _bound(script: Script, rows: Sequence[str], dealt: Sequence[str], threads: int) -> None:
    """The rows on blocks, and what goes along them on threads, of which these loops have so many iterations."""
    lanes = lanes_in(script, rows)
    for axis, name in zip(BLOCKS, reversed(rows), strict=False):
        script.do("bind", name, axis)
    for lane in lanes:
        around = [band.members[0] for band in lane.around if band.members[0].name not in rows]
        on_threads = [name for name in dealt if name in (lane.name, *names_of(around))]
        if on_threads:
            script.do("bind", on_threads[0], "thread.x")
        else:
            script.to_front(lane.name, around)
            script.do("bind", lane.name, "thread.x", threads=threads)


def join_lanes(script: Script, pairs: Callable[[], Iterable[tuple[str, str]]]) -> None:
    """Neighbors on lanes as one loop, where one of them adds up."""
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


def _threads(script: Script, versions: Sequence[Sequence[str]]) -> tuple[int, tuple[int, ...]]:
    """How many threads the longest row has, and might have."""
    domain = script.scop.domain.intersect_params(script.scop.context)
    lanes: list[Loop] = [lane for rows in versions for lane in lanes_in(script, rows)]
    lengths = [extent(each.member, domain) for each in lanes]
    known = [length for length in lengths if length is not None]
    size = SUM_THREADS
    if len(known) == len(lengths):
        size = 1 << max(0, max(known) // ROW_ELEMENTS - 1).bit_length()
    powers = range(LIMITS.warp.bit_length() - 1, LIMITS.block.bit_length())
    return min(max(size, LIMITS.warp), LIMITS.block), tuple(1 << k for k in powers)
