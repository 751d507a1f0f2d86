"""What each loop of a nest is good for: the strides of its accesses tell.

    C[i, j] += A[i, k] * B[k, j]        k leaves C in place:      serial, around a block of C
                                        i leaves B in place:      unrolled, so that B is loaded once for all rows
                                        j has unit strides:       SIMD

Which loop of a permutable band has the shortest strides, to run innermost.

    for i: for j: for k: C[i, j] += A[i, k] * B[k, j]       along j: C 1, A 0, B 1       along k: C 0, A 1, B far

    band: i, j, k       ->       band: i, k, j        reorder("i", "k", "j")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

from polysched.deps.coincidence import carried, in_one, left_below
from polysched.model.scop import Access, Scop, Statement
from polysched.model.tree.nodes import Band, Filter, Member, Tree, children
from polysched.support import isl
from polysched.support.remembered import remembered


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Positions of the members of a band; None where no member fits."""

    serial: int  # what the statement writes stays in place along it
    unrolled: int | None  # so does something that it reads
    vector: int | None  # parallel when innermost; written elements step by one
    gathers: int = 0  # reads that step further than by one along `vector`
    sums: tuple[int, ...] = ()  # what the statement writes stays in place along them too

    def rows_and_columns(self, band: Band) -> tuple[Member | None, Member | None]:
        """The members that are unrolled and that run as SIMD."""
        unrolled, vector = (None if k is None else band.members[k] for k in (self.unrolled, self.vector))
        return unrolled, vector


@dataclass(frozen=True)
class Around:
    """What is above a band: the members of the bands there, the dependences that nothing there orders, and what the
    filters there let pass, None for all."""

    members: tuple[Member, ...]
    reaching: isl.UnionMap
    passing: isl.UnionSet | None = None

    def below(self, tree: Tree) -> Around:
        """The same for the children of `tree`."""
        members = tree.members if isinstance(tree, Band) else ()
        passing = self.passing
        if isinstance(tree, Filter):
            passing = tree.filter if passing is None else passing.intersect(tree.filter)
        return Around((*self.members, *members), left_below(tree, self.reaching), passing)

    def instances(self, statements: isl.UnionSet) -> isl.UnionSet:
        """Those of the instances that get here."""
        return statements if self.passing is None else statements.intersect(self.passing)

    def walk(
        self, tree: Tree, is_left_alone: Callable[[Tree], object] = lambda node: None, *, inner_first: bool = False
    ) -> Iterator[tuple[Tree, Around]]:
        """The node and those below it, each with what is above it, parents first or last; but for what is left alone,
        with all that is below."""
        if is_left_alone(tree):
            return
        if not inner_first:
            yield tree, self
        below = self.below(tree)
        for child in children(tree):
            yield from below.walk(child, is_left_alone, inner_first=inner_first)
        if inner_first:
            yield tree, self


def roles(statement: Statement, band: Band, around: Around) -> Roles | None:
    """The roles of the members of a permutable `band` for one of its statements; None if its loops reuse nothing that
    it writes."""
    loops = Loops(statement, band, around)
    members = range(len(band.members))
    if not loops.move:
        return None
    serial = [k for k in members if all(s == 0 for s in loops.writes(k))]
    if not serial:
        return None
    vectors = [k for k in members if k not in serial and None not in loops.writes(k) and loops.is_parallel(k)]
    vector = min(vectors, key=lambda k: loops.reads(k).count(None), default=None)
    rows = [k for k in members if k not in serial and k != vector and 0 in loops.reads(k)]
    if vector is None and not rows:
        return None
    gathers = 0 if vector is None else loops.reads(vector).count(None)
    if vector is not None and gathers and not rows:
        rows, vector, gathers = [vector], None, 0  # a dot product for each row: rows at a time, nothing else loaded
    *sums, last = serial
    unrolled = rows[0] if rows else None
    return Roles(serial=last, unrolled=unrolled, vector=vector, gathers=gathers, sums=tuple(sums))


def statements_of(band: Band, scop: Scop) -> Iterator[Statement]:
    """The statements that reach the band, in source order."""
    names = {relation.get_tuple_name(isl.dim_type.in_) for relation in isl.maps_of(band.members[0].schedule)}
    return (s for s in scop.statements if s.name in names and not s.domain.is_empty())


