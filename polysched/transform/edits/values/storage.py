"""What the iterations of a loop use of an array, and that on a small array of theirs.

band: i_o                       band: i_o
  band: i                         mark: storage:A_c
    S: reads A[i]         ->        sequence
                                      band: A0   load_A: A_c[A0 - 32 i_o] = A[A0]
                                      band: i    S: reads A_c[i - 32 i_o]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Literal

from polysched.deps.arrivals import scoped_arrays, told_apart
from polysched.deps.dataflow import Source, sources
from polysched.deps.values import require_exact, with_ends
from polysched.errors import BudgetExceeded, IllegalSchedule, InputError
from polysched.ir.nodes import Array, Expr, Load, Store, Var
from polysched.model.scop import Access, Scop, Statement
from polysched.model.tree.nodes import Band, Domain, Leaf, Mark, Member, Storage, Tree, mark_of
from polysched.support import isl
from polysched.transform.analysis.roles import iterators as iterators_of
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.graft import grafted, without_arrays
from polysched.transform.edits.base.loops import (
    below_context,
    changed_at,
    coordinates_of,
    free,
    loop,
    nest,
    node_at,
    require_word,
)
from polysched.transform.edits.base.registry import by_name
from polysched.transform.edits.base.same_values import require_same_values
from polysched.transform.edits.values.apart import told_from_others
from polysched.transform.edits.values.copies import Box, box, from_instances, in_box, iterator_names, names_in

Scope = Literal["private", "local", "shared", "global"]
_MOST_PARTS = 12  # of what is copied; rows of stencils have one, several rows one each
SCOPES: dict[str, Scope] = {"private": "private", "local": "private", "shared": "shared", "global": "global"}


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """A statement that copies one element, in an order of its own."""

    statement: Statement
    order: Tree  # over the elements of one arrival
    coordinates: tuple[isl.UnionMap, ...]  # { load_A[o, x] -> [o_k] } for each loop around
    is_load: bool


@dataclass(frozen=True, kw_only=True)
class Small:
    """A small array, and the box of another one that each arrival has in it."""

    wide: Array
    array: Array
    box: Box
    loops: tuple[str, ...]  # the loops around, which say which arrival it is

    def transfer(self, elements: isl.Map, scop: Scop, *, is_load: bool) -> Transfer:
        """Copies the elements { [o] -> A[x] } to the small array, or back."""
        name = free(f"{'load' if is_load else 'store'}_{self.wide.name}", names_in(scop))
        wanted = (*self.loops, *(f"{self.wide.name}{k}" for k in range(len(self.wide.shape))))
        iterators = iterator_names(wanted, replace(scop, statements=()))
        elements = _convex(elements.coalesce())
        if elements.n_basic_map() > _MOST_PARTS:
            what = f"what an iteration needs of '{self.wide.name}' is in {elements.n_basic_map()} pieces"
            raise IllegalSchedule(f"{what}, too many for loops that copy it")
        wide, arrival = (from_instances(m, name, iterators) for m in (elements.range_map(), elements.domain_map()))
        domain = wide.domain()
        own = self.box.relation(wide, arrival, self.array.name)
        at: tuple[Expr, ...] = tuple(map(Var, iterators[len(self.loops) :]))
        within = self.box.element(at, arrival, iterators)
        there = Access(array=self.wide.name, relation=wide), Load(self.wide.name, at, self.wide.dtype)
        here = Access(array=self.array.name, relation=own), Load(self.array.name, within, self.array.dtype)
        (read, value), (write, target) = (there, here) if is_load else (here, there)
        statement = Statement(
            name=name,
            iterators=iterators,
            domain=domain,
            reads=(read,),
            writes=(write,),
            body=(Store(target.array, target.index, value),),
        )
        depth = len(self.loops)
        rows = [isl.UnionMap.from_map(isl.Map.from_aff(each)) for each in iterators_of(statement)]
        inner = [depth + axis for axis in self.box.axes]
        return Transfer(
            statement=statement,
            order=Domain(isl.UnionSet.from_set(domain), nest([Member(rows[k], name=wanted[k]) for k in inner], Leaf())),
            coordinates=tuple(rows[:depth]),
            is_load=is_load,
        )


def _convex(elements: isl.Map) -> isl.Map:
    """The elements as one convex set, if they are: coalescing alone does not always find it."""
    arrivals = isl.Set.from_basic_set(elements.domain().coalesce().simple_hull())
    hull = isl.Map.from_basic_map(elements.simple_hull()).intersect_domain(arrivals)
    return hull if hull.is_equal(elements) else elements


class Use:
    """What the iterations of a loop, or the whole nest, use of an array; `what` is asked for because of that."""

    def __init__(self, draft: Draft, array: str, at: str | None, what: str):
        self.array, self.what = by_name("array", array, {each.name: each for each in draft.scop.arrays}), what
        if at is not None:
            draft = told_from_others(draft, loop(draft.nested, at).instances, array)
        self.draft, self.tree, self.scop = draft, draft.nested, draft.scop
        if at is None:
            assert isinstance(self.tree, Domain)
            self.where, self.path, self.bands = "the nest", below_context(self.tree), tuple[Band, ...]()
            instances = self.tree.domain
        else:
            place = loop(self.tree, at)
            self.where, self.path, self.bands = f"loop '{place.name}'", (*place.path, 0), place.bands
            instances = place.instances
        self.arrivals = coordinates_of(self.bands, instances.intersect_params(self.scop.context))
        self.reads = self._elements(is_write=False)
        self.writes = self._elements(is_write=True)

    def _elements(self, *, is_write: bool) -> list[isl.Map]:
        """{ [o] -> A[x] }, alone in its list; none if nothing is touched."""
        touched = [
            access.relation.intersect_domain(statement.domain)
            for statement in self.scop.statements
            for access in (statement.writes if is_write else statement.reads)
            if access.array == self.array.name
        ]
        found = isl.union_map(touched).apply_domain(self.arrivals)
        return [m.coalesce() for m in isl.maps_of(found) if not m.is_empty()]

    def fresh_name(self, suffix: str) -> str:
        """A name for a small array that stands for this one."""
        return free(f"{self.array.name}_{suffix}", names_in(self.scop))

    def small(self, elements: Iterable[isl.Map], scope: str, name: str) -> Small:
        space = by_name("scope", scope, SCOPES)
        if name:
            require_word(name, "array")
        if name in names_in(self.scop):
            raise InputError(f"the name '{name}' is taken", hint=f"another: '{free(name, names_in(self.scop))}'")
        around = box(reduce(isl.Map.union, elements), self.scop.context)
        array = Array(name or self.fresh_name("c"), self.array.dtype, around.shape, space)
        loops = tuple(band.members[0].name for band in self.bands)
        return Small(wide=self.array, array=array, box=around, loops=loops)

    def read_of_earlier(self) -> isl.Map | None:
        """{ [o] -> A[x] }: what an arrival reads that it has not written itself."""
        found = isl.UnionMap("{ }")
        for statement in self.scop.statements:
            for k, access in enumerate(statement.reads):
                if access.array == self.array.name:
                    own = (s.instances for s in self.sources if (s.reader, s.read) == (statement.name, k))
                    fed = isl.union_map(own).intersect(self.together).domain()
                    read = isl.UnionMap.from_map(access.relation.intersect_domain(statement.domain))
                    found = found.union(read.subtract_domain(fed))
        return _only(found.apply_domain(self.arrivals))

    def read_later(self) -> isl.Map | None:
        """{ [o] -> A[x] }: what an arrival writes and something outside of it gets."""
        found = isl.UnionMap("{ }")
        for source in self.sources:
            write = self.scop.statement(source.writer).writes[source.write]
            if write.array == self.array.name:
                outside = isl.UnionMap.from_map(source.instances).subtract(self.together)
                written = isl.UnionMap.from_map(write.relation).intersect_domain(outside.range())
                found = found.union(written.apply_domain(self.arrivals))
        return _only(found)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """Who gets what of it from whom in the nest, with reads at its end; IllegalSchedule if that is unknown."""
        try:
            apart = told_apart(self.scop, self.draft.nested)
            require_exact(apart, self.array.name)
            return sources(with_ends(apart), self.array.name)
        except (BudgetExceeded, IllegalSchedule) as error:
            raise IllegalSchedule(f"{self.what}: {error}") from error

    @property
    def together(self) -> isl.UnionMap:
        """{ instance -> instance } in the same arrival."""
        return self.arrivals.apply_range(self.arrivals.reverse())

    def on(self, small: Small, *, load: isl.Map | None, store: isl.Map | None = None, stores: bool = True) -> Draft:
        """The draft on the small array, in which elements { [o] -> A[x] } are copied there first, and back last, in
        each iteration; checked."""
        copies = [
            small.transfer(elements, self.scop, is_load=elements is load)
            for elements in (load, store)
            if elements is not None
        ]
        inside = tuple(self._on(small, statement, stores=stores) for statement in self.scop.statements)
        statements = (*inside, *(copy.statement for copy in copies))
        used = {each.array for s in statements for each in s.accesses}
        used |= {array.name for array in self.scop.function.arrays}
        arrays = tuple(array for array in (*self.scop.arrays, small.array) if array.name in used)
        edited = replace(self.scop, statements=statements, arrays=arrays)
        tree = without_arrays(self._placed(small, copies), scoped_arrays(self.tree) - {array.name for array in arrays})
        only = {self.array.name, small.array.name}
        return require_same_values(self.draft, edited, tree, self.scop.domain.identity(), self.what, only=only)

    def _on(self, small: Small, statement: Statement, *, stores: bool) -> Statement:
        inside = self.arrivals.intersect_domain(statement.instances)
        if inside.is_empty():
            return statement
        arrival = isl.Map.from_union_map(inside)
        return in_box(statement, self.array.name, small.box, arrival, small.array.name, stores=stores)

    def _placed(self, small: Small, copies: Sequence[Transfer]) -> Tree:
        """The tree with the copies first and last, and the array, in each iteration."""
        tree, inner = self.tree, inside_storage(self.tree, self.path)
        for copy in copies:
            tree = grafted(tree, inner, copy.order, copy.coordinates, before=copy.is_load)
        return tree if small.array.space == "global" else with_storage(tree, self.path, small.array.name)


def own_array(draft: Draft, name: str) -> Array:
    """The array of that name that the nest or edits have made; InputError if there is none."""
    users = {array.name for array in draft.scop.function.arrays}
    own = {array.name: array for array in draft.scop.arrays if array.name not in users}
    if name in users:
        message = f"'{name}' is a parameter: where it lives, and its shape, is up to the caller"
        raise InputError(message, hint=f"cache_read('{name}', at=loop) makes an array of the loop's")
    if name not in own:
        raise InputError(f"there is no array '{name}'", hint=f"those of the nest's own are: {', '.join(own) or 'none'}")
    return own[name]


def with_array(scop: Scop, array: Array) -> Scop:
    """The nest with this array in place of the one of its name."""
    return replace(scop, arrays=tuple(array if each.name == array.name else each for each in scop.arrays))


def inside_storage(tree: Tree, path: tuple[int, ...]) -> tuple[int, ...]:
    """The way to the node itself, past the mark of the arrays that each arrival there has."""
    return (*path, 0) if mark_of(node_at(tree, path), Storage) else path


def with_storage(tree: Tree, path: tuple[int, ...], array: str) -> Tree:
    """The tree in which each arrival at the node has the array, beside those that it has."""

    def marked(node: Tree) -> Tree:
        match node:
            case Mark(mark=Storage(arrays=others), child=child):
                return Mark(Storage((*others, array)), child)
        return Mark(Storage((array,)), node)

    return changed_at(tree, path, marked)


def _only(elements: isl.UnionMap) -> isl.Map | None:
    return next((m.coalesce() for m in isl.maps_of(elements) if not m.is_empty()), None)
