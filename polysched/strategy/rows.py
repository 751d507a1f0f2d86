"""Row by row: sums along rows, what they start from and what is made of them, under one loop over the rows.

    sequence                                                 band: i  coincident
      filter: S    m[i] = max(m[i], x[i, j])                   sequence
        band: i, j                                               filter: S
      filter: T    e[i, j] = exp(x[i, j] - m[i])     ->            band: j
        band: i, j                                               filter: T
      filter: U    s[i] = s[i] + e[i, j]                           band: j
        band: i, j                                               filter: U
                                                                   band: j

    on CPUs     .reorder(...).fuse("i", "i_2", "i_3")                       threads and lanes come later
    on GPUs     .fuse("i", "i_2", "i_3").inline("e").fuse("j", "j_2")       a block for each row
                .bind("i", "block.x").bind("j", "thread.x", threads=256).bind("j_3", "thread.x", threads=256)

A row then stays in the first cache from nest to nest, threads start once, and what lives within a row needs no memory
but that of one row. It pays where each sum runs on lanes along its row, so where its order is free and it reads
neighbors; not for products of matrices, of which rows share what they read. Legal where every dependence between the
nests stays within one row. On GPUs, what each element of a row is made of is computed again where it is read, rather
than stored for all rows: the row itself comes from the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from polysched.config.heuristics.gpu import ROW_BYTES, ROW_ELEMENTS, SUM_THREADS
from polysched.config.target import LIMITS
from polysched.deps.dependences import Dependences
from polysched.deps.reaching import names_in
from polysched.errors import IllegalSchedule, InputError
from polysched.ir.nodes import Const
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import Band, Filter, InOrder, Member, Tree, is_innermost
from polysched.strategy.script import Script, names_of
from polysched.strategy.tiles import extent
from polysched.support import isl
from polysched.transform.analysis.reductions import reduced
from polysched.transform.analysis.roles import Around, Loops, statements_of
from polysched.transform.edits.base.loops import Loop, loops
from polysched.transform.edits.values.storage import Use
from polysched.transform.trees.fusion import Fused, Fusible, either_way, groups, lanes_to_join, matching


def fuse_rows(script: Script) -> None:
    """Each as one nest."""
    for found in list(rows_to_fuse(script.tree, script.scop, script.dependences)):
        _fused(script, found)


def on_blocks(script: Script, found: Fused) -> None:
    """One kernel, if there is more to it than one sum."""
    has_several = sum(bool(nest.inner) for nest in found.nests) > 1
    if has_several and _fused(script, found):
        _on_blocks(script, found)


BLOCKS = ("block.x", "block.y", "block.z")


def _fused(script: Script, found: Fused) -> bool:
    """Are they one nest now?"""
    if not script.says(f"fuse_rows.{found.nests[0].members[0].name}", "a row stays in the cache from nest to nest"):
        return False
    fuse(script, found.nests)
    return True


def fuse(script: Script, nests: Sequence[Fusible]) -> None:
    """The loops that they have in common as one each, around the others."""
    for nest in nests:
        script.reorder(names_of([*nest.members, *nest.inner]))
    for alike in zip(*(names_of(nest.members) for nest in nests), strict=True):
        script.do("fuse", *script.in_order(alike))


def _on_blocks(script: Script, found: Fused) -> None:
    """A block for each row, its threads along it."""
    own, rows = names_in(found.instances), names_of(found.nests[0].members)
    _make_again(script, own, len(rows))
    names = [each.name for each in lanes_of(script, own, rows)]
    join_lanes(script, lambda: lanes_to_join(script.tree, script.scop, script.dependences, names))
    own |= _copy(script, own, rows)
    lanes = lanes_of(script, own, rows)
    threads = script.pick(f"threads.{rows[-1]}", *_threads(script, lanes), "threads of a block along its row") or 1
    for lane in lanes:
        script.to_front(lane.name, [band.members[0] for band in lane.around if band.members[0].name not in rows])
    for axis, name in zip(BLOCKS, reversed(rows), strict=False):
        script.do("bind", name, axis)
    for lane in lanes:
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


def _copy(script: Script, own: set[str], rows: Sequence[str]) -> set[str]:
    """What several loops along a row read of an array that is given, in shared memory, as far as that has room; the
    names of the statements that copy it there."""
    before, room = {s.name for s in script.scop.statements}, ROW_BYTES
    lanes = lanes_of(script, own, rows)
    for array in script.scop.function.arrays:
        size = _row_size(script, array.name, rows[-1]) if _is_read_again(script, array.name, own, lanes) else None
        if size is None or size > room or not script.says(f"copy.{array.name}", "each loop along the row reads it"):
            continue
        if script.attempt(f"copy {array.name}", partial(_copied, script, array.name, rows[-1])):
            room -= size
    return {s.name for s in script.scop.statements} - before


def _copied(script: Script, array: str, row: str) -> bool:
    script.do("cache_read", array, at=row, scope="shared")
    return True


def _is_read_again(script: Script, array: str, own: set[str], lanes: Sequence[Loop]) -> bool:
    """Do several of the loops along a row read the array, which nothing writes?"""
    users = [s for s in script.scop.statements if any(access.array == array for access in s.accesses)]
    readers = {s.name for s in users} & own
    writes = any(write.array == array for s in users for write in s.writes)
    return not writes and sum(not readers.isdisjoint(lane.statements) for lane in lanes) > 1


def _row_size(script: Script, array: str, row: str) -> int | None:
    """The bytes of an array that a row has for itself, where that is a constant."""
    try:
        use = Use(script.draft, array, row, f"copy {array}")
        small = use.small(use.reads, "shared", "").array
    except (InputError, IllegalSchedule):
        return None
    lengths = [extent.value for extent in small.shape if isinstance(extent, Const)]
    if len(lengths) < len(small.shape) or not use.reads[0].is_injective():
        return None
    return prod(map(int, lengths)) * small.dtype.bits // 8


def _users(script: Script, statement: Statement) -> set[str]:
    """The other statements that read the temporary array that the statement alone writes; none if it is no such."""
    arrays = {write.array for write in statement.writes} - {array.name for array in script.scop.function.arrays}
    others = [s for s in script.scop.statements if s is not statement]
    if len(arrays) != 1 or any(write.array in arrays for s in others for write in s.writes):
        return set()
    return {s.name for s in others if any(read.array in arrays for read in s.reads)}


def lanes_of(script: Script, own: set[str], rows: Sequence[str]) -> list[Loop]:
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


# --- which nests have rows in common


def rows_to_fuse(tree: Tree, scop: Scop, dependences: Dependences) -> Iterator[Fused]:
    """Neighbors in sequences that have their rows in common, where one of them is a sum along rows; none if sums have
    an order."""
    if dependences.reorder_reductions:
        for node, around in Around((), dependences.coincidence).walk(tree, inner_first=True):
            if isinstance(node, InOrder):
                rows = _Rows(scop, dependences, around)
                yield from groups(node, rows.start, rows.join, lambda other, passed, is_before: bool(passed))


@dataclass(frozen=True)
class _Rows:
    scop: Scop
    dependences: Dependences
    around: Around

    def start(self, branch: Filter) -> Fused | None:
        """The branch as rows, if it is a sum along them."""
        band = branch.child
        if not isinstance(band, Band) or not band.permutable or not is_innermost(band):
            return None
        members = tuple(member for member in band.members if member.coincident)
        serial = tuple(member for member in band.members if not member.coincident)
        if not members or not serial or not self.is_along_rows(band):
            return None
        return Fused(members, (Fusible(members, serial, branch.filter),))

    def is_along_rows(self, band: Band) -> bool:
        """Does each statement add up neighbors, of which rows share none, and may it do so in any order?"""
        rows = Band(tuple(member for member in band.members if member.coincident))
        inside = self.around.below(rows).reaching
        serial = [member for member in band.members if not member.coincident]
        if not all(reduced(member, self.dependences, inside) for member in serial):
            return False
        last = band.members.index(serial[-1])
        for statement in statements_of(band, self.scop):
            loops = Loops(statement, band, self.around)
            if not loops.move or None in loops.reads(last) or any(stride != 0 for stride in loops.writes(last)):
                return False
            if any(0 in loops.reads(k) for k, member in enumerate(band.members) if member.coincident):
                return False
        return True

    def join(self, found: Fused, other: Filter, is_before: bool) -> Fused | None:
        """The rows with a neighbor in them; None if it has other rows, or nothing to do with these."""
        band = other.child
        if not isinstance(band, Band) or not band.permutable or not is_innermost(band):
            return None
        one, pairs = found.instances, either_way(found.instances, other.filter, self.around.reaching)
        own = matching(found.members, one, band.members, other.filter, pairs, self.scop.domain, self.around)
        if own is None:
            return None
        rest = tuple(member for member in band.members if member not in own)
        if any(not member.coincident for member in rest):
            if any(member.coincident for member in rest) or not self.is_along_rows(band):
                return None
        elif rest and not (self.has_rows(band, rest) and self.share(pairs, one, other.filter)):
            return None
        return found.joined(Fusible(own, rest, other.filter), first=is_before)

    def has_rows(self, band: Band, rest: Iterable[Member]) -> bool:
        """Does one of the loops that are left go from neighbor to neighbor?"""
        statements = [Loops(statement, band, self.around) for statement in statements_of(band, self.scop)]
        if not all(loops.move for loops in statements):
            return False
        places = [band.members.index(member) for member in rest]
        return any(all(None not in (*loops.reads(k), *loops.writes(k)) for loops in statements) for k in places)

    def share(self, pairs: isl.UnionMap, one: isl.UnionSet, other: isl.UnionSet) -> bool:
        """Does one use what the other makes, or do both read an array?"""
        return not pairs.is_empty() or bool(self.arrays(one) & self.arrays(other))

    def arrays(self, instances: isl.UnionSet) -> set[str]:
        names = {each.get_tuple_name() for each in isl.sets_of(instances)}
        return {access.array for s in self.scop.statements if s.name in names for access in s.reads}
