"""Cuts a tree into the loops over tiles and the loops inside a tile, so that isl generates each alone.

Loops over blocks and threads are loops over tiles too: a thread is a tile. So are loops whose iterations have arrays of
their own: all that uses such an array must stay in one block.

    band: floor(t/64) + floor((2t + i)/64)        band: c0               over the convex hull { tile0[c0, c1] : ... }
          floor((2t + i)/64)               ->           c1
    band: t                                       for every tile0[c0, c1]:
          2t + i                                      band: t, 2t + i    c0 and c1 being parameters

In one piece isl finds the exact set of non-empty tiles by eliminating t and i over the integers, which takes it
minutes where their coefficients are not one. The hull is found at once; a tile in it may be empty, and then its
loops run zero times. Nor can isl take the loop over tiles apart, so that equal values would land on different threads.
A tile is cut again where arrays of its own begin inside of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import count

from polysched.errors import CannotLower
from polysched.ir.nodes import Expr
from polysched.model.affine import everywhere, value_at
from polysched.model.tree.nodes import (
    Band,
    Context,
    Domain,
    Filter,
    InOrder,
    Leaf,
    Map,
    Member,
    Set,
    Storage,
    Tree,
    mark_of,
    marks_in,
    walk,
    with_children,
)
from polysched.support import isl


def cut_at_tiles(tree: Tree, sizes: tuple[str, ...]) -> tuple[Tree, tuple[tuple[Tile, Tree], ...]]:
    """`tree` down to the last bands that round or are mapped, over tiles, and these tiles, each with what it runs, over
    its parameters and those of the tiles around it; without such bands, `tree`.

    The names that tiles and their coordinates get differ from `sizes`. CannotLower if loops around arrays of their own
    have no bounds that are affine.
    """
    return _cut(tree, _names(sizes))


def _cut(tree: Tree, names: Iterator[str]) -> tuple[Tree, tuple[tuple[Tile, Tree], ...]]:
    if not isinstance(tree, Domain):
        raise ValueError("a schedule tree starts with a Domain")
    outer = _outer(tree.child, (), tree.domain, names, is_mapped=False)
    if not outer.tiles:
        return tree, ()
    pieces: list[tuple[Tile, Tree]] = []
    for tile in outer.tiles:
        inside, below = _cut(tile.tree, names) if any(map(_is_storage, walk(tile.inside))) else (tile.tree, ())
        pieces += [(tile, inside), *below]
    return Domain(_union((tile.hull for tile in outer.tiles), outer.plain), outer.tree), tuple(pieces)


def _names(sizes: tuple[str, ...]) -> Iterator[str]:
    """tile0, tile1, ..., or tile_0, ... if a size begins like that."""
    stems = ("tile" + "_" * k for k in count())
    stem = next(stem for stem in stems if not any(size.startswith(stem) for size in sizes))
    return (f"{stem}{k}" for k in count())


@dataclass(frozen=True)
class Tile:
    """Instances that share their bands down to the last one over tiles; a tile has one value of each member."""

    name: str
    members: tuple[Member, ...]  # of all bands around, outermost first
    instances: isl.UnionSet
    inside: Tree  # the order inside a tile
    is_mapped: bool = False  # is it one of a grid's?

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names for the coordinates of one tile."""
        return tuple(f"{self.name}_{k}" for k in range(len(self.members)))

    def quotients(self, statement: str, iterators: tuple[str, ...]) -> dict[Expr, str]:
        """The coordinates that divide and round, as expressions in the iterators: { i // 32: "tile0_0" }"""
        found = {}
        for name, member in zip(self.parameters, self.members, strict=True):
            for part in isl.maps_of(member.schedule) if member.rounds else ():
                if part.get_tuple_name(isl.dim_type.in_) == statement:
                    function = isl.PwMultiAff.from_map(part).get_pw_aff(0)
                    found[value_at(everywhere(function), iterators)] = name
        return found

    @property
    def tree(self) -> Tree:
        """The tree of one tile, over its `parameters`."""
        one = isl.UnionSet(f"[{self._parameters}] -> {{ {self.name}[{self._parameters}] }}")
        return Domain(self._tile_of.intersect_range(one).domain(), self.inside)

    @property
    def context(self) -> isl.Set:
        """What is known of the `parameters`: { : ... }"""
        one = isl.Map(f"[{self._parameters}] -> {{ {self.name}[{self._parameters}] -> [] }}")
        return self._hull.apply(one).params()

    @property
    def hull(self) -> isl.UnionSet:
        """{ tile0[c0, c1] }, all tiles that hold an instance, and some that do not."""
        return isl.UnionSet.from_set(self._hull)

    @property
    def is_bounded(self) -> bool:
        """Has each coordinate bounds in those before it? With the sizes free, the hull of bounded sets need not be
        bounded: { [i] : i = 0 or 0 <= i < n }."""
        hull, kind = self._hull, isl.dim_type.set
        for k in reversed(range(len(self.members))):
            if not (hull.dim_has_lower_bound(kind, k) and hull.dim_has_upper_bound(kind, k)):
                return False
            hull = hull.project_out(kind, k, 1)
        return True

    @cached_property
    def _hull(self) -> isl.Set:
        tiles = isl.Set.from_union_set(self._tile_of.range())
        return isl.Set.from_basic_set(tiles.remove_divs().simple_hull())

    @cached_property
    def _tile_of(self) -> isl.UnionMap:
        """{ S[t, i] -> tile0[c0, c1] }, of a grid with quotients in conditions, as t // 32, as the
        coordinates that they equal"""
        universe = self.instances.universe()  # products of functions without domains are cheap
        values = [member.schedule.intersect_domain(universe) for member in self.members]
        maps = isl.maps_of(reduce(isl.UnionMap.flat_range_product, values).intersect_domain(self.instances))
        named = (isl.UnionMap.from_map(m.set_tuple_name(isl.dim_type.out, self.name)) for m in maps)
        tile_of = reduce(isl.UnionMap.union, named)
        return tile_of.detect_equalities() if self.is_mapped and _has_quotients(self.instances) else tile_of

    @property
    def universe(self) -> isl.UnionSet:
        return isl.UnionSet(f"{{ {self.name}[{self._parameters}] }}")

    def coordinate(self, position: int) -> isl.UnionMap:
        """{ tile0[c0, c1] -> [c1] }"""
        return isl.UnionMap(f"{{ {self.name}[{self._parameters}] -> [{self.parameters[position]}] }}")

    @property
    def _parameters(self) -> str:
        return ", ".join(self.parameters)


