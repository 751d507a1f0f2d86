"""Which loops that reduce run on threads: `codegen/gpu/sums/reduce.py` has the threads add up.

    t[i] += A[i, j] * x[j]       rows that a warp reads better than 32 threads do theirs: lanes along j, rows i on
                                 blocks of 8 warps; few rows have a block each
    y[j] += A[i, j]              128 columns j on a block, 4 threads for each, and blocks for parts of i
    s += a[i] * b[i]             nothing is parallel: i on blocks and their threads
    s += A[i, j]                 i on blocks, j on threads

Only where the order of reductions is free.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from polysched.config.heuristics.gpu import COLUMN, COLUMNS, LONG_ROW, ROW_WARPS, SUM_PARTS
from polysched.config.machine import Gpu
from polysched.config.target import LIMITS
from polysched.deps.coincidence import together
from polysched.deps.dependences import Dependences
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Filter, Leaf, Member
from polysched.strategy.grid import Nest, alone
from polysched.strategy.tiles import extent, tile_rows
from polysched.support import isl
from polysched.transform.analysis.reductions import reduced
from polysched.transform.analysis.roles import Around, Loops, far_along, statements_of


@dataclass(frozen=True)
class Placed:
    """A loop, on an axis or in a thread; with a `block`, the loop over blocks of so many of its iterations."""

    member: Member
    axis: str = ""
    block: int = 0


@dataclass(frozen=True)
class Sums:
    """What is around all of the nest, and around its sum alone."""

    nest: Nest
    outer: tuple[Placed, ...]
    inner: tuple[Placed, ...] = ()

    @property
    def loop(self) -> str:
        """The name of the one that carries sums."""
        on_axes = (each.member for each in (*self.inner, *self.outer) if each.axis)
        return next(member.name for member in on_axes if not member.coincident)


def sums_in_teams(nest: Nest, scop: Scop, dependences: Dependences, around: Around, gpu: Gpu) -> Sums | None:
    """A nest of coincident members, then others, with one of these on threads as well; None where that does not pay,
    or is not allowed."""
    band = nest.band
    coincident = [k for k, member in enumerate(band.members) if member.coincident]
    serial = [k for k in range(len(band.members)) if k not in coincident]
    statements = tuple(statements_of(band, scop))
    if not dependences.reorder_reductions or not serial or not 0 < len(coincident) <= 3:
        return None
    if len(statements) != 1 or not isinstance(band.child, Leaf):
        return None
    loops = Loops(statements[0], band, around)
    if not loops.stay(serial):
        return None
    outer = Band(tuple(band.members[k] for k in coincident))
    own = Filter(isl.UnionSet.from_set(isl.Set.universe(statements[0].domain.get_space())))
    inside = around.below(outer).below(own).reaching
    names = {reduced(band.members[k], dependences, inside) for k in serial}
    if len(names) != 1 or () in names or any(tile_rows(loops, k, coincident) is not None for k in coincident):
        return None
    (arrays,) = names
    if not set(_shared(nest, dependences, statements[0].name)) <= set(arrays):
        return None
    far = far_along(band, scop, around.members)
    lane = min(serial, key=lambda k: (far[k], -k))
    members = [nest.members[k] for k in coincident]
    rest = tuple(Placed(band.members[k]) for k in serial if k != lane)
    if far[lane] < min(far[k] for k in coincident) and not _is_shorter(band.members[lane], scop, LIMITS.warp):
        rows = _rows(members, scop, gpu, is_long=not _is_shorter(band.members[lane], scop, LONG_ROW))
        return Sums(nest, rows, (Placed(band.members[lane], "thread.x"), *rest))
    ranks = {len(array.shape) for array in scop.arrays if array.name in arrays}
    if len(members) == 1 and ranks == {1} and not _is_shorter(band.members[lane], scop, COLUMN * SUM_PARTS):
        columns = Placed(members[0], "block.x", block=COLUMNS), Placed(members[0], "thread.x")
        return Sums(nest, columns, (Placed(band.members[lane], "block.y"), *rest))
    return None


def _shared(nest: Nest, dependences: Dependences, statement: str) -> Iterator[str]:
    """The arrays because of which the statement has to wait for others in the nest, or they for it."""
    others = nest.names - {statement}
    for d in dependences.of("flow", "anti", "output"):
        if statement in (d.source, d.sink) and others & {d.source, d.sink}:
            yield d.array


def _rows(members: list[Member], scop: Scop, gpu: Gpu, *, is_long: bool) -> tuple[Placed, ...]:
    *planes, row = members
    is_few = all(_is_shorter(member, scop, gpu.multiprocessors) for member in members)
    on_blocks = [Placed(member, f"block.{axis}") for axis, member in zip("yz", reversed(planes), strict=False)]
    rows = (Placed(row, "block.x", block=0 if is_few and is_long else ROW_WARPS),)
    return (*reversed(on_blocks), *rows, *(() if is_few and is_long else (Placed(row, "thread.y"),)))


def sum_on_blocks(band: Band, scop: Scop, dependences: Dependences, around: Around, gpu: Gpu) -> Sums | None:
    """A band without coincident members whose first loop, or each if it is permutable, carries nothing but reductions
    of elements that it leaves in place: on blocks and threads. None if it is another one."""
    members = band.members if band.permutable else band.members[:1]
    names = [reduced(member, dependences, around.reaching) for member in members]
    if not all(arrays and _stay(band, scop, arrays, around) for arrays in names):
        return None
    far = far_along(band, scop, around.members)
    long = [k for k, member in enumerate(members) if not _is_shorter(member, scop, LIMITS.warp)]
    lane = min(long or range(len(members)), key=lambda k: (far[k], -k))
    alike = [k for k, member in enumerate(members) if k != lane and names[k] == names[lane]]
    outer = next((k for k in alike if not _is_shorter(members[k], scop, gpu.multiprocessors)), None)
    rest = tuple(Placed(member) for k, member in enumerate(band.members) if k not in (lane, outer))
    if outer is None:
        return Sums(alone(band), (Placed(members[lane], "block.x"), *rest))
    on_threads = Placed(members[lane], "thread.x")
    return Sums(alone(band), (Placed(members[outer], "block.x"), *rest, on_threads))


def _is_shorter(member: Member, scop: Scop, iterations: int) -> bool:
    """Has it always less than so many iterations?"""
    length = extent(member, scop.domain.intersect_params(scop.context))
    return length is not None and length < iterations


def _stay(band: Band, scop: Scop, arrays: tuple[str, ...], around: Around) -> bool:
    """Does each statement update one element of each array in all of the band?"""
    for statement in statements_of(band, scop):
        instances = statement.instances
        own = isl.UnionMap.from_domain_and_range(instances, instances)
        same = reduce(isl.UnionMap.intersect, map(together, around.members), own)
        for write in statement.writes:
            relation = isl.UnionMap.from_map(write.relation)
            pairs = relation.reverse().apply_range(same).apply_range(relation)
            if write.array in arrays and not pairs.is_subset(pairs.range().identity()):
                return False
    return True