@dataclass(frozen=True)
class Loops:
    """How one statement moves along the members of a band."""

    statement: Statement
    band: Band
    around: Around

    @cached_property
    def steps(self) -> list[isl.Map | None]:
        outer = self.around.members
        every = (*outer, *self.band.members)
        return [step(self.statement, every, len(outer) + k) for k in range(len(self.band.members))]

    @property
    def move(self) -> bool:
        """Does the statement move with every loop, the others standing?"""
        return all(along is not None for along in self.steps)

    def stay(self, members: Iterable[int]) -> bool:
        """Does what the statement writes stay in place along these, and move with all others?"""
        return self.move and all(step == 0 for k in members for step in self.writes(k))

    def writes(self, k: int) -> list[int | None]:
        along = self.steps[k]
        assert along is not None
        return [stride(access, along) for access in self.statement.writes]

    def reads(self, k: int) -> list[int | None]:
        along = self.steps[k]
        assert along is not None
        return [stride(access, along) for access in self.statement.reads]

    def is_parallel(self, k: int) -> bool:
        """Are the iterations of member k independent when it is innermost?"""
        own = isl.UnionSet.from_set(isl.Set.universe(self.statement.domain.get_space()))
        reaching = self.around.reaching.intersect_domain(own).intersect_range(own)
        for position, member in enumerate(self.band.members):
            if position != k:
                reaching = in_one(member, reaching)
        return bool(carried(self.band.members[k], reaching).is_empty())


def nearest(band: Band, scop: Scop, outer: tuple[Member, ...]) -> int:
    """Which member of the band leads to the fewest far elements when it is innermost; the last of several."""
    far = far_along(band, scop, outer)
    return min(range(len(far)), key=lambda k: (far[k], -k))


def far_along(band: Band, scop: Scop, outer: tuple[Member, ...]) -> list[int]:
    """How many accesses step further than by one along each member."""
    every = (*outer, *band.members)
    return [far_accesses(scop, every, len(outer) + k)[0] for k in range(len(band.members))]


def far_accesses(scop: Scop, loops: tuple[Member, ...], innermost: int) -> tuple[int, int]:
    """How many accesses step by more than one element when `loops[innermost]` steps and the other loops stand: all of
    them, and the writes."""
    reads = writes = 0
    for statement in scop.statements:
        along = step(statement, loops, innermost)
        if along is not None:
            reads += sum(stride(access, along) is None for access in statement.reads)
            writes += sum(stride(access, along) is None for access in statement.writes)
    return reads + writes, writes


def iterators(statement: Statement) -> list[isl.Aff]:
    """{ S[i, j] -> [i] }, { S[i, j] -> [j] }"""
    space = isl.LocalSpace.from_space(statement.domain.get_space())
    return [isl.Aff.var_on_domain(space, isl.dim_type.set, k) for k in range(statement.depth)]


def step(statement: Statement, loops: tuple[Member, ...], innermost: int) -> isl.Map | None:
    """{ S[x] -> S[x'] }: to the next instance along `loops[innermost]`, the others standing; None when the statement
    does not move with it."""
    steps = []
    for k, member in enumerate(loops):
        one = _step(member.schedule, statement.domain, _NEXT if k == innermost else _SAME)
        if one is None:
            return None
        steps.append(one)
    along = reduce(isl.Map.intersect, steps)
    return None if along.is_empty() else along


@remembered
def _step(schedule: isl.UnionMap, domain: isl.Set, ahead: isl.Map) -> isl.Map | None:
    """{ S[x] -> S[x'] } whose values are so far apart, of the statement with this domain; None if it has none."""
    for own in isl.maps_of(schedule):
        if own.get_tuple_name(isl.dim_type.in_) == domain.get_tuple_name() and not own.is_empty():
            return own.apply_range(ahead).apply_range(own.reverse())
    return None


_NEXT, _SAME = isl.Map("{ [x] -> [x + 1] }"), isl.Map("{ [x] -> [x] }")


def stride(access: Access, along: isl.Map, near: int = 1) -> int | None:
    """0 if the access stays, 1 if it may also step by one, or what is `near`, along its last dimension, None if it goes
    further."""
    deltas = access.relation.reverse().apply_range(along).apply_range(access.relation).deltas()
    if deltas.is_subset(_box(deltas, 0)):
        return 0
    return 1 if deltas.is_subset(_box(deltas, near)) else None


def _box(deltas: isl.Set, reach: int) -> isl.Set:
    """Distances of at most `reach` along the last dimension, and of zero along the others."""
    box = isl.Set.universe(deltas.get_space())
    rank = deltas.dim(isl.dim_type.set)
    for k in range(rank):
        most = reach if k == rank - 1 else 0
        box = box.lower_bound_val(isl.dim_type.set, k, isl.Val(-most))
        box = box.upper_bound_val(isl.dim_type.set, k, isl.Val(most))
    return box
