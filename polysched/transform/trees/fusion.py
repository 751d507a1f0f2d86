"""One nest for a sum, what it starts from and what is made of it: they run element by element.

    sequence                                             band: i, j  coincident
      filter: S    C[i, j] = 0                             sequence
        band: i, j                                           filter: S
      filter: T    C[i, j] += A[i, k] * B[k, j]    ->        filter: T
        band: i, j, k                                          band: k
      filter: U    C[i, j] = max(C[i, j], 0)                 filter: U
        band: i, j

An element then stays with the thread that adds it up: it is stored once, and never loaded where it starts from a
constant. Legal where every dependence between the nests stays within one iteration of the coincident loops of the sum.
All of their iterations are the same, so that what is best for the sum alone is best for all of it.

Tile loops in common: nests that share data run block by block, one after the other in each block.

    sequence                       band: S, T -> floor(j/64)     coincident      tile("j", ...), tile("j_2", ...)
      filter: S                      sequence                                    reorder("j_f", "i", "j"), ...
        band: i, j         ->          filter: S     band: i, j                  fuse("j_f", "j_2_f")
      filter: T                        filter: T     band: j, i
        band: j, i

What S has brought to the cache T finds there, and threads start once rather than twice. Legal where every dependence
between the nests stays within one value of their loops j. Done inside of other loops, which repeat it all.

Neighbors that run on lanes over the same iterations, to be one loop: a row is read once for two sums of it.

    sequence                                           sequence
      filter: S                                          filter: T0    s = 0
        mark: vector                                     filter: S, T
          band: j     e[j] = exp(x[j] - m)                 mark: vector, of s
      filter: T0      s = 0                     ->           band: j
      filter: T                                                sequence
        mark: vector, of s                                       filter: S
          band: j_2   s = s + e[j]                               filter: T         fuse("j", "j_2")

What stands between them and has nothing to do with the first goes before both. Legal where every dependence between the
two stays within one iteration. Done where one of them reduces: other loops the scheduler has fused, or left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

from polysched.deps.coincidence import together
from polysched.deps.dependences import Dependences
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Filter, InOrder, Leaf, Member, Tree, Vector, is_innermost, mark_of
from polysched.support import isl
from polysched.transform.analysis.reductions import with_serial_inside
from polysched.transform.analysis.roles import Around, Loops, statements_of


@dataclass(frozen=True)
class Fusible:
    """Loops that it may have in common with others, and those inside of them."""

    members: tuple[Member, ...]
    inner: tuple[Member, ...]
    instances: isl.UnionSet


@dataclass(frozen=True)
class Fused:
    """Coincident loops, and the nests that have them in common."""

    members: tuple[Member, ...]
    nests: tuple[Fusible, ...]

    @property
    def instances(self) -> isl.UnionSet:
        return reduce(isl.UnionSet.union, (nest.instances for nest in self.nests))

    def joined(self, nest: Fusible, *, first: bool = False) -> Fused:
        """One nest more in its loops."""
        one, pairs = self.instances, zip(self.members, nest.members, strict=True)
        members = tuple(as_one(member, one, each, nest.instances) for member, each in pairs)
        return Fused(members, (nest, *self.nests) if first else (*self.nests, nest))


def groups(
    sequence: InOrder,
    start: Callable[[Filter], Fused | None],
    join: Callable[[Fused, Filter, bool], Fused | None],
    is_blocked: Callable[[Filter, Sequence[Filter], bool], bool],
) -> Iterator[Fused]:
    """For each branch that may `start` a group, that with what can `join` it of all before, then of all after it, the
    nearest first. A branch `is_blocked` that may not pass those in between; the last argument says that it is before.
    """
    branches = list(sequence.children)
    for branch in sequence.children:
        found = start(branch) if any(branch is left for left in branches) else None
        if found is None:
            continue
        place, left_out = branches.index(branch), []
        for others, is_before in ((branches[:place][::-1], True), (branches[place + 1 :], False)):
            passed: list[Filter] = []
            for other in others:
                more = None if is_blocked(other, passed, is_before) else join(found, other, is_before)
                if more is None:
                    passed.append(other)
                else:
                    found = more
            left_out.append(passed)
        if len(found.nests) > 1:
            branches = [*reversed(left_out[0]), Filter(found.instances), *left_out[1]]
            yield found


def sums_to_fuse(tree: Tree, scop: Scop, dependences: Dependences) -> Iterator[Fused]:
    """Each nest that adds to one element in all of its serial loops, first of its group, with what stands in the same
    sequence and does something to that element alone."""
    for node, around in Around((), dependences.coincidence).walk(tree, inner_first=True):
        if isinstance(node, InOrder):
            sums = _Sums(scop, around)
            yield from groups(node, sums.start, sums.join, sums.is_blocked)


@dataclass(frozen=True)
class _Sums:
    scop: Scop
    around: Around

    def start(self, branch: Filter) -> Fused | None:
        """The branch as a nest of a sum; None if it is none, or has no parallel loop."""
        band = with_serial_inside(branch.child)
        if band is None:
            return None
        coincident = tuple(member for member in band.members if member.coincident)
        serial = [k for k, member in enumerate(band.members) if not member.coincident]
        loops = (Loops(statement, band, self.around) for statement in statements_of(band, self.scop))
        if not coincident or not serial or not all(each.stay(serial) for each in loops):
            return None
        return Fused(coincident, (Fusible(coincident, tuple(band.members[k] for k in serial), branch.filter),))

    def join(self, found: Fused, other: Filter, is_before: bool) -> Fused | None:
        """With the branch, by its own loops in the order of those that they can be one with; None if it has other
        loops, or nothing to do with the nests."""
        band, one = other.child, found.instances
        if not isinstance(band, Band) or not all(member.coincident for member in band.members):
            return None
        if len(band.members) != len(found.members) or not is_innermost(band):
            return None
        pairs = either_way(other.filter, one, self.around.reaching)
        if pairs.is_empty():
            return None
        own = matching(found.members, one, band.members, other.filter, pairs, self.scop.domain, self.around)
        return None if own is None else found.joined(Fusible(own, (), other.filter))

    def is_blocked(self, other: Filter, passed: Sequence[Filter], is_before: bool) -> bool:
        """Does anything that the branch would pass wait for it, or it for that?"""
        reaching = self.around.reaching if is_before else self.around.reaching.reverse()
        waited_for = reaching.intersect_domain(other.filter)
        return any(not waited_for.intersect_range(part.filter).is_empty() for part in passed)


def matching(
    members: Sequence[Member],
    one: isl.UnionSet,
    candidates: Sequence[Member],
    other: isl.UnionSet,
    pairs: isl.UnionMap,
    domain: isl.UnionSet,
    around: Around,
) -> tuple[Member, ...] | None:
    """The coincident candidates, loops around the instances of `other`, that run over the same iterations as the
    members do around `one`, in their order, all `pairs` within one of each; None if there are none."""
    instances, others = (each.intersect(domain) for each in (one, other))
    own: list[Member] = []
    for member in members:
        left = (each for each in candidates if each.coincident and each not in own)
        alike = (each for each in left if pairs.is_subset(together(as_one(member, one, each, other))))
        found = next((each for each in alike if are_same((member,), instances, (each,), others)), None)
        if found is None:
            return None
        own.append(found)
    are_alike = are_same((*around.members, *members), instances, (*around.members, *own), others)
    return tuple(own) if are_alike else None


def as_one(member: Member, one: isl.UnionSet, each: Member, other: isl.UnionSet) -> Member:
    """One loop for both: with the values of the member at the instances of one, and of `each` at those of the other."""
    inside = member.schedule.intersect_domain(one.universe())
    return replace(member, schedule=inside.union(each.schedule.intersect_domain(other.universe())))


def either_way(one: isl.UnionSet, other: isl.UnionSet, reaching: isl.UnionMap) -> isl.UnionMap:
    """The dependences from these instances to the others, and those back, turned round."""
    return reaching.union(reaching.reverse()).intersect_domain(one).intersect_range(other)


def are_same(
    one: Sequence[Member], instances: isl.UnionSet, other: Sequence[Member], others: isl.UnionSet
) -> bool:
    """Have the loops the same iterations around these instances and those, for all sizes for which both have any?

    No, if there are no such sizes.
    """
    found = [_values(members, within) for members, within in ((one, instances), (other, others))]
    sizes = found[0].params().intersect(found[1].params())
    if sizes.is_empty():
        return False
    return bool(found[0].intersect_params(sizes).is_equal(found[1].intersect_params(sizes)))


def _values(members: Sequence[Member], instances: isl.UnionSet) -> isl.UnionSet:
    return instances.apply(reduce(isl.UnionMap.flat_range_product, (member.schedule for member in members)))


# --- tile loops in common


def tiles_to_fuse(tree: Tree, dependences: Dependences) -> Iterator[tuple[Band, Member, Band, Member]]:
    """Two bands each that follow one another inside of other loops, with the loops that both may have in common."""
    for node, around in Around((), dependences.coincidence).walk(tree, inner_first=True):
        branches = list(node.children) if isinstance(node, InOrder) and around.members else []
        while len(branches) > 1:
            one, other = branches.pop(0), branches[0]
            if found := _in_common(one, other, around.reaching):
                yield found
                branches.pop(0)  # a loop over blocks has no other neighbor


def _in_common(one: Filter, other: Filter, reaching: isl.UnionMap) -> tuple[Band, Member, Band, Member] | None:
    """The parallel loops of two neighbors, of which all that they share stays within an iteration."""
    between = reaching.intersect_domain(one.filter).intersect_range(other.filter)
    if between.is_empty() or not (isinstance(one.child, Band) and isinstance(other.child, Band)):
        return None
    if min(len(one.child.members), len(other.child.members)) < 2:
        return None
    for first, second in product(one.child.members, other.child.members):
        both = first.schedule.intersect_domain(one.filter).union(second.schedule.intersect_domain(other.filter))
        if first.coincident and second.coincident and between.is_subset(together(Member(both))):
            return one.child, first, other.child, second
    return None


# --- loops on lanes


def lanes_to_join(
    tree: Tree, scop: Scop, dependences: Dependences, names: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """The names of two loops each, inner ones first: of loops on lanes, or of those `names` that will be."""
    joining = _Joining(scop, names)
    for node, around in Around((), dependences.coincidence).walk(tree, inner_first=True):
        if isinstance(node, InOrder) and around.members:
            yield from joining.pairs(node, around)


@dataclass(frozen=True)
class _Joining:
    scop: Scop
    names: Collection[str]

    def pairs(self, tree: InOrder, around: Around) -> Iterator[tuple[str, str]]:
        for k, part in enumerate(tree.children):
            one = self.last_on_lanes(tree.children[:k], part, around.reaching)
            if one is not None and (pair := self.pair(one, part, around)):
                yield pair

    def last_on_lanes(self, parts: Sequence[Filter], part: Filter, reaching: isl.UnionMap) -> Filter | None:
        """The last loop on lanes that may run as late as `part`."""
        if self.on_lanes(part) is None:
            return None
        for k in range(len(parts) - 1, -1, -1):
            if self.on_lanes(parts[k]) is not None:
                is_free = all(
                    either_way(parts[k].filter, later.filter, reaching).is_empty() for later in parts[k + 1 :]
                )
                return parts[k] if is_free else None
        return None

    def on_lanes(self, part: Filter) -> tuple[bool, Member] | None:
        """Whether the loop adds up, and itself, if the part is one on lanes without others in it."""
        match part.child:
            case Band(members=(member,), child=Leaf() | InOrder()) as band:
                if mark := mark_of(band, Vector):
                    return bool(mark.reduces), member
                return (not member.coincident, member) if member.name in self.names else None
        return None

    def pair(self, one: Filter, other: Filter, around: Around) -> tuple[str, str] | None:
        """Their names; None if neither adds up, or they have other iterations, or one waits for all of the other."""
        first, second = self.on_lanes(one), self.on_lanes(other)
        assert first is not None and second is not None
        (adds, member), (last_adds, last) = first, second
        common = as_one(member, one.filter, last, other.filter)
        if not (adds or last_adds):
            return None
        if not either_way(one.filter, other.filter, around.reaching).is_subset(together(common)):
            return None
        instances, others = (part.filter.intersect(self.scop.domain) for part in (one, other))
        are_alike = are_same((*around.members, member), instances, (*around.members, last), others)
        return (member.name, last.name) if are_alike else None
