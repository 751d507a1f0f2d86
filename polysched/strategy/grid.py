"""How large blocks of threads are, how many points each thread has, and how far serial loops run between copies.

    C[i, j] += A[i, k] * B[k, j]      8 x 16 threads of 8 x 8 points each; k by 16: both operands serve many points
    t[i] += A[i, j] * x[j]            128 threads; j by 32: rows are read by whole warps
    B[i, j] = A[i-1, j] + A[i+1, j]   8 x 32 threads of a few rows each, whose loads overlap
    B[i, j] = A[j, i]                 8 x 32 threads of a few rows, and of columns 32 apart, which copies are made for
    anything else                     128, 8 x 32 or 2 x 4 x 32 threads

The member that steps through memory by one is on axis x.

What goes on a grid together: a band, and what runs at each of its elements before and after its serial loops.

    band: i, j  coincident               band      i, j, k of T alone
      sequence                           members   i, j of S, T and U; k of T
        filter: S          ->            sequence  S, then T, then U
        filter: T
          band: k
        filter: U
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from polysched.config.heuristics import gpu as rules
from polysched.config.options import Options
from polysched.config.target import LIMITS
from polysched.deps.reaching import names_in
from polysched.ir.nodes import If
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, InOrder, Leaf, Member
from polysched.strategy.tiles import Axis, Tile, extent, runs_anywhere, tile_rows
from polysched.transform.analysis.roles import Around, Loops, far_accesses, statements_of
from polysched.transform.analysis.sizes import element_bytes


@dataclass(frozen=True)
class Grid:
    """The sides, planes of single points first, x last; and how many iterations of a serial member run between copies
    to shared memory, each of which reads so many bytes for a point along a side."""

    sides: tuple[Axis, ...]
    chunks: dict[int, int] = field(default_factory=dict)
    reads: dict[int, int] = field(default_factory=dict, compare=False)

    @property
    def wide(self) -> list[Axis]:
        """The sides of a block."""
        return [side for side in self.sides if side.is_wide]

    @property
    def longest_chunk(self) -> int:
        """How many iterations read what shared memory holds."""
        read = sum(side.threads * side.points * self.reads.get(side.member, 0) for side in self.sides)
        return rules.SHARED_BYTES // max(1, read)


def choose_grid(band: Band, scop: Scop, around: Around, options: Options) -> Grid:
    """The grid for a band with coincident members; threads have one point each without `options.register_tiles`."""
    coincident = [k for k, member in enumerate(band.members) if member.coincident]
    every = (*around.members, *band.members)
    far = {k: far_accesses(scop, every, len(around.members) + k) for k in coincident}
    x = min(coincident, key=lambda k: (far[k], -k))
    wide = [k for k in coincident if (extent(band.members[k], scop.domain) or LIMITS.warp) >= LIMITS.warp // 2]
    if x not in wide and wide:  # its few iterations, next to each other, are one thread's
        coincident.remove(x)
        x = min(wide, key=lambda k: (far[k], -k))
    statements = tuple(statements_of(band, scop))
    if len(statements) == 1 and isinstance(band.child, Leaf):
        loops = Loops(statements[0], band, around)
        if loops.move:
            serial = [k for k in range(len(band.members)) if k not in coincident]
            if serial and loops.stay(serial):
                return _of_sums(loops, x, coincident, serial, scop, options)
            accesses = len(statements[0].reads) + len(statements[0].writes)
            is_line = len(coincident) == 1 and around.members  # which is launched again and again, and seldom long
            if not serial and options.register_tiles and far[x][0] < accesses and not is_line:
                return _without_sums(loops, x, coincident, scop, is_far=far[x][0] > 0)
    return Grid(_plain(x, coincident))


def _of_sums(loops: Loops, x: int, coincident: list[int], serial: list[int], scop: Scop, options: Options) -> Grid:
    """Tiles that share what they read, or one sum a thread; serial loops in chunks where copies are likely."""
    has_tiles = options.register_tiles and runs_anywhere(loops.statement)
    y = tile_rows(loops, x, coincident) if has_tiles else None
    if y is None:
        is_copied = options.shared_memory and not any(isinstance(each, If) for each in loops.statement.body)
        return Grid(_plain(x, coincident), _chunks(loops, serial, rules.DISTANT_CHUNK) if is_copied else {})
    planes = [k for k in coincident if k not in (x, y)]
    of = Tile(loops, y, x, tuple(serial), options)
    buffers = 2 if options.double_buffer else 1
    sides = (*(Axis(k, 1) for k in planes), *of.sides(planes, scop))
    grid = Grid(sides, reads={k: buffers * of.bytes_for(k, scop) for k in (y, x)})
    chunk = rules.CHUNK if grid.longest_chunk >= rules.CHUNK else rules.SMALL_CHUNK
    return replace(grid, chunks=_chunks(loops, serial, chunk) if of.is_copied else {})


def _chunks(loops: Loops, serial: list[int], iterations: int) -> dict[int, int]:
    """As many iterations of the last serial loop of unknown length as make `iterations` with the short ones inside."""
    inside = 1
    for k in reversed(serial):
        length = extent(loops.band.members[k], loops.statement.instances)
        if length is None or length > rules.WHOLE_CHUNK:
            size = 1
            while size * inside < iterations:
                size *= 2
            return {k: size}
        inside *= length
    return {}


def _without_sums(loops: Loops, x: int, coincident: list[int], scop: Scop, *, is_far: bool) -> Grid:
    """A warp along x; several points a thread across it, which share loads, or along it where there is nothing else."""
    others = [k for k in coincident if k != x]
    if not others:
        return Grid((Axis(x, rules.THREADS[1][0], rules.LINE_POINTS, vector=1),))
    turned = _turned(loops, x, others)
    *outer, second = others if turned is None else (*(k for k in others if k != turned), turned)
    points = min(rules.TILE_POINTS, max(1, rules.COLUMN_BYTES // element_bytes(loops.statement, scop)))
    row = Axis(x, LIMITS.warp)
    if is_far:  # what is read across rows is copied in tiles, of more than a warp's width
        points, row = rules.LINE_POINTS, Axis(x, LIMITS.warp, rules.LINE_POINTS, vector=1)
    if not outer or turned is not None:
        return Grid((*(Axis(k, 1) for k in outer), Axis(second, rules.STENCIL_THREADS, points), row))
    *outer, third = outer
    sides = Axis(third, 1, points), Axis(second, rules.STENCIL_THREADS), row
    return Grid((*(Axis(k, 1) for k in outer), *sides))


def _turned(loops: Loops, x: int, others: list[int]) -> int | None:
    """The member along which a read that goes far along x steps by one: a tile of both is turned in shared memory."""
    far = [k for k, stride in enumerate(loops.reads(x)) if stride is None]
    return next((k for k in reversed(others) if any(loops.reads(k)[read] == 1 for read in far)), None)


def _plain(x: int, coincident: list[int]) -> tuple[Axis, ...]:
    """One point a thread: the innermost loops beside x have threads, and planes are those around them."""
    others = [k for k in coincident if k != x]
    planes, members = others[:-2], (*others[-2:], x)
    sides = (Axis(k, threads) for k, threads in zip(members, rules.THREADS[len(members)], strict=True))
    return (*(Axis(k, 1) for k in planes), *sides)


@dataclass(frozen=True)
class Nest:
    """`band` tells what is best for its loops; `members` are the same loops, the coincident ones around all that
    runs, which is `sequence` with the band's own part at `place`."""

    band: Band
    members: tuple[Member, ...]
    sequence: InOrder | None = None
    place: int = 0

    @property
    def names(self) -> set[str]:
        """The statements."""
        return names_in(self.members[0].schedule.domain())


def alone(band: Band) -> Nest:
    """The band without anything before and after it."""
    return Nest(band, band.members)
