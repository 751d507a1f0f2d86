"""Register tiles: a block of elements that a loop adds to, small enough for the vector registers
(Goto and van de Geijn, TOMS 2008).

    band: i, k, j                               band: floor(i/8), floor(j/24)
                                    ->            band: k
    C[i, j] += A[i, k] * B[k, j]                    mark: unroll
                                                      band: i
                                                        mark: vector
                                                          band: j

The loop k that leaves the written element in place runs around the block; another loop that leaves something read in
place is unrolled; a loop of unit strides runs as SIMD. What is left of such a nest when one of them is missing is
tiled the same way: dot products are unrolled across rows, updates of a row by several others at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched import isl
from polysched.deps.coincidence import carried, left_below, together
from polysched.deps.dependences import Dependences
from polysched.machine import Machine
from polysched.model.scop import Scop, Statement
from polysched.model.tree import Band, Leaf, Mark, Member, Tree, Unroll, Vector, children, with_children
from polysched.transform.strides import step, stride
from polysched.transform.tile import block_of

ROWS_UPDATED = 4  # of a nest whose written elements change with the SIMD loop, at a time


def register_tile_all(tree: Tree, scop: Scop, dependences: Dependences, machine: Machine) -> Tree:
    """`tree` with the innermost permutable band of every nest that has a loop to keep elements in registers tiled."""
    return _Tiling(scop, machine).tiled(tree, (), dependences.coincidence)


@dataclass(frozen=True)
class Roles:
    """Positions in a band: the loop around the tile, the unrolled and the SIMD loop of it; -1 for none."""

    serial: int
    unrolled: int
    vector: int


@dataclass(frozen=True)
class _Tiling:
    scop: Scop
    machine: Machine

    def tiled(self, tree: Tree, outer: tuple[Member, ...], reaching: isl.UnionMap) -> Tree:
        if isinstance(tree, Band) and tree.permutable and len(tree.members) > 1 and isinstance(tree.child, Leaf):
            return self.band(tree, outer, reaching)
        inside = (*outer, *tree.members) if isinstance(tree, Band) else outer
        below = left_below(tree, reaching)
        return with_children(tree, tuple(self.tiled(child, inside, below) for child in children(tree)))

    def band(self, band: Band, outer: tuple[Member, ...], reaching: isl.UnionMap) -> Tree:
        statement = self.only_statement(band)
        roles = None if statement is None else self.roles(statement, band, reaching)
        if statement is None or roles is None:
            return band
        m = band.members
        rows, columns = self.shape(statement)
        others = tuple(m[k] for k in range(len(m)) if k not in (roles.serial, roles.unrolled, roles.vector))
        serial = m[roles.serial]
        if roles.unrolled < 0:
            lanes = replace(m[roles.vector], coincident=True)
            inner: Tree = Mark(Vector(), Band((lanes,), True, Mark(Unroll(), Band((serial,), True, band.child))))
            return Band((*others, block_of(serial, ROWS_UPDATED)), True, inner)
        unrolled = m[roles.unrolled]
        if roles.vector < 0:
            inner = Mark(Unroll(), Band((unrolled,), True, band.child))
            return Band((*others, block_of(unrolled, rows), serial), True, inner)
        lanes = replace(m[roles.vector], coincident=True)
        inner = Mark(Unroll(), Band((unrolled,), True, Mark(Vector(), Band((lanes,), True, band.child))))
        return Band((*others, block_of(lanes, columns), block_of(unrolled, rows), serial), True, inner)

    def only_statement(self, band: Band) -> Statement | None:
        instances = isl.maps_of(band.members[0].schedule)
        names = [m.get_tuple_name(isl.dim_type.in_) for m in instances]
        return self.scop.statement(names[0]) if len(names) == 1 else None

    def roles(self, statement: Statement, band: Band, reaching: isl.UnionMap) -> Roles | None:
        """Which member does what; None if no element stays in place along one."""
        members = range(len(band.members))
        steps = [step(statement, band.members, k) for k in members]
        if any(s is None for s in steps):
            return None

        def strides(k: int, reads: bool) -> list[int | None]:
            along = steps[k]
            assert along is not None
            return [stride(access, along) for access in (statement.reads if reads else statement.writes)]

        stays = [k for k in members if all(s == 0 for s in strides(k, False))]
        if not stays:
            return None
        vectors = [
            k for k in members
            if k not in stays and all(s is not None for s in strides(k, False)) and _is_parallel(band, k, reaching)
        ]  # fmt: skip
        far = {k: sum(s is None for s in strides(k, True)) for k in vectors}
        vector = min(vectors, key=lambda k: far[k], default=-1)
        serial = stays[-1]
        rows = [
            k for k in members
            if k not in stays and k != vector and any(s == 0 for s in strides(k, True))
        ]  # fmt: skip
        if vector >= 0 and far[vector] and not rows:
            vector, rows = -1, [vector]
        if not rows and vector < 0:
            return None
        return Roles(serial=serial, unrolled=rows[0] if rows else -1, vector=vector)

    def shape(self, statement: Statement) -> tuple[int, int]:
        """Rows and columns of a block: three vectors wide, and as high as leaves some registers for operands."""
        bits = max((a.dtype.bits for a in self.scop.arrays for w in statement.writes if a.name == w.array), default=64)
        lanes = max(1, 8 * self.machine.vector_bytes // bits)
        return (8 if self.machine.vector_registers >= 32 else 4), 3 * lanes


def _is_parallel(band: Band, k: int, reaching: isl.UnionMap) -> bool:
    """Are the iterations of member k independent when it is innermost?"""
    for position, member in enumerate(band.members):
        if position != k:
            reaching = reaching.intersect(together(member))
    return bool(carried(band.members[k], reaching).is_empty())
