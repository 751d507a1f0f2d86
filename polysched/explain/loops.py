"""The loops of a tree with all that is asked of each: what is around it, in it, and beside it.

    for i:                  i      chain (i,)        inside a sequence
        b[i] = ...
        for j:              j      chain (j, k)      loop k directly in j
            for k: ...      k
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from polysched.deps.dependences import Dependences
from polysched.deps.distance import Distances, distances
from polysched.deps.reaching import Reaching, across, below, between, names_in, within
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import Band, Filter, InOrder, Member, Set, Tree, children, is_innermost, nest_of
from polysched.support import isl


@dataclass(frozen=True, kw_only=True)
class Nest:
    """What is explained: a scop, with what must stay in order in it."""

    scop: Scop
    dependences: Dependences
    chosen: frozenset[str]  # only the loops around these statements are told

    @property
    def reaching(self) -> Reaching:
        return self.dependences.of("flow", "anti", "output")

    def tells(self, instances: isl.UnionSet) -> bool:
        return not self.chosen.isdisjoint(names_in(instances))


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A loop of a tree with one member in each band."""

    nest: Nest
    band: Band
    around: tuple[Loop, ...]  # outermost first
    reaching: Reaching  # inside of one iteration of those around
    instances: isl.UnionSet
    before: Loop | None = None  # the loop that comes before it in a sequence
    above: Reaching = ()  # what reaches that sequence

    @property
    def member(self) -> Member:
        return self.band.members[0]

    @property
    def name(self) -> str:
        return self.member.name

    @cached_property
    def carried(self) -> Reaching:
        return between(self.reaching, self.member)

    @cached_property
    def inside(self) -> Reaching:
        """What is left in one of its iterations."""
        return within(self.reaching, (self.member,))

    @cached_property
    def chain(self) -> tuple[Member, ...]:
        """It and the loops in it with nothing in between."""
        return nest_of(self.band)[0]

    @property
    def last(self) -> Loop:
        """The innermost loop of its chain."""
        loop = self
        while isinstance(loop.band.child, Band):
            around = (*loop.around, loop)
            loop = replace(loop, band=loop.band.child, around=around, reaching=loop.inside, before=None, above=())
        return loop

    @property
    def outer(self) -> Loop | None:
        """The loop around it with nothing in between."""
        return self.around[-1] if self.around and self.around[-1].band.child is self.band else None

    @cached_property
    def distances(self) -> Distances:
        """Along its chain."""
        return distances(self.chain, self.reaching)

    @property
    def statements(self) -> tuple[Statement, ...]:
        names = names_in(self.instances)
        return tuple(s for s in self.nest.scop.statements if s.name in names)

    @property
    def is_innermost(self) -> bool:
        return is_innermost(self.band)

    @property
    def variable(self) -> str:
        """What the user calls it."""
        return self.statements[0].iterators[len(self.around)]

    @property
    def path(self) -> tuple[str, ...]:
        return self.statements[0].iterators[: len(self.around) + 1]

    @property
    def crossing(self) -> Reaching:
        """The dependences on it of the loop before it."""
        return across(self.above, self.before.instances, self.instances) if self.before else ()


def loops(tree: Tree, nest: Nest) -> tuple[Loop, ...]:
    """The loops of a tree with one member in each band, outer ones first."""
    return tuple(_loops(tree, nest, (), nest.reaching, nest.scop.domain))


def _loops(
    tree: Tree, nest: Nest, around: tuple[Loop, ...], reaching: Reaching, instances: isl.UnionSet
) -> Iterator[Loop]:
    match tree:
        case Band(child=child):
            loop = Loop(nest=nest, band=tree, around=around, reaching=reaching, instances=instances)
            yield loop
            yield from _loops(child, nest, (*around, loop), loop.inside, instances)
        case InOrder(children=branches) | Set(children=branches):
            before: Loop | None = None
            for branch in branches:
                own = instances.intersect(branch.filter)
                found = list(_loops(branch.child, nest, around, below(branch, reaching), own))
                first = found[0] if found and isinstance(branch.child, Band) else None
                if first is not None:
                    yield replace(first, before=before, above=reaching)
                    yield from found[1:]
                before = first
        case Filter(filter=filter, child=child):
            yield from _loops(child, nest, around, below(tree, reaching), instances.intersect(filter))
        case _:
            for child in children(tree):
                yield from _loops(child, nest, around, reaching, instances)
