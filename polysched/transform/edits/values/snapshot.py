"""Snapshots: what each iteration of a loop reads of an array that it also writes, in copies that later iterations leave
alone. Without them, a step that meets itself, as of Floyd and Warshall's algorithm, cannot wait for the next ones.

    for k: for i: for j:                         for k:
        p[i, j] = min(p[i, j],                       for i: a[k, i] = p[i, k]
                      p[i, k] + p[k, j])   ->        for j: b[k, j] = p[k, j]
                                                     for i: for j:
                                                         if i <= k and j <= k: p[i, j] = min(p[i, j], a[k, i] + b[k, j])
                                                         if i <= k and j > k:  p[i, j] = min(p[i, j], c[k, i] + b[k, j])
                                                         ...
                                                         if j == k: c[k, i] = p[i, k]

A place that is read and written in one iteration holds two values in it: the one from before, which is copied when the
iteration begins, and the one that it writes, which is copied right then. Who reads which is known exactly, by who
wrote last; a statement for each combination reads the copies. This is renaming (Feautrier, ICS 1988) of what is read
alone: the array itself stays as it is. That each read gets its value is shown, as for all copies (`same_values.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

from polysched.deps.arrivals import told_apart
from polysched.deps.dataflow import sources
from polysched.deps.values import require_exact
from polysched.errors import BudgetExceeded, IllegalSchedule, InputError
from polysched.ir.build import floormod
from polysched.ir.node import rewrite, walk
from polysched.ir.nodes import Array, Const, Expr, Load, Store, Var
from polysched.model.affine import AffineSpace, NotAffine, everywhere, value_at
from polysched.model.extents import extent
from polysched.model.scop import Access, Statement
from polysched.model.tree.instances import copied
from polysched.model.tree.nodes import Band, Domain, Filter, InOrder, Leaf, Tree, children
from polysched.support import isl
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.graft import grafted
from polysched.transform.edits.base.loops import Loop, changed_at, coordinates_of, free, loop, nest
from polysched.transform.edits.base.registry import by_name, edit
from polysched.transform.edits.base.same_values import require_same_values
from polysched.transform.edits.values.copies import names_in


@edit("values", "k, i, j -> k, (A0; A1; i, j)")
def snapshot(draft: Draft, array: str, at: str, size: int = 0) -> Draft:
    """Copies of what each iteration of loop `at` reads of an array that it also writes, an element for each iteration.

    Other iterations may then overwrite what was read: with a `size`, those that many iterations later the copies, too.
    The loop runs one statement, in loops of its own, which updates an element a[f] by others of the array; the copies
    are arrays that belong to no loop. InputError where the loop is none of these; IllegalSchedule if something gets
    another value by that.

        for k:                        for k:
            for i: for j:                 for i: p_k[k, i] = p[i, k]
                p[i, j] += p[i, k]  ->    for i: for j:
                                              p[i, j] += p_k[k, i]             snapshot("p", at="k"), in part
    """
    place, what = loop(draft.nested, at), f"snapshot({array}, at={at})"
    if size < 0:
        raise InputError(f"copies of {size} iterations cannot be kept", hint="leave the size out to keep them all")
    wide = by_name("array", array, {each.name: each for each in draft.scop.arrays})
    step = _Step(draft, place, wide, size, what)
    versions = [list(step.versions(load, access)) for load, access in step.operands]
    if not any(versions):
        raise InputError(f"loop '{place.name}' reads no other elements of '{array}' than the one that it updates")
    return step.with_copies(versions)


@dataclass(frozen=True, kw_only=True)
class _Version:
    """A copy of elements that an iteration reads, all from before it, or all made by it."""

    load: Load  # in the reader
    access: Access
    readers: isl.Set
    makers: isl.Map  # { reader -> the instance that writes the element in the same iteration }
    is_late: bool  # made by it
    place: _Place
    copies: tuple[Statement, ...]

    def read(self, statement: Statement) -> tuple[Access, Load]:
        """Where a reader finds its element."""
        makers = isl.PwMultiAff.from_map(self.makers)
        at = [value_at(everywhere(makers.get_pw_aff(k)), statement.iterators) for k in self.place.kept]
        return self.place.access(self.makers), self.place.load(at)


@dataclass(frozen=True, kw_only=True)
class _Place:
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


class _Step:
    """A loop of which each iteration reads and writes an array."""

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
        self.domain = self.statement.domain.intersect_params(self.scop.context)
        arrivals = coordinates_of(place.bands, own)
        self.together = isl.Map.from_union_map(arrivals.apply_range(arrivals.reverse()))

    @property
    def operands(self) -> Iterator[tuple[Load, Access]]:
        """What it reads of the array but for the element that it updates."""
        space = AffineSpace(self.statement.name, self.statement.iterators, self.scop.function.sizes)
        target = Load(self.wide.name, self.store.index, self.wide.dtype)
        loads = {node: None for node in walk(self.store.value) if isinstance(node, Load) and node.array == target.array}
        for load in loads:
            if load.index == target.index:
                continue
            try:
                maps = (isl.Map.from_pw_aff(space.function(each)) for each in load.index)
                relation = reduce(isl.Map.flat_range_product, maps).set_tuple_name(isl.dim_type.out, self.wide.name)
            except NotAffine as error:
                raise InputError(f"{self.what}: subscript '{error.expr}' is not affine") from None
            same = (a for a in self.statement.reads if a.array == target.array and self._is_on(relation, a))
            if (access := next(same, None)) is None or not access.must:
                raise InputError(f"{self.statement.name} may not read '{self.wide.name}' there at all")
            yield load, access

    def _is_on(self, relation: isl.Map, access: Access) -> bool:
        return bool(relation.intersect_domain(self.domain).is_equal(access.relation.intersect_domain(self.domain)))

    def versions(self, load: Load, access: Access) -> Iterator[_Version]:
        """The copies that the readers of this operand need."""
        read = access.relation.intersect_domain(self.domain)
        write = self.write.relation.intersect_domain(self.domain)
        makers = read.apply_range(write.reverse()).intersect(self.together)
        if not makers.is_single_valued() or not makers.domain().is_equal(self.domain):
            raise InputError(f"an iteration of loop '{self.place.name}' does not write all that it reads, once each")
        late = self._fed_inside(access)
        for readers, is_late in ((self.domain.subtract(late), False), (late, True)):
            if not readers.is_empty():
                yield self._version(load, access, readers.coalesce(), makers, is_late=is_late)

    def _fed_inside(self, access: Access) -> isl.Set:
        """The instances that read by the access what their own iteration wrote."""
        number = self.statement.reads.index(access)
        try:
            apart = told_apart(self.scop, self.draft.nested)
            require_exact(apart, self.wide.name)
            found = sources(apart, self.wide.name)
        except (BudgetExceeded, IllegalSchedule) as error:
            raise IllegalSchedule(f"{self.what}: {error}") from error
        own = (s.instances for s in found if s.reader == s.writer == self.statement.name and s.read == number)
        return reduce(isl.Set.union, (each.intersect(self.together).domain() for each in own), _nothing(self.domain))

    def _version(
        self, load: Load, access: Access, readers: isl.Set, makers: isl.Map, *, is_late: bool
    ) -> _Version:
        makers = makers.intersect_domain(readers).coalesce()
        place = self._place_of(makers.range().coalesce())
        return _Version(
            load=load, access=access, readers=readers, makers=makers, is_late=is_late, place=place, copies=()
        )

    def _place_of(self, made: isl.Set) -> _Place:
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
        name = free(f"kept_{self.wide.name}", self.taken)
        self.taken.add(name)
        array = Array(name, self.wide.dtype, tuple(shape), "global")
        return _Place(array=array, kept=kept, turns=turns, size=self.size)

    def _counts(self, k: int) -> bool:
        """Is the loop's value that iterator of the statement?"""
        value = isl.Map.from_union_map(self.place.member.schedule.intersect_domain(isl.UnionSet.from_set(self.domain)))
        own = isl.along(self.domain.identity(), k)
        return bool(value.is_equal(own))

    def _copied(self, version: _Version, clones: Sequence[Statement]) -> _Version:
        """The version with statements that copy it: late ones by what writes the elements."""
        made = version.makers.range().coalesce()
        parts = [made.intersect(each.domain.set_tuple_name(self.statement.name)) for each in clones]
        parts = [part for part in parts if not part.is_empty()] if version.is_late else [made]
        return replace(version, copies=tuple(self._copy(version.place, part) for part in parts))

    def _copy(self, place: _Place, made: isl.Set) -> Statement:
        s, name = self.statement, free(f"keep_{self.wide.name}", self.taken)
        self.taken.add(name)
        domain = made.coalesce().set_tuple_name(name)
        for k, iterator in enumerate(s.iterators):
            domain = domain.set_dim_name(isl.dim_type.set, k, iterator)
        here = domain.identity().set_tuple_name(isl.dim_type.out, s.name)
        target = place.load([Var(each) for each in s.iterators if s.iterators.index(each) in place.kept])
        return Statement(
            name=name,
            iterators=s.iterators,
            domain=domain,
            reads=(Access(array=self.wide.name, relation=here.apply_range(self.write.relation)),),
            writes=(place.access(here),),
            body=(Store(target.array, target.index, Load(self.wide.name, self.store.index, self.wide.dtype)),),
            loc=s.loc,
        )

    def with_copies(self, versions: Sequence[Sequence[_Version]]) -> Draft:
        """The draft with the copies, and a statement for each combination of what is read."""
        clones = list(self._clones(versions))
        every = [self._copied(version, clones) for each in versions for version in each]
        own = (*clones, *(copy for version in every for copy in version.copies))
        changed = tuple(part for s in self.scop.statements for part in (own if s is self.statement else (s,)))
        others = (s.domain.identity() for s in self.scop.statements if s is not self.statement)
        same = (each.domain.identity().set_tuple_name(isl.dim_type.out, self.statement.name) for each in clones)
        origin = isl.union_map((*others, *same))
        arrays = (*self.scop.arrays, *(version.place.array for version in every))
        kills = origin.apply_range(self.scop.kills).coalesce()
        scop = replace(self.scop, statements=changed, arrays=arrays, kills=kills)
        tree = self._placed(copied(self.draft.nested, origin), [each.name for each in clones], every)
        return require_same_values(self.draft, scop, tree, origin, self.what)

    def _clones(self, versions: Sequence[Sequence[_Version]]) -> Iterator[Statement]:
        s = self.statement
        names = iter([s.name])
        for chosen in product(*versions):
            domain = reduce(isl.Set.intersect, (each.readers for each in chosen), s.domain)
            if domain.is_empty():
                continue
            name = next(names, "") or free(f"{s.name}_2", self.taken)
            self.taken.add(name)
            yield _reading(s, domain.coalesce(), chosen, name)

    def _placed(self, tree: Tree, clones: Sequence[str], versions: Sequence[_Version]) -> Tree:
        """The tree with early copies when an iteration begins, and late ones right after what they copy."""
        leaf = (*self.place.path, *(0 for _ in self.inside))
        own = (each for each in isl.sets_of(_domain_of(tree)) if each.get_tuple_name() in clones)
        parts = [isl.UnionSet.from_set(each) for each in own]
        if len(parts) > 1:
            tree = changed_at(tree, leaf, lambda node: InOrder(tuple(Filter(part, node) for part in parts)))
        late_first = sorted(versions, key=lambda each: not each.is_late)  # early ones move the place of the others
        for each, copy in ((version, copy) for version in late_first for copy in version.copies):
            instances = isl.UnionSet.from_set(copy.domain)
            as_s = isl.UnionMap.from_map(copy.domain.identity().set_tuple_name(isl.dim_type.out, self.statement.name))
            rows = [as_s.apply_range(band.members[0].schedule) for band in (*self.place.bands, *self.inside[1:])]
            depth = len(self.place.bands)
            if each.is_late:
                tree = grafted(tree, leaf, Domain(instances, Leaf()), rows, before=False)
                continue
            members = [
                replace(band.members[0], schedule=row)
                for k, (band, row) in enumerate(zip(self.inside[1:], rows[depth:], strict=True))
                if _moves(row, rows[:depth])
            ]
            begun = Domain(instances, nest(members, Leaf()))
            tree = grafted(tree, (*self.place.path, 0), begun, rows[:depth], before=True)
        return tree


