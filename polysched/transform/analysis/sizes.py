"""How large tiles are: from the caches, and from what each loop of the nest reuses.

    C[i, j] += A[i, k] * B[k, j]      i 64, k 256, j 240    a column of blocks of B stays in L1, all of B's tile in L2
    y[j] += A[i, j] * x[i]            j 512                 what is updated stays in L1
    t[i] += A[i, j] * x[j]            none                  each element of A is used once
    a stencil with time steps         32 or 8 each, and rows as long as L2 has room for all arrays

These are sizes for f64, 32 registers of 64 bytes, as of AVX-512, an L1 of 32 KiB and an L2 of 1 MiB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from polysched.config.constraints import TileSizes, sizes_asked
from polysched.config.heuristics import cpu as rules
from polysched.config.machine import Machine
from polysched.config.options import Options
from polysched.deps.coincidence import carried, in_one
from polysched.errors import InputError
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import Band, Member, is_innermost
from polysched.support import isl
from polysched.transform.analysis.roles import Around, Roles, roles, statements_of, step, stride
from polysched.transform.analysis.vectorize import can_vectorize

_NO_TILES: Mapping[str, int] = {}


@dataclass(frozen=True)
class Block:
    """A register tile: rows that are unrolled, and columns in a few vectors."""

    rows: int
    columns: int


def register_block(
    statement: Statement,
    scop: Scop,
    machine: Machine,
    unrolled: Member | None = None,
    vector: Member | None = None,
    tiles: Mapping[str, int] = _NO_TILES,
) -> Block:
    """Three vectors wide, and as many rows high as leaves registers for operands; two vectors and more rows, or
    somewhat fewer rows, where a few blocks then fill the loop, or its tile: `tiles` are sizes by names of loops."""
    lanes = max(1, machine.vector_bytes // element_bytes(statement, scop))
    sums = rules.SUMS_IN_32_REGISTERS if machine.vector_registers >= 32 else rules.SUMS_IN_16_REGISTERS
    vectors = _filling(vector, statement, lanes, range(rules.VECTORS_OF_ROW, 1, -1), tiles)
    most = sums // vectors
    rows = _filling(unrolled, statement, 1, range(most, most // 2 - 1, -1), tiles)
    return Block(rows, columns=vectors * lanes)


def _filling(
    member: Member | None, statement: Statement, unit: int, counts: Sequence[int], tiles: Mapping[str, int]
) -> int:
    """The first of `counts` of whose units a few blocks fill the loop, or its tile; the first of all, if there is
    none."""
    values = values_of(member, statement) if member else None
    size = tiles.get(member.name, 0) if member else 0
    if size and (values is None or size < len(values)):
        values = range(size)
    if values is None or len(values) > rules.FEW_BLOCKS * counts[0] * unit:
        return counts[0]
    return next((n for n in counts if values.start % (n * unit) == values.stop % (n * unit) == 0), counts[0])


def tile_sizes(band: Band, scop: Scop, around: Around, options: Options) -> tuple[int, ...] | None:
    """The size of a tile along each member of a permutable band, 0 for one that is not tiled; None to tile none.

    Of several statements, the first whose loops have roles decides for all.
    """
    if len(band.members) < 2 or any(member.rounds for member in (*around.members, *band.members)):
        return None
    if options.tile_sizes is not None:
        return _given(options.tile_sizes, band, around.reaching)
    statements = tuple(statements_of(band, scop))
    for statement in statements:
        found = roles(statement, band, around)
        if found is not None:
            block = register_block(statement, scop, options.machine, *found.rows_and_columns(band))
            element = element_bytes(statement, scop)
            if len(statements) > 1:
                return _shared(found, len(band.members), block)
            sizes = _for_registers(found, len(band.members), block, element, options.machine)
            box = _Box.of(statement, band, scop)
            if sizes is None or box is None or found.vector is None or len(box.values[found.vector]) < block.columns:
                return sizes
            return _fitting(sizes, found, box, options.machine)
    if not _reuses(band, scop, around):
        return None
    sizes = _for_cache(band, statements, scop, around, options.machine)
    is_serial = not any(member.coincident for member in band.members)  # tiles run in a wavefront then
    return sizes if is_serial or _changes_order(sizes, band, statements) else None


def _changes_order(sizes: Sequence[int], band: Band, statements: Sequence[Statement]) -> bool:
    """Is a loop inside of the first cut? Blocks of the first loop alone run in the order that there was."""
    for member, size in zip(band.members[1:], sizes[1:], strict=True):
        lengths = [values_of(member, statement) for statement in statements]
        if size and any(length is None or len(length) > size for length in lengths):
            return True
    return False


def asked_sizes(band: Band, scop: Scop, around: Around, options: Options) -> tuple[int, ...] | None:
    """What the user asks for the statements of a band, None if nothing; InputError if they differ."""
    outer, count = sum(not member.rounds for member in around.members), len(band.members)
    asked: dict[tuple[int, ...], TileSizes] = {}
    for statement in statements_of(band, scop):
        constraint = sizes_asked(options.constraints, statement.name)
        if constraint is not None:
            sizes = (*constraint.sizes[outer : outer + count], *(0,) * count)[:count]
            asked.setdefault(sizes, constraint)
    if len(asked) > 1:
        both, names = " and ".join(map(str, asked.values())), " and ".join(s.name for s in statements_of(band, scop))
        raise InputError(f"{both} differ, but {names} have loops in common", hint="ask for them to be separate")
    return next(iter(asked), None)


def _for_registers(
    found: Roles, count: int, block: Block, element: int, machine: Machine
) -> tuple[int, ...] | None:
    sizes = [0] * count
    if found.vector is not None and found.unrolled is not None:
        serial = _tile_length(int(rules.TILE_OF_L1 * machine.l1) // (block.columns * element))
        columns = int(rules.TILE_OF_L2 * machine.l2) // (serial * element) // block.columns * block.columns
        sizes = [rules.OTHER_LOOPS] * count
        sizes[found.serial] = serial
        sizes[found.unrolled] = (rules.ROWS_OF_PACKED_TILE if found.gathers else rules.ROWS_OF_TILE) * block.rows
        sizes[found.vector] = max(block.columns, columns)
    elif found.vector is not None:
        sizes[found.vector] = int(rules.UPDATED_OF_L1 * machine.l1) // element
    return tuple(sizes) if any(sizes) else None


def _fitting(sizes: tuple[int, ...], found: Roles, box: _Box, machine: Machine) -> tuple[int, ...]:
    """Smaller tiles along the other loops of a sum, if L2 then holds what is accessed in one, to be used again."""
    others = [k for k, member in enumerate(box.band.members) if not member.coincident and k != found.serial]
    smaller = sizes
    while box.accessed(smaller) > machine.l2:
        trips = {k: min(smaller[k], len(box.values[k])) for k in others}
        halves = [(*smaller[:k], trips[k] // 2, *smaller[k + 1 :]) for k in others if trips[k] > 1]
        if not halves:
            return sizes
        smaller = min(halves, key=box.accessed)
    return smaller


@dataclass(frozen=True)
class _Box:
    """The iterations of a statement in a band whose loops have known lengths."""

    band: Band
    domain: isl.UnionSet
    values: tuple[range, ...]
    accesses: tuple[tuple[isl.Map, int], ...]  # with the bytes of an element

    @staticmethod
    def of(statement: Statement, band: Band, scop: Scop) -> _Box | None:
        if statement.domain.dim(isl.dim_type.param):
            return None
        values = tuple(each for member in band.members if (each := values_of(member, statement)))
        if len(values) < len(band.members):
            return None
        size = bytes_of_elements(scop)
        accesses = tuple((a.relation, size[a.array]) for a in statement.accesses)
        return _Box(band, statement.instances, values, accesses)

    def accessed(self, sizes: tuple[int, ...]) -> int:
        """Bytes of the boxes around what the first tile accesses of each array."""
        inside = self.domain
        for member, values, size in zip(self.band.members, self.values, sizes, strict=True):
            if size:
                first = isl.UnionSet(f"{{ [x] : {values.start} <= x < {values.start + size} }}")
                inside = inside.intersect(member.schedule.intersect_range(first).domain())
        tile = isl.Set.from_union_set(inside)
        found: dict[str, int] = {}
        for relation, element in self.accesses:
            elements = relation.intersect_domain(tile).range()
            name = elements.get_tuple_name()
            found[name] = max(found.get(name, 0), isl.box(elements) * element)
        return sum(found.values())


def values_of(member: Member, statement: Statement) -> range | None:
    """From where to where the member's values go for the statement, if those are constants."""
    domain = statement.instances
    values = isl.Set.from_union_set(member.schedule.intersect_domain(domain).range()).project_out_all_params()
    if not values.is_bounded():
        return None
    first, last = isl.ends(values, 0)
    return range(first, last + 1)


