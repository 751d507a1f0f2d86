"""What a loop over time steps runs, as its tiles need it: which element each instance writes, and which arrays hand
values from one step to the next.

    for t:   S: B[i] = A[i - 1] + A[i + 1]        A: kept, R[t - 1] wrote what S[t] reads
             R: A[i] = B[i]                       B: not kept, of each step alone
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

from polysched.deps.dependences import Dependence
from polysched.errors import IllegalSchedule, InputError
from polysched.ir.nodes import Array
from polysched.model.scop import Scop, Statement
from polysched.support import isl
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.loops import Loop
from polysched.transform.edits.values.time_tiles.halo import Halos


@dataclass(frozen=True, kw_only=True)
class Stencil:
    """The statements of the loop, and the arrays that they write."""

    scop: Scop
    statements: tuple[Statement, ...]
    arrays: tuple[Array, ...]
    time: isl.UnionMap  # { S[i] -> [t] }
    flow: tuple[Dependence, ...]  # among the statements, of these arrays

    @cached_property
    def places(self) -> dict[str, isl.Map]:
        """{ S[i] -> [t, x] }: when, and which element it writes."""
        return {s.name: self.time_of(s).flat_range_product(_nameless(s.writes[0].relation)) for s in self.statements}

    def time_of(self, statement: Statement) -> isl.Map:
        """{ S[i] -> [t] }"""
        return isl.Map.from_union_map(self.time.intersect_domain(statement.instances))

    @cached_property
    def times(self) -> isl.Set:
        """{ [t] }: when something runs."""
        domain = isl.union_set(s.domain.intersect_params(self.scop.context) for s in self.statements)
        return isl.Set.from_union_set(domain.apply(self.time)).coalesce()

    def written(self, array: str) -> isl.Set:
        """{ A[x] }"""
        return self._accessed(array, is_write=True)

    def read(self, array: str) -> isl.Set | None:
        """{ A[x] }; None if nothing is read."""
        return self._accessed(array, is_write=False)

    def _accessed(self, array: str, *, is_write: bool) -> isl.Set:
        touched = [
            access.relation.intersect_domain(s.domain.intersect_params(self.scop.context)).range()
            for s in self.statements
            for access in (s.writes if is_write else s.reads)
            if access.array == array
        ]
        return reduce(isl.Set.union, touched).coalesce() if touched else None  # type: ignore[return-value]

    @property
    def dims(self) -> int:
        return self.statements[0].writes[0].relation.dim(isl.dim_type.out)

    def is_whole(self, statement: Statement) -> bool:
        """Does it run for as many elements as there are, rather than for those of an edge?"""
        return statement.depth > self.dims

    def offsets(self, statement: Statement) -> tuple[tuple[str, bool, tuple[tuple[int, int], ...]], ...]:
        """For each of its accesses to the arrays, which, whether it writes, and from where to where along each
        dimension its elements are from the one that it writes; IllegalSchedule if they may be anywhere."""
        return self._offsets[statement.name]

    @cached_property
    def _offsets(self) -> dict[str, tuple[tuple[str, bool, tuple[tuple[int, int], ...]], ...]]:
        return {statement.name: tuple(self._offsets_of(statement)) for statement in self.statements}

    def _offsets_of(self, statement: Statement) -> Iterator[tuple[str, bool, tuple[tuple[int, int], ...]]]:
        wrote, own = self.places[statement.name].project_out(isl.dim_type.out, 0, 1), {a.name for a in self.arrays}
        for access in statement.accesses:
            if access.array in own:
                used = _nameless(access.relation).intersect_domain(statement.domain)
                away = wrote.reverse().apply_range(used).deltas().project_out_all_params()
                ends = [(away.dim_min_val(k), away.dim_max_val(k)) for k in range(self.dims)]
                if not all(low.is_int() and high.is_int() for low, high in ends):
                    raise IllegalSchedule(f"{statement.name} reads '{access.array}' at any distance of what it writes")
                sides = tuple((low.to_python(), high.to_python()) for low, high in ends)
                yield access.array, access in statement.writes, sides

    def reaches(self, around: Halos, steps: int) -> dict[str, list[tuple[int, int]]]:
        """By array, the elements below and above a tile that its first step uses, or any other."""
        found = {array.name: [(0, 0)] * self.dims for array in self.arrays}
        for statement in self.statements:
            for array, _, sides in self.offsets(statement):
                for k, ((low, high), halo, near) in enumerate(zip(sides, around.sides, found[array], strict=True)):
                    below, above = (side.at(statement.name, steps - 1) for side in halo)
                    found[array][k] = max(near[0], below - low), max(near[1], above + high)
        return found

    def is_kept(self, array: str) -> bool:
        """May a step need what an earlier one, or what ran before the loop, has left of an element that it writes, or
        leave it to what comes after?"""
        return self._kept[array]

    @cached_property
    def _kept(self) -> dict[str, bool]:
        return {array.name: self._is_kept(array.name) for array in self.arrays}

    def _is_kept(self, array: str) -> bool:
        written, read = self.written(array), self.read(array)
        own = [d for d in self.flow if d.array == array]
        if read is None:
            return not self._is_written_last(array, written)
        in_step = self.time.apply_range(self.time.reverse())
        if not all(isl.UnionMap.from_map(d.relation).is_subset(in_step) for d in own):
            return True
        fed = isl.union_map(d.relation.reverse() for d in own)
        for s in self.statements:
            for access in s.reads:
                if access.array == array:
                    relation = access.relation.intersect_domain(s.domain.intersect_params(self.scop.context))
                    late = isl.UnionMap.from_map(relation.intersect_range(written))
                    if not late.domain().is_subset(fed.domain()):
                        return True
        return not self._is_written_last(array, written)

    def _is_written_last(self, array: str, written: isl.Set) -> bool:
        """Is each element written in the last step?"""
        last = isl.UnionSet.from_set(self.times.lexmax())
        final = self.time.intersect_range(last).domain()
        writes = isl.union_map(s.writes[0].relation for s in self.statements if s.writes[0].array == array)
        return isl.UnionSet.from_set(written).is_subset(writes.intersect_domain(final).range())


def _nameless(relation: isl.Map) -> isl.Map:
    return relation.reset_tuple_id(isl.dim_type.out)


def stencil_of(draft: Draft, place: Loop, dims: int, what: str) -> Stencil:
    """The loop as a stencil; InputError if it is none that tiles of so many dimensions may be made of."""
    scop = draft.scop
    if place.around:
        outer = ", ".join(band.members[0].name for band in place.around)
        raise InputError(
            f"{what}: loop '{place.name}' is inside of {outer}", hint="time tiles are of an outermost loop"
        )
    statements = tuple(s for s in scop.statements if s.name in place.statements)
    for s in statements:
        if not s.instances.is_subset(place.instances):
            raise InputError(f"{what}: {s.name} runs outside of loop '{place.name}' too")
        if len(s.writes) != 1 or not s.writes[0].must or not s.writes[0].relation.is_single_valued():
            raise InputError(f"{what}: {s.name} does not write one known element")
        if (count := s.writes[0].relation.dim(isl.dim_type.out)) != dims:
            array = s.writes[0].array
            raise InputError(f"{what}: {s.name} writes '{array}', of {count} dimensions, and there are {dims} sizes")
    written = {s.writes[0].array for s in statements}
    for s in statements:
        for read in s.reads:
            if read.array in written and not (read.must and read.relation.is_single_valued()):
                raise InputError(f"{what}: which element of '{read.array}' {s.name} reads is not known")
    names = {s.name for s in statements}
    flow = tuple(
        d for d in draft.dependences.of("flow") if d.array in written and d.source in names and d.sink in names
    )
    if not all(d.is_exact for d in flow):
        raise IllegalSchedule(f"{what}: who wrote what is not known exactly")
    return Stencil(
        scop=scop,
        statements=statements,
        arrays=tuple(a for a in scop.arrays if a.name in written),
        time=place.member.schedule,
        flow=flow,
    )
