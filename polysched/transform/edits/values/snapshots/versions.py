"""What each iteration of a loop reads of an array that it also writes: which of two values, and where a copy of it is.

    for k: for i: for j:                             p[i, k] is written in step k by S[k, i, k], and read by S[k, i, j]
        p[i, j] += p[i, k]        S[k, i, j]             j <= k:  as it was before the step         kept_p[k, i]
                                                         j > k:   as the step has made it           kept_p_2[k, i]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from polysched.deps.arrivals import told_apart
from polysched.deps.dataflow import Source, sources
from polysched.deps.values import require_exact
from polysched.errors import BudgetExceeded, IllegalSchedule, InputError
from polysched.ir.build import floormod
from polysched.ir.node import walk
from polysched.ir.nodes import Array, Const, Expr, Load, Store
from polysched.model.affine import AffineSpace, NotAffine, everywhere, value_at
from polysched.model.extents import extent
from polysched.model.scop import Access, Statement
from polysched.model.tree.nodes import Band, Leaf, Tree, children
from polysched.support import isl
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.loops import Loop, coordinates_of, free
from polysched.transform.edits.values.copies import names_in


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the copies are: by the iterators of the instance that writes what is copied."""

    array: Array
    kept: tuple[int, ...]  # which iterators
    turns: int | None  # which of these are taken by turns
    size: int

    def access(self, makers: isl.Map) -> Access:
        """Of the copies of what the instances { S[i] -> maker } have written."""
        parts = [isl.along(makers, k) for k in self.kept]
        if self.turns is not None:
            turn = isl.Map(f"{{ [x] -> [x mod {self.size}] }}")
            parts[self.turns] = parts[self.turns].apply_range(turn)
        relation = reduce(isl.Map.flat_range_product, parts).set_tuple_name(isl.dim_type.out, self.array.name)
        return Access(array=self.array.name, relation=relation)

    def load(self, iterators: Sequence[Expr]) -> Load:
        index = [*iterators]
        if self.turns is not None:
            index[self.turns] = floormod(index[self.turns], self.size)
        return Load(self.array.name, tuple(index), self.array.dtype)


@dataclass(frozen=True, kw_only=True)
class Version:
    """A copy of elements that an iteration reads, all from before it, or all made by it."""

    access: Access
    loads: tuple[Load, ...]  # the same in the body of the reader, which may spell it in several ways
    readers: isl.Set
    makers: isl.Map  # { reader -> the instance that writes the element in the same iteration }
    is_late: bool  # made by it
    place: Place

    def read(self, statement: Statement) -> tuple[Access, Load]:
        """Where a reader finds its element."""
        makers = isl.PwMultiAff.from_map(self.makers)
        at = [value_at(everywhere(makers.get_pw_aff(k)), statement.iterators) for k in self.place.kept]
        return self.place.access(self.makers), self.place.load(at)