def points_of(members: list[Member], statement: Statement) -> int | None:
    """How many values the members take together for the statement, if that is a constant: not a product of ranges where
    they are skewed."""
    domain = statement.instances
    schedules = (member.schedule.intersect_domain(domain) for member in members)
    values = isl.Set.from_union_set(reduce(isl.UnionMap.flat_range_product, schedules).range().project_out_all_params())
    return int(values.count_val().to_python()) if values.is_bounded() else None


def _shared(found: Roles, count: int, block: Block) -> tuple[int, ...]:
    """Small tiles for several statements: those that hold more than one run without registers."""
    sizes = [rules.SHARED_TILE] * count
    if found.unrolled is not None:
        sizes[found.unrolled] = rules.ROWS_OF_TILE * block.rows
    if found.vector is not None:
        sizes[found.vector] = rules.SHARED_COLUMNS * block.columns
    return tuple(sizes)


def _for_cache(
    band: Band, statements: tuple[Statement, ...], scop: Scop, around: Around, machine: Machine
) -> tuple[int, ...]:
    """Tiles of which all arrays fit into L2, with rows as long as that allows where they run as SIMD."""
    count = len(band.members)
    outer = rules.STENCIL_TILE if count <= 3 else rules.DEEP_STENCIL_TILE
    if not can_vectorize(band, around.reaching):
        fills = any(member.coincident for member in band.members) or not _recurs(band, around.reaching)
        row = rules.SERIAL_ROW if fills and is_innermost(band) else rules.SERIAL_TILE
        return *(rules.SERIAL_TILE,) * (count - 1), row
    arrays = {access.array for statement in statements for access in statement.accesses}
    element = max(element_bytes(statement, scop) for statement in statements)
    row = machine.l2 // (len(arrays) * outer ** (count - 2) * element)
    longest = rules.LONGEST_DEEP_ROW if count > 2 else rules.LONGEST_ROW
    return *(outer,) * (count - 1), min(longest, _tile_length(row))


