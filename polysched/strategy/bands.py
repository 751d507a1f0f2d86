"""What may be done with a band of a tree that goes to a GPU: what the strategy writes, and what it counts.

    parallel members          on a grid, the others inside of it
    several statements        distributed, where that makes more loops parallel
    few iterations            in one block, whose threads wait for each other, if no loop is parallel
    one parallel member       the first serial one on the host, where more are parallel inside
    none parallel             on blocks and threads that add up; in pieces; in wavefronts, launched one after the other,
                              where all loops but theirs are in kernels; or one iteration after the other on the host
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from polysched.config.heuristics.gpu import ONE_BLOCK
from polysched.config.machine import Gpu
from polysched.deps.coincidence import mark_under
from polysched.deps.dependences import Dependences
from polysched.deps.reaching import names_in
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, InOrder, Leaf, Member, Tree, children, walk
from polysched.strategy.grid import Nest, alone
from polysched.strategy.split_set import split
from polysched.strategy.straight import in_order, unskew, upright
from polysched.strategy.sums import Sums, sum_on_blocks
from polysched.support import isl
from polysched.transform.analysis.roles import Around
from polysched.transform.analysis.vectorize import runs_once
from polysched.transform.edits.base.loops import longest
from polysched.transform.trees.distribute import distribute
from polysched.transform.trees.fusion import are_same
from polysched.transform.trees.tile import block_of, front_of


@dataclass(frozen=True)
class Distributed:
    """The band for one part of what it runs after the other."""

    parts: InOrder


@dataclass(frozen=True)
class InPieces:
    """The band for one set of iterations after the other."""

    pieces: InOrder


@dataclass(frozen=True)
class InWavefronts:
    """A launch for each wavefront of the band."""

    band: Band


@dataclass(frozen=True)
class OnHost:
    """What is inside of the loop, once for each iteration."""

    loop: Band
    inside: Tree


@dataclass(frozen=True)
class InOneBlock:
    """The band on the threads of one block, inside of its first loop, of which a tile of that size has all values."""

    band: Band
    size: int


# Nest: on blocks and threads. Sums: on such that add up together.
Way = Distributed | InOneBlock | Nest | Sums | InPieces | InWavefronts | OnHost


@dataclass(frozen=True)
class Bands:
    """The bands of trees for these statements."""

    scop: Scop
    dependences: Dependences
    gpu: Gpu

    def ways(self, band: Band, around: Around) -> Iterator[Way]:
        """What may be done with a band as `flagged` gives it, the best first."""
        own, is_box = parallelism(band), all(map(self.is_bounded, band.members))
        if not own and (small := self.in_one_block(band, around)):
            yield small
        parts = distribute(band, around.reaching)
        if parts is not None and (not is_box or self.gains_apart(parts, own, around)):
            yield Distributed(parts)
        if own == 1 and not self.is_panel(band, around) and self.gains_inside_of_first(band, around):
            yield from self._on_host(serial_first(band), around)
        elif own and is_box:
            yield self.nest_of(band, around)
        elif (sums := sum_on_blocks(band, self.scop, self.dependences, around, self.gpu)) is not None:
            yield sums
            yield from self._on_host(serial_first(band), around)
        elif not own and (pieces := split(band, around.reaching, self.scop.domain)) is not None:
            yield InPieces(pieces)
        else:
            yield from self._on_host(serial_first(band), around)

    def in_one_block(self, band: Band, around: Around) -> InOneBlock | None:
        """The band with the loop in front inside of which most are parallel, if one block has the threads for all that
        the loops around leave of it, and they are more than one loop's."""
        least = self.longest_of(band, around)
        if len(band.members) < 2 or not around.members or least is None:
            return None
        firsts = band.members if band.permutable else band.members[:1]
        gains = [self.inside_of(first, band, around) for first in firsts]
        best = max(range(len(firsts)), key=lambda k: gains[k])
        if not gains[best][1]:
            return None
        others = (member for k, member in enumerate(band.members) if k != best)
        size = self.whole_tile(band.members[best], around, least)
        return InOneBlock(replace(band, members=(band.members[best], *others)), size) if size else None

    def whole_tile(self, member: Member, around: Around, least: int) -> int | None:
        """A size of tiles of which one has all values of the member in one of the loops around, a power of two if there
        is one."""
        own, outer = around.instances(self.instances), [each.schedule for each in around.members]
        powers = (1 << k for k in range(ONE_BLOCK.bit_length()) if 1 << k >= least)
        sizes = dict.fromkeys([*powers, *range(least, ONE_BLOCK + 1)])
        return next((size for size in sizes if longest(block_of(member, size).schedule, own, *outer) == 1), None)

    def is_panel(self, band: Band, around: Around) -> bool:
        """Are its serial loops so short, in tiles of the host's loops, that a thread runs them sooner than as many
        kernels are launched?"""
        serial = tuple(member for member in band.members if not member.coincident)
        is_in_tile = any(member.rounds for member in around.members)
        return is_in_tile and bool(serial) and self.longest_of(Band(serial), around) is not None

    def longest_of(self, tree: Tree, around: Around) -> int | None:
        """The most iterations of a loop of the tree in one of the loops around, if a block has threads for them."""
        own, outer = around.instances(self.instances), [member.schedule for member in around.members]
        members = [member for node in walk(tree) if isinstance(node, Band) for member in node.members]
        if not all(map(self.is_bounded, members)) and not any(member.rounds for member in around.members):
            return None
        lengths = [longest(member.schedule.intersect_domain(own), own, *outer) for member in members]
        sizes = [length for length in lengths if length is not None and length <= ONE_BLOCK]
        return max(sizes, default=0) if len(sizes) == len(lengths) else None

    def inside_of(self, first: Member, band: Band, around: Around) -> tuple[int, int]:
        """How many loops are parallel inside of that one: at least, and at most, in parts of it."""
        rest = tuple(member for member in band.members if member is not first)
        below = around.below(Band((first,), band.permutable))
        flagged = self.flagged(replace(band, members=rest), below)
        found = self.gains(distribute(flagged, below.reaching), below) or [parallelism(flagged)]
        return min(found), max(found)

    def _on_host(self, band: Band, around: Around) -> Iterator[Way]:
        """The first loop of the band, or wavefronts if a kernel is launched for each iteration of one loop then, rather
        than of several."""
        first, *others = band.members
        loop = Band((first,), band.permutable)
        inside = replace(band, members=tuple(others)) if others else band.child
        if others and band.permutable and self.host_loops(inside, around.below(loop)):
            front = Band((front_of(band.members),), child=inside)
            if not self.host_loops(inside, around.below(front)):
                yield InWavefronts(band)
        yield OnHost(loop, inside)

    def host_loops(self, tree: Tree, around: Around) -> int:
        """The most loops that stay on the host around a kernel, or around what runs on no threads."""
        if not isinstance(tree, Band):
            below = around.below(tree)
            return max((self.host_loops(child, below) for child in children(tree)), default=0)
        band = self.flagged(tree, around)
        if not band.members:
            return self.host_loops(band.child, around)
        match next(self.ways(band, around)):
            case Distributed(tree) | InPieces(tree):
                return self.host_loops(tree, around)
            case OnHost(loop, inside):
                return 1 + self.host_loops(inside, around.below(loop))
            case InWavefronts():
                return 1
            case _:
                return 0

    def gains_inside_of_first(self, band: Band, around: Around) -> bool:
        """Does the first of several serial loops on the host make a grid of more than one dimension? Threads along one
        alone would have all the others to themselves."""
        first, *others = serial_first(band).members
        if len(others) < 2 or others[0].coincident:
            return False
        below = around.below(Band((first,), band.permutable))
        flagged = self.flagged(replace(band, members=tuple(others)), below)
        return max(parallelism(flagged), *self.gains(distribute(flagged, below.reaching), below), 0) > 1

    def gains_apart(self, parts: InOrder, own: int, around: Around) -> bool:
        """Are more loops parallel in some of the parts than the `own` ones of the whole, and in none fewer?"""
        gains = self.gains(parts, around)
        return min(gains) >= own and max(gains) > own

    def gains(self, parts: InOrder | None, around: Around) -> list[int]:
        """The parallelism of each part."""
        branches = parts.children if parts is not None else ()
        return [parallelism(self.flagged(branch.child, around.below(branch))) for branch in branches]

    def flagged(self, tree: Tree, around: Around) -> Band:
        """The band, simplified inside of the host's loops and without loops of one iteration, with its coincident
        members marked; and those of a band directly below if all of its own are."""
        assert isinstance(tree, Band)
        band = unskew(tree, around.members)
        band = replace(band, members=tuple(member for member in band.members if not self.is_single(member)))
        found = mark_under(replace(band, child=Leaf()), around.reaching)
        assert isinstance(found, Band)
        found = replace(found, members=tuple(upright(m) if m.coincident else m for m in found.members))
        if isinstance(band.child, Band) and all(member.coincident for member in found.members):
            inner = self.flagged(band.child, around.below(found))
            return replace(inner, members=(*found.members, *inner.members))
        return replace(found, child=band.child)

    def nest_of(self, band: Band, around: Around) -> Nest:
        """The band with its coincident members in front; where it is around a sum and what runs at each element before
        and after it, that of the sum."""
        place = _loops_among(band.child)
        if place is None or not all(member.coincident for member in band.members):
            return alone(_serial_last(self.with_sums_inside(band, around)))
        assert isinstance(band.child, InOrder)
        part = band.child.children[place]
        below = around.below(band).below(part)
        inner = self.with_sums_inside(self.flagged(part.child, below), below)
        own = part.filter.universe()
        outer = band.within(own).members
        one = _serial_last(replace(inner, members=(*outer, *inner.members)))
        every, mine = ((*around.members, *members) for members in (band.members, outer))
        is_sum = isinstance(inner.child, Leaf) and not any(member.coincident for member in inner.members)
        if not is_sum or not are_same(every, self.scop.domain, mine, self.scop.domain):
            return alone(_serial_last(band))
        return Nest(one, (*band.members, *one.members[len(outer) :]), band.child, place)

    def with_sums_inside(self, band: Band, around: Around) -> Band:
        """The band with those right inside of it that run one statement serially: a sum may have loops of several."""
        if not isinstance(band.child, Band) or len(names_in(band.members[0].schedule.domain())) > 1:
            return band
        below = around.below(band)
        inner = self.with_sums_inside(self.flagged(band.child, below), below)
        if not isinstance(inner.child, Leaf) or any(member.coincident for member in inner.members):
            return band
        return replace(inner, members=(*band.members, *inner.members), permutable=False)

    def is_bounded(self, member: Member) -> bool:
        """Is there a bound on the member, the same for all statements? Grids are boxes."""
        values = self.scop.domain.apply(member.schedule)
        if values.is_empty():
            return True
        hull = isl.Set.from_basic_set(isl.Set.from_union_set(values).remove_divs().simple_hull())
        kind = isl.dim_type.set
        return bool(hull.dim_has_lower_bound(kind, 0) and hull.dim_has_upper_bound(kind, 0))

    def is_single(self, member: Member) -> bool:
        """Has the member one value?"""
        return runs_once(member, self.instances)

    @cached_property
    def instances(self) -> isl.UnionSet:
        """Those that there may be, of sizes in the context."""
        return self.scop.domain.intersect_params(self.scop.context)


def parallelism(band: Band) -> int:
    """The number of loops that may run in parallel, of which a grid has three."""
    return min(3, sum(member.coincident for member in band.members))


def serial_first(band: Band) -> Band:
    """The band with its coincident members last."""
    return replace(band, members=tuple(sorted(band.members, key=lambda member: member.coincident)))


def _serial_last(band: Band) -> Band:
    """The band with the coincident members in front, which no dependence has a distance along, and the others as they
    run in a thread."""
    coincident = tuple(member for member in band.members if member.coincident)
    serial = in_order(replace(band, members=tuple(member for member in band.members if not member.coincident)))
    return replace(band, members=(*coincident, *serial.members), permutable=False)


def _loops_among(tree: Tree) -> int | None:
    """The place in a sequence of the one part that has loops, if that is a band; None if `tree` is something else."""
    if not isinstance(tree, InOrder):
        return None
    parts = [k for k, part in enumerate(tree.children) if any(isinstance(node, Band) for node in walk(part))]
    return parts[0] if len(parts) == 1 and isinstance(tree.children[parts[0]].child, Band) else None