class Step:
    """A loop of which each iteration reads and writes an array, in one statement."""

    def __init__(self, draft: Draft, place: Loop, wide: Array, size: int, what: str):
        self.draft, self.place, self.wide, self.size, self.what = draft, place, wide, size, what
        self.scop, self.taken = draft.scop, names_in(draft.scop)
        self.inside = [*_chain(place)]
        if len(place.statements) != 1 or not isinstance(self.inside[-1].child, Leaf):
            raise InputError(f"loop '{place.name}' is not one of a single statement, in loops of its own")
        (name,) = place.statements
        self.statement = self.scop.statement(name)
        own = self.statement.instances.intersect_params(self.scop.context)
        if not own.is_subset(place.instances):
            raise InputError(f"{name} runs outside of loop '{place.name}', too")
        match self.statement.body, self.statement.writes:
            case ((Store(array=wide.name) as store,), (Access() as write,)) if write.must:
                self.store, self.write = store, write
            case _:
                raise InputError(f"{name} is no single store to '{wide.name}'")
        self.leaf = (*place.path, *(0 for _ in self.inside))  # where the statement runs
        self.domain = self.statement.domain.intersect_params(self.scop.context)
        arrivals = coordinates_of(place.bands, own)
        self.together = isl.Map.from_union_map(arrivals.apply_range(arrivals.reverse()))

    def named(self, name: str) -> str:
        """The name, or one like it that nothing has, which is taken from now on."""
        name = free(name, self.taken)
        self.taken.add(name)
        return name

    @property
    def versions(self) -> list[list[Version]]:
        """Of each operand, the copies that its readers need."""
        return [list(self._versions(access, tuple(loads))) for access, loads in self._operands().items()]

    def _operands(self) -> Mapping[Access, list[Load]]:
        """What it reads of the array but for the element that it updates, and how."""
        name, found = self.wide.name, defaultdict[Access, list[Load]](list)
        loads = (node for node in walk(self.store.value) if isinstance(node, Load) and node.array == name)
        for load in dict.fromkeys(loads):
            if load.index == self.store.index or self._is_on(relation := self._relation(load), self.write):
                continue
            same = (a for a in self.statement.reads if a.array == name and self._is_on(relation, a))
            if (access := next(same, None)) is None or not access.must:
                raise InputError(f"{self.statement.name} may not read '{name}' there at all")
            found[access].append(load)
        return found

    def _relation(self, load: Load) -> isl.Map:
        space = AffineSpace(self.statement.name, self.statement.iterators, self.scop.function.sizes)
        try:
            maps = [isl.Map.from_pw_aff(space.function(each)) for each in load.index]
        except NotAffine as error:
            raise InputError(f"{self.what}: subscript '{error.expr}' is not affine") from None
        return reduce(isl.Map.flat_range_product, maps).set_tuple_name(isl.dim_type.out, load.array)

    def _is_on(self, relation: isl.Map, access: Access) -> bool:
        return bool(relation.intersect_domain(self.domain).is_equal(access.relation.intersect_domain(self.domain)))

    def _versions(self, access: Access, loads: tuple[Load, ...]) -> Iterator[Version]:
        read = access.relation.intersect_domain(self.domain)
        write = self.write.relation.intersect_domain(self.domain)
        makers = read.apply_range(write.reverse()).intersect(self.together)
        if not makers.is_single_valued() or not makers.domain().is_equal(self.domain):
            raise InputError(f"an iteration of loop '{self.place.name}' does not write all that it reads, once each")
        late = self._fed_inside(access)
        for some, is_late in ((self.domain.subtract(late), False), (late, True)):
            if not some.is_empty():
                readers = some.coalesce()
                own = makers.intersect_domain(readers).coalesce()
                place = self._place_of(own.range().coalesce())
                yield Version(access=access, loads=loads, readers=readers, makers=own, is_late=is_late, place=place)

    def _fed_inside(self, access: Access) -> isl.Set:
        """The instances that read by the access what their own iteration wrote."""
        name, number = self.statement.name, self.statement.reads.index(access)
        own = (s.instances for s in self._sources if s.reader == s.writer == name and s.read == number)
        nothing = self.domain.subtract(self.domain)
        return reduce(isl.Set.union, (each.intersect(self.together).domain() for each in own), nothing)

    @cached_property
    def _sources(self) -> Sequence[Source]:
        """Who writes what each access of the array reads."""
        try:
            apart = told_apart(self.scop, self.draft.nested)
            require_exact(apart, self.wide.name)
            return sources(apart, self.wide.name)
        except (BudgetExceeded, IllegalSchedule) as error:
            raise IllegalSchedule(f"{self.what}: {error}") from error

    def _place_of(self, made: isl.Set) -> Place:
        """Copies of what these instances write."""
        s, kept = self.statement, _telling(made)
        least = isl.Set("{ [x] : x >= 0 }")
        values = [isl.along(made, k) for k in kept]
        if not all(each.is_subset(least.align_params(each.get_space())) for each in values):
            raise InputError(f"loops around {s.name} count from below zero")
        shape = [extent(each, self.scop.context) for each in values]
        turns = next((n for n, k in enumerate(kept) if self._counts(k)), None) if self.size else None
        if self.size and turns is None:
            message = f"loop '{self.place.name}' does not count an iterator of {s.name}"
            raise InputError(message, hint="leave the size out")
        if turns is not None:
            shape[turns] = Const(self.size)
        array = Array(self.named(f"kept_{self.wide.name}"), self.wide.dtype, tuple(shape), "global")
        return Place(array=array, kept=kept, turns=turns, size=self.size)

    def _counts(self, k: int) -> bool:
        """Is the loop's value that iterator of the statement?"""
        value = isl.Map.from_union_map(self.place.member.schedule.intersect_domain(isl.UnionSet.from_set(self.domain)))
        return bool(value.is_equal(isl.along(self.domain.identity(), k)))


def _chain(place: Loop) -> Iterator[Band]:
    """The loop, and those right inside of each other in it."""
    node: Tree = place.band
    while isinstance(node, Band):
        yield node
        (node,) = children(node)


def _telling(instances: isl.Set) -> tuple[int, ...]:
    """The dimensions of which the values tell the instances apart, as few as possible, outer ones first."""
    kept = [*range(instances.dim(isl.dim_type.set))]
    for k in reversed(kept):
        fewer = [each for each in kept if each != k]
        values = [isl.along(instances.identity(), each) for each in fewer]
        if fewer and reduce(isl.Map.flat_range_product, values).is_injective():
            kept = fewer
    return tuple(kept)