def _recurs(band: Band, reaching: isl.UnionMap) -> bool:
    """Does each iteration of the last loop wait for one shortly before? Then short rows are better: the processor
    begins the next one meanwhile."""
    *outer, last = band.members
    for member in outer:
        reaching = in_one(member, reaching)
    waits = carried(last, reaching).apply_domain(last.schedule).apply_range(last.schedule).deltas()
    if waits.is_empty():
        return False
    distances = isl.Set.from_union_set(waits)
    return bool(distances.project_out_all_params().dim_has_upper_bound(isl.dim_type.set, 0))


def _given(sizes: tuple[int, ...], band: Band, reaching: isl.UnionMap) -> tuple[int, ...]:
    """The last of `sizes` is for an innermost loop that will run as SIMD, the one before it repeats for others."""
    count = len(band.members)
    if len(sizes) >= count:
        return (*sizes[: count - 1], sizes[-1])
    outer = sizes[:-1] or sizes
    last = sizes[-1] if can_vectorize(band, reaching) else outer[-1]
    return (*(outer[min(k, len(outer) - 1)] for k in range(count - 1)), last)


def _reuses(band: Band, scop: Scop, around: Around) -> bool:
    """Does a tile bring anything: several elements used again along an outer loop, or strides that go far inside?"""
    if not all(member.coincident for member in band.members):
        return True
    every, last = (*around.members, *band.members), len(band.members) - 1
    for statement in statements_of(band, scop):
        steps = [(k, step(statement, every, len(around.members) + k)) for k in range(last + 1)]
        for access in statement.accesses:
            strides = {k: stride(access, along, rules.NEAR) for k, along in steps if along is not None}
            stays = any(each == 0 for k, each in strides.items() if k < last)
            if (stays and any(each != 0 for each in strides.values())) or strides.get(last, 0) is None:
                return True
    return False


def element_bytes(statement: Statement, scop: Scop) -> int:
    """The size of what the statement writes."""
    written = {access.array for access in statement.writes}
    return max((size for name, size in bytes_of_elements(scop).items() if name in written), default=8)


def bytes_of_elements(scop: Scop) -> dict[str, int]:
    """The size of an element of each array."""
    return {array.name: array.dtype.bits // 8 or 1 for array in scop.arrays}


def _tile_length(most: int) -> int:
    """The greatest power of two up to that, but that of the shortest row at least."""
    return max(rules.SHORTEST_ROW, (1 << most.bit_length()) // 2)