def _chain(place: Loop) -> Iterator[Band]:
    """The loop, and those right inside of each other in it."""
    node: Tree = place.band
    while isinstance(node, Band):
        yield node
        (node,) = children(node)


def _moves(row: isl.UnionMap, around: Sequence[isl.UnionMap]) -> bool:
    """Has a loop several values in one iteration of those around it?"""
    outer = reduce(isl.UnionMap.flat_range_product, around)
    return not outer.reverse().apply_range(row).is_single_valued()


def _reading(statement: Statement, domain: isl.Set, chosen: Sequence[_Version], name: str) -> Statement:
    """These instances of the statement, on the copies."""
    found = {version.load: version.read(statement) for version in chosen}
    relations = {version.access: found[version.load][0] for version in chosen}

    def of(accesses: tuple[Access, ...]) -> tuple[Access, ...]:
        now = (relations.get(each, each) for each in accesses)
        return tuple(
            replace(a, relation=a.relation.intersect_domain(domain).set_tuple_name(isl.dim_type.in_, name)) for a in now
        )

    body = rewrite(statement.body, lambda node: found[node][1] if isinstance(node, Load) and node in found else None)
    reads, writes = of(statement.reads), of(statement.writes)
    return replace(statement, name=name, domain=domain.set_tuple_name(name), reads=reads, writes=writes, body=body)


def _telling(instances: isl.Set) -> tuple[int, ...]:
    """The dimensions of which the values tell the instances apart, as few as possible, outer ones first."""
    kept = [*range(instances.dim(isl.dim_type.set))]
    for k in reversed(range(len(kept))):
        fewer = [each for each in kept if each != k]
        if fewer and _chosen(instances.identity(), fewer).is_injective():
            kept = fewer
    return tuple(kept)


def _chosen(pairs: isl.Map, dimensions: Sequence[int]) -> isl.Map:
    """{ S[i] -> [these dimensions of T] } for { S[i] -> T[j] }"""
    parts = [isl.along(pairs, k) for k in dimensions]
    return reduce(isl.Map.flat_range_product, parts)


def _nothing(instances: isl.Set) -> isl.Set:
    return instances.subtract(instances)


def _domain_of(tree: Tree) -> isl.UnionSet:
    assert isinstance(tree, Domain)
    return tree.domain
