"""Row by row: sums along rows, what they start from and what is made of them, under one loop over the rows.

    sequence                                                 band: i  coincident
      filter: S    m[i] = max(m[i], x[i, j])                   sequence
        band: i, j                                               filter: S
      filter: T    e[i, j] = exp(x[i, j] - m[i])     ->            band: j
        band: i, j                                               filter: T
      filter: U    s[i] = s[i] + e[i, j]                           band: j
        band: i, j                                               filter: U
                                                                   band: j

    .reorder(...).fuse("i", "i_2", "i_3")       threads and lanes, or blocks (`blocks.py`), come later

A row then stays in the first cache from nest to nest, threads start once, and what lives within a row needs no memory
but that of one row. It pays where each sum runs on lanes along its row, so where its order is free and it reads
neighbors; not for products of matrices, of which rows share what they read. Legal where every dependence between the
nests stays within one row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from polysched.deps.dependences import Dependences
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Filter, InOrder, Member, Tree, is_innermost
from polysched.strategy.script import Script, names_of
from polysched.support import isl
from polysched.transform.analysis.reductions import reduced
from polysched.transform.analysis.roles import Around, Loops, statements_of
from polysched.transform.trees.fusion import Fused, Fusible, either_way, groups, matching


def fuse_rows(script: Script) -> None:
    """Each as one nest."""
    for found in list(rows_to_fuse(script.tree, script.scop, script.dependences)):
        are_fused(script, found)


def are_fused(script: Script, found: Fused) -> bool:
    """Are they one nest now?"""
    if not script.says(f"fuse_rows.{found.nests[0].members[0].name}", "a row stays in the cache from nest to nest"):
        return False
    fuse(script, found.nests)
    return True


def fuse(script: Script, nests: Sequence[Fusible]) -> None:
    """The loops that they have in common as one each, around the others."""
    for nest in nests:
        script.reorder(names_of([*nest.members, *nest.inner]))
    for alike in zip(*(names_of(nest.members) for nest in nests), strict=True):
        script.do("fuse", *script.in_order(alike))


# --- which nests have rows in common


def rows_to_fuse(tree: Tree, scop: Scop, dependences: Dependences) -> Iterator[Fused]:
    """Neighbors in sequences that have their rows in common, where one of them is a sum along rows; none if sums have
    an order."""
    if dependences.reorder_reductions:
        for node, around in Around((), dependences.coincidence).walk(tree, inner_first=True):
            if isinstance(node, InOrder):
                rows = _Rows(scop, dependences, around)
                yield from groups(node, rows.start, rows.join, lambda other, passed, is_before: bool(passed))


@dataclass(frozen=True)
class _Rows:
    scop: Scop
    dependences: Dependences
    around: Around

    def start(self, branch: Filter) -> Fused | None:
        """The branch as rows, if it is a sum along them."""
        band = branch.child
        if not isinstance(band, Band) or not band.permutable or not is_innermost(band):
            return None
        members = tuple(member for member in band.members if member.coincident)
        serial = tuple(member for member in band.members if not member.coincident)
        if not members or not serial or not self.is_along_rows(band):
            return None
        return Fused(members, (Fusible(members, serial, branch.filter),))

    def is_along_rows(self, band: Band) -> bool:
        """Does each statement add up neighbors, of which rows share none, and may it do so in any order?"""
        rows = Band(tuple(member for member in band.members if member.coincident))
        inside = self.around.below(rows).reaching
        serial = [member for member in band.members if not member.coincident]
        if not all(reduced(member, self.dependences, inside) for member in serial):
            return False
        last = band.members.index(serial[-1])
        for statement in statements_of(band, self.scop):
            loops = Loops(statement, band, self.around)
            if not loops.move or None in loops.reads(last) or any(stride != 0 for stride in loops.writes(last)):
                return False
            if any(0 in loops.reads(k) for k, member in enumerate(band.members) if member.coincident):
                return False
        return True

    def join(self, found: Fused, other: Filter, is_before: bool) -> Fused | None:
        """The rows with a neighbor in them; None if it has other rows, or nothing to do with these."""
        band = other.child
        if not isinstance(band, Band) or not band.permutable or not is_innermost(band):
            return None
        one, pairs = found.instances, either_way(found.instances, other.filter, self.around.reaching)
        own = matching(found.members, one, band.members, other.filter, pairs, self.scop.domain, self.around)
        if own is None:
            return None
        rest = tuple(member for member in band.members if member not in own)
        if any(not member.coincident for member in rest):
            if any(member.coincident for member in rest) or not self.is_along_rows(band):
                return None
        elif rest and not (self.has_rows(band, rest) and self.share(pairs, one, other.filter)):
            return None
        return found.joined(Fusible(own, rest, other.filter), first=is_before)

    def has_rows(self, band: Band, rest: Iterable[Member]) -> bool:
        """Does one of the loops that are left go from neighbor to neighbor?"""
        statements = [Loops(statement, band, self.around) for statement in statements_of(band, self.scop)]
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
