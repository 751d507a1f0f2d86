"""Which loops that reduce run on threads: `codegen/gpu/reduce.py` has the threads add up.

    t[i] += A[i, j] * x[j]       rows that a warp reads better than 32 threads do theirs: lanes along j, rows i on
                                 blocks of 8 warps
    s += a[i] * b[i]             nothing is parallel: i on blocks and their threads
    s += A[i, j]                 i on blocks, j on threads

Only where the order of reductions is free.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from polysched import isl
from polysched.codegen.gpu.grid import extent
from polysched.codegen.gpu.reduce import WARP
from polysched.deps.coincidence import together
from polysched.deps.dependences import Dependences
from polysched.model.scop import Scop
from polysched.model.tree import Band, Leaf, Map, Mark, Member, Tree
from polysched.transform.reductions import reduced
from polysched.transform.roles import Around, Loops, statements_of
from polysched.transform.strides import far_accesses
from polysched.transform.tile import block_of

_ROWS = 8  # warps of a block


def rows_on_warps(band: Band, scop: Scop, dependences: Dependences, around: Around) -> Tree | None:
    """A band of coincident members, then others, with one of these on the lanes of warps; None where that does not
    pay, or is not allowed."""
    coincident = [k for k, member in enumerate(band.members) if member.coincident]
    serial = [k for k in range(len(band.members)) if k not in coincident]
    statements = tuple(statements_of(band, scop))
    if not dependences.reorder_reductions or not serial or not 0 < len(coincident) <= 3:
        return None
    if len(statements) != 1 or not isinstance(band.child, Leaf):
        return None
    loops = Loops(statements[0], band, around)
    if not loops.move or any(stride != 0 for k in serial for stride in loops.writes(k)):
        return None
    inside = around.below(replace(band, members=tuple(band.members[k] for k in coincident))).reaching
    names = {reduced(band.members[k], dependences, inside) for k in serial}
    if len(names) != 1 or () in names or _serves_tiles(loops, coincident):
        return None
    far = _far(band, scop, around)
    lane = min(serial, key=lambda k: (far[k], -k))
    if far[lane] >= min(far[k] for k in coincident) or _is_short(band.members[lane], scop):
        return None
    rest = tuple(band.members[k] for k in serial if k != lane)
    tree: Tree = Band(rest, child=band.child) if rest else band.child
    tree = _mapped("thread.x", band.members[lane], tree, names.pop())
    *planes, row = (band.members[k] for k in coincident)
    tree = _mapped("thread.y", row, tree)
    tree = _mapped("block.x", block_of(row, _ROWS), tree)
    for axis, member in zip("yz", reversed(planes), strict=False):
        tree = _mapped(f"block.{axis}", member, tree)
    return tree


def sum_on_blocks(band: Band, scop: Scop, dependences: Dependences, around: Around) -> Tree | None:
    """A band without coincident members whose first loop, or any if it is permutable, carries nothing but reductions of
    elements that it leaves in place: on blocks and threads. None if there is no such loop."""
    members = band.members if band.permutable else band.members[:1]
    names = {k: reduced(member, dependences, around.reaching) for k, member in enumerate(members)}
    free = [k for k, arrays in names.items() if arrays and _stay(band, scop, arrays, around)]
    long = [k for k in free if not _is_short(members[k], scop)] or free
    if not long:
        return None
    far = _far(band, scop, around)
    lane = min(long, key=lambda k: (far[k], -k))
    outer = next((k for k in free if k != lane and names[k] == names[lane]), None)
    rest = tuple(member for k, member in enumerate(band.members) if k not in (lane, outer))
    if outer is None:
        inner = Band(rest, band.permutable, band.child) if rest else band.child
        return _mapped("block.x", members[lane], inner, names[lane])
    inner = _mapped("thread.x", members[lane], band.child, names[lane])
    return _mapped("block.x", members[outer], Band(rest, band.permutable, inner) if rest else inner, names[lane])


def _far(band: Band, scop: Scop, around: Around) -> list[int]:
    """How many accesses step further than by one along each member."""
    every = (*around.members, *band.members)
    return [far_accesses(scop, every, len(around.members) + k) for k in range(len(band.members))]


def _is_short(member: Member, scop: Scop) -> bool:
    """Has it fewer iterations than a warp has lanes?"""
    length = extent(member, scop.domain.intersect_params(scop.context))
    return length is not None and length < WARP


def _serves_tiles(loops: Loops, coincident: list[int]) -> bool:
    """Does one operand serve all points along a member, and another one all those along a second member?"""
    reads = {k: loops.reads(k) for k in coincident}

    def serves(along: int, across: int) -> bool:
        return any(a == 0 and b != 0 for a, b in zip(reads[along], reads[across], strict=True))

    return any(serves(j, k) and serves(k, j) for j in coincident for k in coincident if j < k)


def _stay(band: Band, scop: Scop, arrays: tuple[str, ...], around: Around) -> bool:
    """Does each statement update one element of each array in all of the band?"""
    for statement in statements_of(band, scop):
        instances = isl.UnionSet.from_set(statement.domain)
        own = isl.UnionMap.from_domain_and_range(instances, instances)
        same = reduce(isl.UnionMap.intersect, map(together, around.members), own)
        for write in statement.writes:
            relation = isl.UnionMap.from_map(write.relation)
            pairs = relation.reverse().apply_range(same).apply_range(relation)
            if write.array in arrays and not pairs.is_subset(pairs.range().identity()):
                return False
    return True


def _mapped(axis: str, member: Member, child: Tree, reduces: tuple[str, ...] = ()) -> Mark:
    return Mark(Map(axis, reduces), Band((replace(member, coincident=not reduces),), True, child))