def _has_quotients(instances: isl.UnionSet) -> bool:
    return any(basic.dim(isl.dim_type.div) for part in isl.sets_of(instances) for basic in part.get_basic_sets())


@dataclass(frozen=True)
class _Outer:
    """A tree over tiles, and over the instances in `plain`, which are in no tile."""

    tree: Tree
    tiles: tuple[Tile, ...]
    plain: isl.UnionSet


def _outer(
    tree: Tree, around: tuple[Member, ...], instances: isl.UnionSet, names: Iterator[str], *, is_mapped: bool
) -> _Outer:
    """`tree` down to where nothing below is over tiles any more; `names` are for the tiles, and a band around is over
    blocks or threads if `is_mapped`."""
    if instances.is_empty():
        return _Outer(Leaf(), (), instances)
    is_inside = (is_mapped or any(m.rounds for m in around)) and not _has_tiles(tree)
    if (is_inside and not isinstance(tree, Filter)) or (around and _is_storage(tree)):
        tile = Tile(next(names), around, instances, tree, is_mapped)
        if tile.is_bounded:
            return _Outer(Leaf(), (tile,), isl.UnionSet("{ }"))
        if _is_storage(tree):
            raise CannotLower("the loops around arrays of their own have no bounds")
    match tree:
        case Band(members=members, child=child):
            is_mapped = is_mapped or mark_of(tree, Map) is not None
            below = _outer(child, (*around, *members), instances, names, is_mapped=is_mapped)
            renamed = tuple(_over_tiles(m, len(around) + k, below) for k, m in enumerate(members))
            return replace(below, tree=replace(tree, members=renamed, child=below.tree))
        case Filter(filter=filter, child=child):
            below = _outer(child, around, instances.intersect(filter), names, is_mapped=is_mapped)
            return replace(below, tree=Filter(_union((t.universe for t in below.tiles), below.plain), below.tree))
        case InOrder(children=branches) | Set(children=branches):
            parts = [_outer(branch, around, instances, names, is_mapped=is_mapped) for branch in branches]
            tiles = tuple(tile for part in parts for tile in part.tiles)
            plain = _union((part.plain for part in parts), isl.UnionSet("{ }"))
            return _Outer(with_children(tree, tuple(part.tree for part in parts)), tiles, plain)
        case Context(context=context, child=child):  # without it, a hull over negative sizes may have no bound
            below = _outer(child, around, instances.intersect_params(context), names, is_mapped=is_mapped)
            return replace(below, tree=replace(tree, child=below.tree))
        case Leaf():
            return _Outer(tree, (), instances)
        case _:
            below = _outer(tree.child, around, instances, names, is_mapped=is_mapped)  # type: ignore[attr-defined]
            return replace(below, tree=with_children(tree, (below.tree,)))


def _is_storage(tree: Tree) -> bool:
    return mark_of(tree, Storage) is not None


def _has_tiles(tree: Tree) -> bool:
    """Is any band of the tree over tiles, blocks or threads?"""
    members = (member for node in walk(tree) if isinstance(node, Band) for member in node.members)
    return any(isinstance(mark, Map) for mark in marks_in(tree)) or any(member.rounds for member in members)


def _over_tiles(member: Member, position: int, below: _Outer) -> Member:
    coordinates = (tile.coordinate(position) for tile in below.tiles)
    plain = member.schedule.intersect_domain(below.plain)
    return replace(member, schedule=reduce(isl.UnionMap.union, coordinates, plain))


def _union(sets: Iterable[isl.UnionSet], first: isl.UnionSet) -> isl.UnionSet:
    return reduce(isl.UnionSet.union, sets, first)
