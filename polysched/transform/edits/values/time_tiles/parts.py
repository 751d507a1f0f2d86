"""The statements of a nest in time tiles.

begin_A    A_o[k, x] = A[x]                both buffers are as the array is
load_A     A_s[u] = A_o[p, x]              what a tile may need of a kept array
load_B     B_s[u] = B[x]                   of another one: elements that nothing writes
S_at       B_s[u] = f(A_s[u - 1], ..)
store_A    A_o[1 - p, x] = A_s[u]          the block's own elements
store_B    B[x] = B_s[u]                   in the last time tile
end_A      A[x] = A_o[1 - p, x]            after the last time tile
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

from polysched.errors import IllegalSchedule
from polysched.ir.build import sub
from polysched.ir.nodes import Array, Const, Expr, Load, Store, Var
from polysched.ir.rename import bound_names
from polysched.model.affine import is_name
from polysched.model.bounds import elements
from polysched.model.scop import Access, Scop, Statement
from polysched.support import isl
from polysched.transform.edits.base.loops import free
from polysched.transform.edits.values.copies import Copies, copies_of, from_instances, in_box, names_in
from polysched.transform.edits.values.storage import SCOPES, Scope
from polysched.transform.edits.values.time_tiles.tiles import Tiles

_MOST_PARTS = 12  # of what is copied: the sides of a box are two for each dimension


@dataclass(frozen=True)
class Part:
    """A statement of each tile, and when it runs there: functions of all iterations that there might be, which are
    simpler than those of its domain."""

    statement: Statement
    tile: isl.Map  # { S[..] -> [o, p, b] }
    time: isl.Map  # { S[..] -> [stage, t, place] }: loads in stage 0, steps in 1, stores in 2
    origin: isl.Map | None = None  # { S_at[..] -> S[..] }, of no copy
    is_constant: bool = False  # it reads what nothing writes


@dataclass(frozen=True)
class Parts:
    """All statements of tiles; loops over them are called as `loops` says."""

    tiles: Tiles
    loops: tuple[str, ...]
    scope: Scope
    names: set[str] = field(default_factory=set)

    @property
    def _scop(self) -> Scop:
        return self.tiles.stencil.scop

    @cached_property
    def _taken(self) -> set[str]:
        return names_in(self._scop)

    def _named(self, wish: str) -> str:
        name = free(wish, self._taken)
        self._taken.add(name)
        return name

    @cached_property
    def iterators(self) -> tuple[str, ...]:
        """Those of tiles, which no statement of the loop has."""
        for statement in self.tiles.stencil.statements:
            self._taken.update((*statement.iterators, *bound_names(statement.body)))
        return tuple(self._named(name if is_name(name) else f"c{k}") for k, name in enumerate(self.loops))

    @cached_property
    def _elements(self) -> tuple[str, ...]:
        return tuple(self._named(f"e{k}") for k in range(len(self.tiles.sizes)))

    @cached_property
    def kept(self) -> dict[str, Array]:
        """Two buffers for each array that steps need of earlier ones, in place of it."""
        arrays = (a for a in self.tiles.stencil.arrays if self.tiles.stencil.is_kept(a.name))
        return {a.name: replace(a, name=self._named(f"{a.name}_o"), shape=(Const(2), *a.shape)) for a in arrays}

    @cached_property
    def small(self) -> dict[str, Array]:
        """The box of each tile for each of the arrays."""
        shape, space = tuple(map(Const, self.tiles.extents)), SCOPES[self.scope]
        return {a.name: Array(self._named(f"{a.name}_s"), a.dtype, shape, space) for a in self.tiles.stencil.arrays}

    # --- in tiles

    @cached_property
    def steps(self) -> tuple[Part, ...]:
        """The statements of the loop, as tiles run them."""
        found = list[Part]()
        for statement in self.tiles.stencil.statements:
            needed, name = self.tiles.needed(statement.name), self._named(f"{statement.name}_at")
            copy = copies_of(statement, needed, name, self.iterators)
            when = copy.origin.apply_range(self.tiles.stencil.time_of(statement))
            ends = [
                isl.Map.from_domain_and_range(copy.statement.domain, isl.Set(f"{{ [{k}] }}")) for k in (1, len(found))
            ]
            time = ends[0].flat_range_product(when).flat_range_product(ends[1])
            found.append(_part(self._in_boxes(copy), copy.arrival, time, origin=copy.origin))
        return tuple(found)

    def _in_boxes(self, copy: Copies) -> Statement:
        statement = copy.statement
        for array, small in self.small.items():
            if any(access.array == array for access in statement.accesses):
                statement = in_box(statement, array, self.tiles.box, copy.arrival, small.name)
        return statement

    @cached_property
    def loads(self) -> tuple[Part, ...]:
        found = []
        for array in self.tiles.stencil.arrays:
            near = self.tiles.near(array.name)
            if array.name in self.kept:
                found.append(self._copy("load", array, near.intersect_range(self.buffered(array)), turn=0))
            else:
                parts = map(near.intersect_range, self._fixed(array.name))
                found += [self._copy("load", array, part) for part in parts if not part.is_empty()]
        return tuple(found)

    def _fixed(self, array: str) -> list[isl.Set]:
        """What is read of the array, and nothing writes, in convex parts; IllegalSchedule if they are many."""
        read, written = self.tiles.stencil.read(array), self.tiles.stencil.written(array)
        if read is None:
            return []
        parts = read.subtract(written).coalesce().make_disjoint().get_basic_sets()
        if len(parts) > _MOST_PARTS:
            what = f"what is read of '{array}', and not written, is in {len(parts)} pieces"
            raise IllegalSchedule(f"{what}, too many for loops that copy it")
        return [isl.Set.from_basic_set(part) for part in parts]

    @cached_property
    def stores(self) -> tuple[Part, ...]:
        found, seen = [], self._seen_after
        for array in self.tiles.stencil.arrays:
            own = self.tiles.own(array.name).intersect_range(self.tiles.stencil.written(array.name))
            if array.name in self.kept:
                found.append(self._copy("store", array, own, turn=1))
            elif array.name in seen:
                found.append(self._copy("store", array, own.intersect_domain(self.tiles.last)))
        return tuple(found)

    @cached_property
    def _seen_after(self) -> set[str]:
        """Arrays of which the user sees what is in them, or other statements."""
        own = {statement.name for statement in self.tiles.stencil.statements}
        others = (s for s in self._scop.statements if s.name not in own)
        return {a.name for a in self._scop.function.arrays} | {r.array for s in others for r in s.reads}

    def _copy(self, word: str, array: Array, touched: isl.Map, *, turn: int | None = None) -> Part:
        """Copies the elements `touched`, { [tile] -> A[x] }, to the tile's box, or back; with a turn, from the buffer
        of the time tile before, or to that of the next one."""
        name, iterators = self._named(f"{word}_{array.name}"), (*self.iterators, *self._elements)
        place, tile = (from_instances(m, name, iterators) for m in (touched.range_map(), touched.domain_map()))
        at: tuple[Expr, ...] = tuple(map(Var, self._elements))
        wide = _end(array, place, at)
        if turn is not None:
            own: Expr = Var(self.iterators[1])
            number = isl.along(tile, 1)
            if turn == 1:
                number, own = number.apply_range(_OTHER), sub(Const(1), own)
            there = number.flat_range_product(place.reset_tuple_id(isl.dim_type.out))
            wide = _end(self.kept[array.name], there, (own, *at))
        small = self.small[array.name]
        within = self.tiles.box.element(at, tile, iterators)
        box = _end(small, self.tiles.box.relation(place, tile, small.name), within)
        statement = _copying(name, iterators, *((wide, box) if word == "load" else (box, wide)))
        stage = isl.Set(f"{{ [{0 if word == 'load' else 2}, 0, 0] }}")
        when = isl.Map.from_domain_and_range(statement.domain, stage)
        return _part(statement, tile, when, is_constant=word == "load" and turn is None)

    # --- before and after

    @cached_property
    def begins(self) -> tuple[Statement, ...]:
        """Whole arrays to both of their buffers: blocks store what is written alone."""
        both, when = isl.Set("{ [k] : 0 <= k <= 1 }"), self.tiles.stencil.times.params()
        found = []
        for array in self.with_buffers:
            whole = self.buffered(array).intersect_params(when)
            domain = both.flat_product(whole.reset_tuple_id())
            names = (self._named("k"), *self._elements)
            found.append(self._to_buffer(self._named(f"begin_{array.name}"), names, domain, array, is_back=False))
        return tuple(found)

    def buffered(self, array: Array) -> isl.Set:
        """What its buffers have: all of an array of the user's, and what steps use of another one, in which nothing may
        have been written elsewhere."""
        if not self.is_own(array):
            return elements(array, self._scop.function.sizes)
        used = (self.tiles.stencil.written(array.name), self.tiles.stencil.read(array.name))
        return reduce(isl.Set.union, (each for each in used if each is not None)).coalesce()

    def is_own(self, array: Array) -> bool:
        """Is it the nest's own, and no argument?"""
        return all(array.name != each.name for each in self._scop.function.arrays)

    @cached_property
    def ends(self) -> tuple[Statement, ...]:
        """What was written of arrays, out of the buffer that the last time tile has stored to."""
        found = []
        for array in self.with_buffers:
            written = self.tiles.stencil.written(array.name)
            domain = self.tiles.last_time.flat_product(written.reset_tuple_id())
            names = (*self.iterators[:2], *self._elements)
            found.append(self._to_buffer(self._named(f"end_{array.name}"), names, domain, array, is_back=True))
        return tuple(found)

    @property
    def with_buffers(self) -> list[Array]:
        return [array for array in self.tiles.stencil.arrays if array.name in self.kept]

    def _to_buffer(
        self, name: str, iterators: Sequence[str], domain: isl.Set, array: Array, *, is_back: bool
    ) -> Statement:
        """A copy of an element to the buffer of the number right before its subscripts, or back from the other one."""
        domain = domain.set_tuple_name(name)
        for k, iterator in enumerate(iterators):
            domain = domain.set_dim_name(isl.dim_type.set, k, iterator)
        number = len(iterators) - len(self._elements) - 1
        every = isl.Map.identity(domain.get_space().map_from_set()).intersect_domain(domain)
        element, turn = every.project_out(isl.dim_type.out, 0, number + 1), isl.along(every, number)
        at: tuple[Expr, ...] = tuple(map(Var, self._elements))
        own: Expr = Var(iterators[number])
        if is_back:
            turn, own = turn.apply_range(_OTHER), sub(Const(1), own)
        buffer = self.kept[array.name]
        wide = _end(array, element, at), _end(buffer, turn.flat_range_product(element), (own, *at))
        return _copying(name, iterators, *(reversed(wide) if is_back else wide))


_OTHER = isl.Map("{ [p] -> [1 - p] }")  # buffer

_End = tuple[Access, Array, tuple[Expr, ...]]


def _end(array: Array, relation: isl.Map, index: tuple[Expr, ...]) -> _End:
    return Access(array=array.name, relation=relation.set_tuple_name(isl.dim_type.out, array.name)), array, index


def _part(
    statement: Statement, tile: isl.Map, time: isl.Map, *, origin: isl.Map | None = None, is_constant: bool = False
) -> Part:
    return Part(statement, simple(tile, statement), simple(time, statement), origin, is_constant)


def simple(function: isl.Map, statement: Statement) -> isl.Map:
    """The function without the conditions of the statement's domain."""
    return function.gist_domain(statement.domain)


def _copying(name: str, iterators: Sequence[str], source: _End, target: _End) -> Statement:
    """Stores the element of the one in that of the other."""
    (read, wide, at), (write, small, to) = source, target
    return Statement(
        name=name,
        iterators=tuple(iterators),
        domain=read.relation.domain(),
        reads=(read,),
        writes=(write,),
        body=(Store(small.name, to, Load(wide.name, at, wide.dtype)),),
    )
