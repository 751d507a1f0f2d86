"""From a schedule tree to a grid of threads: coincident loops on blocks and threads, the rest as loops.

    band: i, j  coincident              mark: map:block.y    band: floor(i/64)
          k                   ->        mark: map:block.x    band: floor(j/64)
                                        mark: map:thread.y   band: floor(i/8)
                                        mark: map:thread.x   band: floor(j/4)
                                        band: floor(k/16), k
                                        mark: unroll         band: i
                                        mark: unroll         band: j

Loops outside of the first coincident band stay on the host; so does one loop after the other of a band in which none
is parallel, until what is inside is. A loop over several statements is distributed where that makes more loops
parallel. Where none becomes so, wavefronts of a permutable band are launched one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from polysched import isl
from polysched.codegen.gpu.grid import Axis, Grid, choose_grid, extent
from polysched.codegen.gpu.nest import Nest, alone, loops_among
from polysched.codegen.gpu.sums import sum_on_blocks, sums_in_teams
from polysched.deps.coincidence import mark_under
from polysched.deps.dependences import Dependences
from polysched.deps.phases import is_kernel
from polysched.model.scop import Scop
from polysched.model.tree import (
    Band,
    Leaf,
    LoopMark,
    Map,
    Member,
    Sequence,
    Tree,
    Unroll,
    children,
    with_children,
)
from polysched.options import Options
from polysched.transform.distribute import distribute
from polysched.transform.fuse_sums import are_same
from polysched.transform.roles import Around
from polysched.transform.split import split
from polysched.transform.tile import block_of
from polysched.transform.unskew import in_order, unskew, upright
from polysched.transform.wavefront import wavefront_of_points


def map_to_gpu(tree: Tree, scop: Scop, dependences: Dependences, options: Options | None = None) -> Tree:
    """`tree` with the outermost coincident members of each nest on blocks and threads."""
    return Mapping(scop, dependences, options or Options()).mapped(tree, Around((), dependences.coincidence))


@dataclass(frozen=True)
class Mapping:
    """What to do with each band of a nest."""

    scop: Scop
    dependences: Dependences
    options: Options

    def mapped(self, tree: Tree, around: Around) -> Tree:
        if isinstance(tree, Band):
            band = self.flagged(tree, around)
            return self.mapped_band(band, around) if band.members else self.mapped(band.child, around)
        below = around.below(tree)
        return with_children(tree, tuple(self.mapped(child, below) for child in children(tree)))

    def mapped_band(self, band: Band, around: Around) -> Tree:
        """The band on a grid, or several that its loops are distributed to, or inside of its first loop on the host."""
        own, is_box = parallelism(band), all(map(self.is_bounded, band.members))
        parts = distribute(band, around.reaching)
        if parts is not None and (self.gains_apart(parts, own, around) or not is_box):
            return self.mapped(parts, around)
        if own == 1 and self.gains_inside_of_first(band, around):
            return self.on_host(serial_first(band), around)
        if own and is_box:
            nest = self.nest_of(band, around)
            sums = sums_in_teams(nest, self.scop, self.dependences, around)
            return sums.tree if sums else self.on_grid(nest, choose_grid(nest.band, self.scop, around, self.options))
        if (sums := sum_on_blocks(band, self.scop, self.dependences, around)) is not None:
            return sums.tree
        if not own and (pieces := split(band, around.reaching, self.scop.domain)) is not None:
            return self.mapped(pieces, around)
        if own:
            band = serial_first(band)
        on_host = self.on_host(band, around)
        if len(band.members) > 1 and band.permutable and host_loops(on_host) > 1:
            front = wavefront_of_points(band)
            skewed = replace(front, child=self.mapped(front.child, around.below(front)))
            return skewed if host_loops(skewed) == 1 else on_host
        return on_host

    def on_host(self, band: Band, around: Around) -> Tree:
        """The first loop on the host, around what is made of the others."""
        host = Band(band.members[:1], band.permutable)
        inner = replace(band, members=band.members[1:]) if len(band.members) > 1 else band.child
        return replace(host, child=self.mapped(inner, around.below(host)))

    def gains_inside_of_first(self, band: Band, around: Around) -> bool:
        """Does the first of several serial loops on the host make a grid of more than one dimension? Threads along one
        alone would have all the others to themselves."""
        first, *others = serial_first(band).members
        if len(others) < 2 or others[0].coincident:
            return False
        below = around.below(Band((first,), band.permutable))
        flagged = self.flagged(replace(band, members=tuple(others)), below)
        return max(parallelism(flagged), *self.gains(distribute(flagged, below.reaching), below), 0) > 1

    def gains_apart(self, parts: Sequence, own: int, around: Around) -> bool:
        """Are more loops parallel in some of the parts than the `own` ones of the whole, and in none fewer?"""
        gains = self.gains(parts, around)
        return min(gains) >= own and max(gains) > own

    def gains(self, parts: Sequence | None, around: Around) -> list[int]:
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
        place = loops_among(band.child)
        if place is None or not all(member.coincident for member in band.members):
            return alone(_serial_last(band))
        assert isinstance(band.child, Sequence)
        part = band.child.children[place]
        inner = self.flagged(part.child, around.below(band).below(part))
        own = part.filter.universe()
        outer = tuple(replace(m, schedule=m.schedule.intersect_domain(own)) for m in band.members)
        one = _serial_last(replace(inner, members=(*outer, *inner.members)))
        every, mine = ((*around.members, *members) for members in (band.members, outer))
        is_sum = isinstance(inner.child, Leaf) and not any(member.coincident for member in inner.members)
        if not is_sum or not are_same(every, self.scop.domain, mine, self.scop.domain):
            return alone(_serial_last(band))
        return Nest(one, (*band.members, *one.members[len(outer) :]), band.child, place)

    def on_grid(self, nest: Nest, grid: Grid) -> Tree:
        """The band's members on the sides of the grid; planes for which there is no axis run in the thread."""
        band = replace(nest.band, members=nest.members)
        wide = grid.wide
        axes = dict(zip("xyz", reversed(wide), strict=False))
        threads = {axis: thread_of(band.members[side.member], side) for axis, side in axes.items()}
        blocks = {
            axis: block
            for axis, side in axes.items()
            if not self.is_single(block := block_of(band.members[side.member], side.threads * side.points))
        }
        free = ["w", *(axis for axis in "xyz" if axis not in blocks)]
        planes = [side.member for side in grid.sides if not side.is_wide]
        on_axes = planes[max(0, len(planes) - len(free)) :]
        blocks |= {free.pop(): band.members[k] for k in reversed(on_axes)}

        def points(tree: Tree) -> Tree:
            for side in reversed(wide):
                for member in reversed(_points_of(band.members[side.member], side)):
                    tree = _marked(Unroll(), member, tree)
            return tree

        taken = [*on_axes, *(side.member for side in wide)]
        left = [k for k, member in enumerate(band.members) if member.coincident and k not in taken]
        inner, tree = tuple(_serial(band, [*taken, *left], grid.chunks)), points(band.child)
        tree = nest.around(Band(inner, child=tree) if inner else tree, points)
        if left:
            tree = Band(tuple(band.members[k] for k in left), child=tree)
        for axis, member in threads.items():
            if axes[axis].threads > 1 and not self.is_single(member):
                tree = _marked(Map(f"thread.{axis}"), member, tree)
        for axis in (axis for axis in "xyzw" if axis in blocks):
            tree = _marked(Map(f"block.{axis}"), blocks[axis], tree)
        return tree

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
        return extent(member, self.instances) == 1

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


