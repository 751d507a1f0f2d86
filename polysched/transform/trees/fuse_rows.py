"""Row by row: sums along rows, what they start from and what is made of them, under one loop over the rows.

    sequence                                                 band: i  coincident
      filter: S    m[i] = max(m[i], x[i, j])                   sequence
        band: i, j                                               filter: S
      filter: T    e[i, j] = exp(x[i, j] - m[i])     ->            band: j
        band: i, j                                               filter: T
      filter: U    s[i] = s[i] + e[i, j]                           band: j
        band: i, j                                               filter: U
                                                                   band: j

A row then stays in the first cache from nest to nest, threads start once, and what lives within a row needs no memory
but that of one row. It pays where each sum runs on lanes along its row, so where its order is free and it reads
neighbours; not for products of matrices, of which rows share what they read. Legal where every dependence between the
nests stays within one row. As edits: the loops over rows go in front, and are fused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

from polysched.deps.coincidence import together
from polysched.deps.dependences import Dependences
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Filter, Member, Sequence, Tree, is_innermost
from polysched.support import isl
from polysched.transform.analysis.reductions import reduced
from polysched.transform.analysis.roles import Around, Loops, statements_of
from polysched.transform.trees.fuse_sums import are_same, as_one, either_way


def rows_to_fuse(tree: Tree, scop: Scop, dependences: Dependences) -> Iterator[Rows]:
    """Neighbours in sequences that have their rows in common, where one of them is a sum along rows; none if sums have
    an order."""
    if dependences.reorder_reductions:
        fusion = _Fusion(scop, dependences)
        for node, around in Around((), dependences.coincidence).walk(tree, inner_first=True):
            if isinstance(node, Sequence):
                yield from fusion.found(node, around)


@dataclass(frozen=True)
class Nest:
    """Loops over rows, and those inside of them."""

    rows: tuple[Member, ...]
    inner: tuple[Member, ...]
    instances: isl.UnionSet


@dataclass(frozen=True)
class Rows:
    """Coincident loops over rows, and the nests that have them, in their order."""

    members: tuple[Member, ...]
    nests: tuple[Nest, ...]

    @property
    def instances(self) -> isl.UnionSet:
        return reduce(isl.UnionSet.union, (nest.instances for nest in self.nests))


@dataclass(frozen=True)
class _Fusion:
    scop: Scop
    dependences: Dependences

    def found(self, tree: Sequence, around: Around) -> Iterator[Rows]:
        done: list[Filter] = []  # before the sum, and in no rows
        left = list(tree.children)
        while left:
            branch = left.pop(0)
            if (rows := self.of_sum(branch, around)) is None:
                done.append(branch)
                continue
            while done and (more := self.joined(rows, done[-1], around, is_before=True)):
                rows = more
                done.pop()
            while left and (more := self.joined(rows, left[0], around, is_before=False)):
                rows = more
                left.pop(0)
            if len(rows.nests) > 1:
                yield rows
                done = []
            else:
                done.append(branch)

    def of_sum(self, branch: Filter, around: Around) -> Rows | None:
        """The branch as rows, if it is a sum along them."""
        band = branch.child
        if not isinstance(band, Band) or not band.permutable or not is_innermost(band):
            return None
        members = tuple(member for member in band.members if member.coincident)
        serial = tuple(member for member in band.members if not member.coincident)
        if not members or not serial or not self.is_along_rows(band, around):
            return None
        return Rows(members, (Nest(members, serial, branch.filter),))

    def is_along_rows(self, band: Band, around: Around) -> bool:
        """Does each statement add up neighbours, of which rows share none, and may it do so in any order?"""
        rows = Band(tuple(member for member in band.members if member.coincident))
        inside = around.below(rows).reaching
        serial = [member for member in band.members if not member.coincident]
        if not all(reduced(member, self.dependences, inside) for member in serial):
            return False
        last = band.members.index(serial[-1])
        for statement in statements_of(band, self.scop):
            loops = Loops(statement, band, around)
            if not loops.move or None in loops.reads(last) or any(stride != 0 for stride in loops.writes(last)):
                return False
            if any(0 in loops.reads(k) for k, member in enumerate(band.members) if member.coincident):
                return False
        return True

    def joined(self, rows: Rows, other: Filter, around: Around, *, is_before: bool) -> Rows | None:
        """The rows with a neighbour in them; None if it has other rows, or nothing to do with these."""
        band = other.child
        if not isinstance(band, Band) or not band.permutable or not is_innermost(band):
            return None
        pairs = either_way(rows.instances, other.filter, around.reaching)
        own = self.own_members(rows, other.filter, band, pairs, around)
        if own is None:
            return None
        rest = tuple(member for member in band.members if member not in own)
        if any(not member.coincident for member in rest):
            if any(member.coincident for member in rest) or not self.is_along_rows(band, around):
                return None
        elif rest and not (self.has_rows(band, rest, around) and self.share(pairs, rows.instances, other.filter)):
            return None
        members = tuple(
            as_one(member, rows.instances, each, other.filter) for member, each in zip(rows.members, own, strict=True)
        )
        nest = Nest(own, rest, other.filter)
        return Rows(members, (nest, *rows.nests) if is_before else (*rows.nests, nest))

    def own_members(
        self, rows: Rows, other: isl.UnionSet, band: Band, pairs: isl.UnionMap, around: Around
    ) -> tuple[Member, ...] | None:
        """The members of the band that run over the same rows; None if there are none."""
        instances, others = (each.intersect(self.scop.domain) for each in (rows.instances, other))
        own: list[Member] = []
        for member in rows.members:
            for each in band.members:
                if each.coincident and each not in own:
                    common = as_one(member, rows.instances, each, other)
                    if pairs.is_subset(together(common)) and are_same((member,), instances, (each,), others):
                        own.append(each)
                        break
            else:
                return None
        outer = around.members
        is_same = are_same((*outer, *rows.members), instances, (*outer, *own), others)
        return tuple(own) if is_same else None

    def has_rows(self, band: Band, rest: Iterable[Member], around: Around) -> bool:
        """Does one of the loops that are left go from neighbour to neighbour?"""
        statements = [Loops(statement, band, around) for statement in statements_of(band, self.scop)]
        if not all(loops.move for loops in statements):
            return False
        places = [band.members.index(member) for member in rest]
        return any(all(None not in (*loops.reads(k), *loops.writes(k)) for loops in statements) for k in places)

    def share(self, pairs: isl.UnionMap, one: isl.UnionSet, other: isl.UnionSet) -> bool:
        """Does one use what the other makes, or do both read an array?"""
        return not pairs.is_empty() or bool(self.arrays(one) & self.arrays(other))

    def arrays(self, instances: isl.UnionSet) -> set[str]:
        names = {each.get_tuple_name() for each in isl.sets_of(instances)}
        return {access.array for s in self.scop.statements if s.name in names for access in s.reads}
