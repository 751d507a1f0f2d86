"""Tiles of sums: how many threads they have, of how many points each, and whether what they read is copied.

    C[i, j] += A[i, k] * B[k, j]                8 x 16 threads of 8 x 8 points, columns in fours of 16 bytes: copied
    C[i, j] += A[i, k] * B[k, j], k <= i        4 x 4 points, of columns 16 apart: neighbouring threads load neighbours
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import ceil, inf, prod

from polysched.config.heuristics import gpu as rules
from polysched.config.options import Options
from polysched.config.target import LIMITS
from polysched.ir.effects import is_pure, is_total_operation
from polysched.ir.node import children, variables, walk
from polysched.ir.nodes import Binary, Expr, If, Let, Load, Store
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import Member
from polysched.support import isl
from polysched.support.remembered import remembered
from polysched.transform.analysis.roles import Loops
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


def runs_anywhere(statement: Statement) -> bool:
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


def _serves(loops: Loops, along: int, across: int) -> bool:
    """Is there a read that stays in place along one member, and moves with the other?"""
    return any(a == 0 and b != 0 for a, b in zip(loops.reads(along), loops.reads(across), strict=True))


@dataclass(frozen=True)
class Tile:
    """A tile along two members, around serial ones."""

    loops: Loops
    y: int
    x: int
    serial: tuple[int, ...]
    options: Options

    @property
    def is_copied(self) -> bool:
        """May what it reads be copied to shared memory: is it boxes, as long for each of its points?"""
        is_box = self.stands(self.y, self.x) and not self._divides()
        return self.options.shared_memory and is_box

    def sides(self, planes: Sequence[int], scop: Scop) -> tuple[Axis, Axis]:
        """8 x 16 threads of 8 x 8 points: of 4 x 4 where there are more operands to hold in registers, or loops to
        bound, and more threads of these where there is work for few. Copies are read by vectors; without them,
        neighbouring threads read what is next to each other, unless registers hold parts of rows that have ends."""
        rows, columns = (self._extent(k) for k in (self.y, self.x))
        points, few = self._points(planes), rules.FEW_TILE_POINTS
        height, width = (threads * points for threads in rules.TILE_THREADS)
        every = prod(rules.TILE_THREADS)
        while points > few and _threads(rows, height, points) * _threads(columns, width, points) < every:
            points //= 2
        at_once = min(LIMITS.load // element_bytes(self.loops.statement, scop), points)
        vector = at_once if self.is_copied else 1 if self.stands(self.x) else points
        return (
            Axis(self.y, _threads(rows, height, points), points),
            Axis(self.x, _threads(columns, width, points), points, vector),
        )

    def _points(self, planes: Sequence[int]) -> int:
        """Of a thread along each side: few, too, where fewer blocks than multiprocessors are known to have more."""
        points, few = rules.TILE_POINTS, rules.FEW_TILE_POINTS
        if len(self._operands(self.y) + self._operands(self.x)) > 2 or not self.stands(self.y, self.x):
            return few
        while points > few and self._blocks(points, planes) < self.options.gpu.multiprocessors:
            points //= 2
        return points

    def _blocks(self, points: int, planes: Sequence[int]) -> float:
        """Of threads with so many points along each side; infinitely many where that is not known."""
        sides = (*(threads * points for threads in rules.TILE_THREADS), *(1 for _ in planes))
        lengths = [self._extent(k) for k in (self.y, self.x, *planes)]
        blocks = (inf if length is None else ceil(length / side) for length, side in zip(lengths, sides, strict=True))
        return prod(blocks)

    def bytes_for(self, member: int, scop: Scop) -> int:
        """What one iteration of the serial loop reads for a point along the member."""
        size = bytes_of_elements(scop)
        return sum(size[name] for name in self._operands(member))

    def stands(self, *members: int) -> bool:
        """Do the ends of the serial loops stay where they are when these step?"""
        moved, steps = self._iterators(self.serial), self._iterators(members)
        return self._are_apart(moved, steps) or self._are_apart_here(moved, steps)

    def _are_apart(self, moved: set[int], steps: set[int]) -> bool:
        """Has no constraint of the statement's domain iterators of both?"""
        domain = self.loops.statement.domain
        for basic in domain.get_basic_sets():
            for constraint in basic.get_constraints():
                dims = range(domain.dim(isl.dim_type.set))
                used = {k for k in dims if constraint.involves_dims(isl.dim_type.set, k, 1)}
                if used & moved and used & steps:
                    return False
        return True

    def _are_apart_here(self, moved: set[int], steps: set[int]) -> bool:
        """Is what the filters and loops around leave of the domain a box of both, as below the tiles of a loop?"""
        around, statement = self.loops.around, self.loops.statement
        own = around.instances(statement.instances)
        if around.passing is None or moved & steps or own.is_empty():
            return False
        outer = (member.schedule.intersect_domain(own) for member in around.members)
        here = isl.Map.from_union_map(reduce(isl.UnionMap.flat_range_product, outer, _nowhere(own))).wrap().flatten()
        box = _all_along(here, moved).intersect(_all_along(here, steps))
        return bool(box.is_subset(here))

    def _operands(self, member: int) -> list[str]:
        """The arrays of the reads that move with the member, but for what is updated."""
        own = {access.array for access in self.loops.statement.writes}
        reads = zip(self.loops.statement.reads, self.loops.reads(member), strict=True)
        return [access.array for access, stride in reads if stride != 0 and access.array not in own]

    def _divides(self) -> bool:
        """Is a subscript of what is read a quotient or a remainder, which moves with the tile or a serial loop?"""
        statement = self.loops.statement
        own = {statement.iterators[k] for k in self._iterators((self.y, self.x, *self.serial))}
        places = (part for node in walk(statement.body) if isinstance(node, Load) for part in node.index)
        inside = (node for part in places for node in walk(part) if isinstance(node, Binary))
        return any(node.op in ("floordiv", "floormod") and variables(node) & own for node in inside)

    def _iterators(self, members: Iterable[int]) -> set[int]:
        """The positions of the statement's iterators that these are functions of."""
        band, name = self.loops.band, self.loops.statement.name
        return {k for member in members for k in band.members[member].iterators(name)}

    def _extent(self, member: int) -> int | None:
        return extent(self.loops.band.members[member], self.loops.statement.instances)


def _nowhere(instances: isl.UnionSet) -> isl.UnionMap:
    """{ S[i, j] -> [] }"""
    return isl.UnionMap.from_domain_and_range(instances, isl.UnionSet("{ [] }"))


def _all_along(points: isl.Set, dims: set[int]) -> isl.Set:
    """The points, and all others that differ from one along these dimensions alone."""
    return reduce(lambda found, k: found.eliminate(isl.dim_type.set, k, 1), sorted(dims), points)


def _threads(length: int | None, most: int, points: int) -> int:
    """Threads with so many points each for `most` in all, halved while fewer reach `length`."""
    threads = most // points
    while length is not None and threads > 1 and points * (threads // 2) >= length:
        threads //= 2
    return threads


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