def host_loops(tree: Tree) -> int:
    """The most loops that run around a kernel, or around what runs on no threads."""
    if is_kernel(tree):
        return 0
    own = len(tree.members) if isinstance(tree, Band) else 0
    return own + max((host_loops(child) for child in children(tree)), default=0)


def _serial_last(band: Band) -> Band:
    """The band with the coincident members in front, which no dependence has a distance along, and the others as they
    run in a thread."""
    coincident = tuple(member for member in band.members if member.coincident)
    serial = in_order(replace(band, members=tuple(member for member in band.members if not member.coincident)))
    return replace(band, members=(*coincident, *serial.members), permutable=False)


def thread_of(member: Member, side: Axis) -> Member:
    """Which thread has a point: { S[i] -> [floor(i / points)] }, or [floor(i / vector) mod threads]."""
    if side.vector in (None, side.points):
        return block_of(member, side.points)
    rest = isl.UnionMap(f"{{ [x] -> [floor(x / {side.vector}) mod {side.threads}] }}")
    return replace(member, schedule=member.schedule.apply_range(rest))


def _points_of(member: Member, side: Axis) -> list[Member]:
    """The loops over the points of a thread."""
    if side.points == 1:
        return []
    if side.vector in (None, side.points):
        return [member]
    groups = block_of(member, side.threads * side.vector)
    return [groups] if side.vector == 1 else [groups, member]


def _serial(band: Band, taken: list[int], chunks: dict[int, int]) -> Iterator[Member]:
    """The members that are not on the grid, in their order; a loop over chunks around what runs in one."""
    for k, member in enumerate(band.members):
        if k in chunks:
            yield block_of(member, chunks[k])
        if k not in taken:
            yield member


def _marked(mark: LoopMark, member: Member, child: Tree) -> Band:
    return Band((replace(member, coincident=True, marks=(mark,)),), True, child)
