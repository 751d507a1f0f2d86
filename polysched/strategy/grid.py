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
from math import prod

from polysched.config.heuristics import gpu as rules
from polysched.config.options import Options
from polysched.config.target import LIMITS
from polysched.deps.reaching import names_in
from polysched.ir.effects import is_pure, is_total_operation
from polysched.ir.node import children, walk
from polysched.ir.nodes import Expr, If, Let, Load, Store
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import Band, Leaf, Member, Sequence
from polysched.support import isl
from polysched.support.remembered import remembered
from polysched.transform.analysis.roles import Around, Loops, far_accesses, statements_of
from polysched.transform.analysis.sizes import bytes_of_elements, element_bytes


@dataclass(frozen=True)
class Axis:
    """A member of the band on an axis of the grid."""

    member: int
    threads: int
    points: int = 1  # of each thread
    vector: int | None = None  # how many of them are next to each other, before those of the next thread; None: all

    @property
    def is_wide(self) -> bool:
        """Has a block more than one point along it?"""
        return self.threads * self.points > 1


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
                has_tiles = options.register_tiles and _runs_anywhere(statements[0])
                y = tile_rows(loops, x, coincident) if has_tiles else None
                if y is None:
                    return Grid(_plain(x, coincident), _chunks(loops, serial, rules.DISTANT_CHUNK))
                planes = (Axis(k, 1) for k in coincident if k not in (x, y))
                sides = (*planes, *_tile(loops, y, x, scop, is_box=_is_box(loops, serial)))
                if not options.shared_memory:  # copies alone are read by vectors
                    sides = tuple(replace(side, vector=None) for side in sides)
                buffers = 2 if options.double_buffer else 1
                grid = Grid(sides, reads={k: buffers * _bytes(loops, k, scop) for k in (y, x)})
                chunk = rules.CHUNK if grid.longest_chunk >= rules.CHUNK else rules.SMALL_CHUNK
                return replace(grid, chunks=_chunks(loops, serial, chunk))
            accesses = len(statements[0].reads) + len(statements[0].writes)
            is_line = len(coincident) == 1 and around.members  # which is launched again and again, and seldom long
            if not serial and options.register_tiles and far[x][0] < accesses and not is_line:
                return _without_sums(loops, x, coincident, scop, is_far=far[x][0] > 0)
    return Grid(_plain(x, coincident))


def _runs_anywhere(statement: Statement) -> bool:
    """May it run where the nest has no instance, on copies of what it reads? Tiles do so at the ends of the loops."""
    nodes = list(walk(statement.body))
    if sum(isinstance(node, Store) for node in nodes) > 1 or any(isinstance(node, If) for node in nodes):
        return False
    return all(_is_defined(node.value) for node in nodes if isinstance(node, Store | Let))


def _is_defined(expr: Expr) -> bool:
    """Whatever what it loads is? What is loaded from must not depend on data, or there is no copy."""
    if isinstance(expr, Load):
        return not any(isinstance(node, Load) for node in walk(expr.index))
    return is_pure(expr) and is_total_operation(expr) and all(map(_is_defined, children(expr)))


def tile_rows(loops: Loops, x: int, coincident: list[int]) -> int | None:
    """The member for axis y of a tile: one operand serves all its points along x, and another one all those along y."""
    rows = [k for k in coincident if k != x and _serves(loops, k, x) and _serves(loops, x, k)]
    return rows[-1] if rows else None


def _bytes(loops: Loops, member: int, scop: Scop) -> int:
    """What one iteration of the serial loop reads for a point along the member."""
    size = bytes_of_elements(scop)
    return sum(size[name] for name in _operands(loops, member))


def _operands(loops: Loops, member: int) -> list[str]:
    """The arrays of the reads that move with the member, but for what is updated."""
    own = {access.array for access in loops.statement.writes}
    reads = zip(loops.statement.reads, loops.reads(member), strict=True)
    return [access.array for access, stride in reads if stride != 0 and access.array not in own]


def _tile(loops: Loops, y: int, x: int, scop: Scop, *, is_box: bool) -> tuple[Axis, Axis]:
    """8 x 16 threads of 8 x 8 points: of 4 x 4 where there are more operands to hold in registers, or loops to bound,
    and more threads of these where there is work for few."""
    rows, columns = (extent(loops.band.members[k], isl.UnionSet.from_set(loops.statement.domain)) for k in (y, x))
    most, few = rules.TILE_POINTS, rules.FEW_TILE_POINTS
    points = most if is_box and len(_operands(loops, y) + _operands(loops, x)) <= 2 else few
    height, width = (threads * points for threads in rules.TILE_THREADS)
    while points > few and _threads(rows, height, points) * _threads(columns, width, points) < prod(rules.TILE_THREADS):
        points //= 2
    vector = min(LIMITS.load // element_bytes(loops.statement, scop), points) if is_box else points
    return (
        Axis(y, _threads(rows, height, points), points),
        Axis(x, _threads(columns, width, points), points, vector),
    )


def _is_box(loops: Loops, serial: list[int]) -> bool:
    """Do the ends of the serial loops stay where they are when the others step?"""
    domain = loops.statement.domain
    moved = {k for member in serial for k in loops.band.members[member].iterators(loops.statement.name)}
    for basic in domain.get_basic_sets():
        for constraint in basic.get_constraints():
            used = {k for k in range(domain.dim(isl.dim_type.set)) if constraint.involves_dims(isl.dim_type.set, k, 1)}
            if used & moved and used - moved:
                return False
    return True


def _threads(length: int | None, most: int, points: int) -> int:
    """Threads with so many points each for `most` in all, halved while fewer reach `length`."""
    threads = most // points
    while length is not None and threads > 1 and points * (threads // 2) >= length:
        threads //= 2
    return threads


def _serves(loops: Loops, along: int, across: int) -> bool:
    """Is there a read that stays in place along one member, and moves with the other?"""
    return any(a == 0 and b != 0 for a, b in zip(loops.reads(along), loops.reads(across), strict=True))


def _chunks(loops: Loops, serial: list[int], iterations: int) -> dict[int, int]:
    """As many iterations of the last serial loop of unknown length as make `iterations` with the short ones inside."""
    inside = 1
    for k in reversed(serial):
        length = extent(loops.band.members[k], isl.UnionSet.from_set(loops.statement.domain))
        if length is None or length > rules.WHOLE_CHUNK:
            size = 1
            while size * inside < iterations:
                size *= 2
            return {k: size}
        inside *= length
    return {}


def extent(member: Member, domain: isl.UnionSet) -> int | None:
    """How far the values of the member for these instances reach, if that is constant."""
    return _extent(member.schedule, domain)


@remembered
def _extent(schedule: isl.UnionMap, domain: isl.UnionSet) -> int | None:
    reached = domain.apply(schedule)
    if reached.is_empty():
        return 0
    values = isl.Set.from_union_set(reached).coalesce()
    if not (values.dim_has_lower_bound(isl.dim_type.set, 0) and values.dim_has_upper_bound(isl.dim_type.set, 0)):
        return None
    span = values.dim_max(0).sub(values.dim_min(0))
    return int(span.max_val().get_num_si()) + 1 if span.is_cst() else None


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
    sequence: Sequence | None = None
    place: int = 0

    @property
    def names(self) -> set[str]:
        """The statements."""
        return names_in(self.members[0].schedule.domain())


def alone(band: Band) -> Nest:
    """The band without anything before and after it."""
    return Nest(band, band.members)
