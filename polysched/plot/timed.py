"""When a tree runs each instance, number by number, and which of these numbers are steps in time.

    band: i + j     S[0, 2]  time (2, 0)  step (2,)
      band: i       S[1, 1]  time (2, 1)  step (2,)     the same step: they may run at the same time

A step is a time without the numbers of parallel loops: those that carry no dependence inside of the loops around them.
The tile of an instance is its time up to its tile loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from polysched.deps.coincidence import carried, in_one, left_below
from polysched.model.tree.nodes import Band, Concurrent, Context, Domain, Filter, InOrder, Leaf, Mark, Member, Tree
from polysched.model.tree.nodes import Set as InAnyOrder
from polysched.support import isl

Points = Mapping[str, Sequence[isl.Point]]  # by statement


@dataclass(frozen=True)
class Column:
    """What one number of a time counts: the iterations of a loop, or else the place in a sequence."""

    member: Member | None = None
    place: int = 0
    is_parallel: bool = False
    is_tile: bool = False  # one of the outermost loops over tiles


@dataclass(frozen=True)
class Timed:
    """An instance, and when it runs."""

    statement: str
    point: tuple[int, ...]
    time: tuple[int, ...]
    columns: tuple[Column, ...]  # what each number of the time counts

    @property
    def step(self) -> tuple[int, ...]:
        """Instances of one step may run at the same time; steps run in lexicographic order."""
        return _serial(self.time, self.columns)

    @property
    def tile(self) -> tuple[int, ...]:
        """Instances of one tile have this in common; () if nothing around the statement is tiled."""
        return self.time[: self._tiled]

    @property
    def tile_step(self) -> tuple[int, ...]:
        """Tiles of one step may run at the same time."""
        return _serial(self.tile, self.columns[: self._tiled])

    @property
    def _tiled(self) -> int:
        return max((k + 1 for k, column in enumerate(self.columns) if column.is_tile), default=0)


def _serial(time: tuple[int, ...], columns: Sequence[Column]) -> tuple[int, ...]:
    return tuple(number for number, column in zip(time, columns, strict=True) if not column.is_parallel)


def timed(tree: Tree, points: Points, dependences: isl.UnionMap) -> tuple[Timed, ...]:
    """The instances at these points, by time; loops that carry none of the dependences are parallel.

    ValueError for a tree with Extensions.
    """
    found = (instance for leaf in _leaves(tree, points, (), dependences) for instance in leaf)
    return tuple(sorted(found, key=lambda instance: (instance.time, instance.statement, instance.point)))


def _leaves(
    tree: Tree, points: Points, path: tuple[Column, ...], reaching: isl.UnionMap
) -> Iterator[list[Timed]]:
    """The instances at each leaf; `reaching` are the dependences that nothing above the node orders."""
    match tree:
        case Leaf():
            yield [instance for name, some in points.items() for instance in _at(name, some, path)]
        case Band(members=members, child=child):
            for member in members:
                is_marked = any(isinstance(mark, Concurrent) for mark in member.marks)
                is_parallel = is_marked or carried(member, reaching).is_empty()
                path = (*path, Column(member, 0, is_parallel, is_tile(member, path)))
                reaching = in_one(member, reaching)
            yield from _leaves(child, points, path, reaching)
        case Filter(filter=filter, child=child):
            yield from _leaves(child, _passing(points, filter), path, left_below(tree, reaching))
        case InOrder(children=branches) | InAnyOrder(children=branches):
            for k, branch in enumerate(branches):
                yield from _leaves(branch, points, (*path, Column(place=k)), reaching)
        case Domain(child=child) | Context(child=child) | Mark(child=child):
            yield from _leaves(child, points, path, reaching)
        case _:
            raise ValueError(f"instances that a node {type(tree).__name__} adds have no place among the nest's")


def _at(statement: str, points: Sequence[isl.Point], path: tuple[Column, ...]) -> Iterator[Timed]:
    """The instances of a statement that arrive at a leaf by this path."""
    for point, *time in zip(points, *(_values(column, statement, points) for column in path), strict=True):
        yield Timed(statement, isl.coordinates(point), tuple(time), path)


def _values(column: Column, statement: str, points: Sequence[isl.Point]) -> list[int]:
    """The number that each point has in the column."""
    if column.member is None or not points:
        return [column.place] * len(points)
    functions = isl.maps_of(column.member.schedule)
    (function,) = (one for one in functions if one.get_tuple_name(isl.dim_type.in_) == statement)
    value = isl.PwMultiAff.from_map(function).get_pw_aff(0).align_params(points[0].get_space())
    return [value.eval(point).to_python() for point in points]


def _passing(points: Points, filter: isl.UnionSet) -> Points:
    passing = {part.get_tuple_name(): part for part in isl.sets_of(filter)}
    return {
        name: [point for point in some if isl.Set.from_point(point).is_subset(passing[name])]
        for name, some in points.items()
        if name in passing
    }


def is_tile(member: Member, path: tuple[Column, ...]) -> bool:
    """Does the loop inside of these go over tiles: the outermost there are, or right inside in another direction?"""
    around = [column for column in path if column.member is not None]
    tiles = [column.member for column in around if column.is_tile and column.member]
    if not member.rounds or (tiles and not around[-1].is_tile):
        return False
    return len(directions(member)) > 1 or not any(directions(member) == directions(tile) for tile in tiles)


def directions(member: Member) -> frozenset[str]:
    """What the member divides and rounds, for its first statement: `{ t + i }` of floor((t + i)/16)."""
    for aff in member.pieces:
        divisions = [aff.get_div(k) for k in range(aff.dim(isl.dim_type.div))]
        if divisions:
            return frozenset(str(div.scale_val(div.get_denominator_val())) for div in divisions)
    return frozenset()
