"""How far around a tile of an array its values hang on others, step by step.

    for t:   S: B[i] = A[i - 1] + A[i] + A[i + 1]        S of the last step: 1 element on each side of the tile,
             R: A[i] = B[i - 1] + B[i] + B[i + 1]        R: none; one step before: 3 and 2; so each step adds 2

A tile has the instances that write to its elements. What these read was written `distance` elements away and `steps`
before: so the halo of the writer is at least that of the reader, and the distance, less what the steps have added. The
least halos that meet this for all dependences are found as longest paths are (Krishnamoorthy et al., PLDI 2007).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from polysched.deps.dependences import Dependence
from polysched.errors import IllegalSchedule
from polysched.model.scop import Statement
from polysched.support import isl

MOST_SLOPE = 8  # elements that a step adds on one side: more leave no room for a tile


@dataclass(frozen=True)
class Halo:
    """Of one side of the tile along one dimension: elements beyond it, by statement, in the last step; each step before
    has `slope` more."""

    slope: int
    last: Mapping[str, int]

    def at(self, statement: str, before: int) -> int:
        """The elements so many steps before the last one."""
        return self.last[statement] + self.slope * before


@dataclass(frozen=True)
class Halos:
    """Of a tile: below and above it along each dimension."""

    sides: tuple[tuple[Halo, Halo], ...]

    def points(self, statement: str, sizes: Sequence[int], before: int) -> int:
        """How many elements of a full tile the statement writes so many steps before the last one."""
        return prod(
            size + low.at(statement, before) + high.at(statement, before)
            for size, (low, high) in zip(sizes, self.sides, strict=True)
        )

    def redundant(self, statements: Iterable[str], sizes: Sequence[int], steps: int) -> float:
        """The share of what a full tile computes that others compute, too."""
        names = [*statements]
        every = sum(self.points(name, sizes, before) for name in names for before in range(steps))
        return 1 - len(names) * steps * prod(sizes) / every


@dataclass(frozen=True)
class Reach:
    """A dependence within few steps: the reader needs what the writer wrote so many steps before, and so many elements
    below and above, along each dimension."""

    writer: str
    reader: str
    steps: int
    sides: tuple[tuple[int, int], ...]


def halos(statements: Sequence[Statement], reaches: Sequence[Reach], dims: int) -> Halos:
    """The least for these dependences; IllegalSchedule where a step needs the whole array."""
    names = [statement.name for statement in statements]
    return Halos(tuple((_side(names, reaches, k, 0), _side(names, reaches, k, 1)) for k in range(dims)))


def _side(names: Sequence[str], reaches: Sequence[Reach], axis: int, side: int) -> Halo:
    for slope in range(MOST_SLOPE + 1):
        last = dict.fromkeys(names, 0)
        for _ in range(len(names) + 1):
            before = dict(last)
            for each in reaches:
                needed = last[each.reader] + each.sides[axis][side] - slope * each.steps
                last[each.writer] = max(last[each.writer], needed)
            if last == before:
                return Halo(slope, last)
    inside = next((each for each in reaches if not each.steps and each.sides[axis][side] > 0), reaches[0])
    what = f"{inside.reader} needs what {inside.writer} writes in the same step, and so on to the end of the array"
    raise IllegalSchedule(f"the halo of a tile has no bound: {what}")


def reaches_of(flow: Iterable[Dependence], places: Mapping[str, isl.Map], steps: int, context: isl.Set) -> list[Reach]:
    """Those within fewer than `steps` steps, where `places` has { S[i] -> [t, x] }, the time and the element written,
    for each statement; IllegalSchedule where a reader needs elements at any distance."""
    found = []
    for each in flow:
        pairs = each.relation.intersect_params(context)
        deltas = (
            pairs.apply_domain(places[each.source]).apply_range(places[each.sink]).deltas().project_out_all_params()
        )
        for before in range(steps):
            near = deltas.fix_val(isl.dim_type.set, 0, isl.Val(before))
            if not near.is_empty():
                sides = tuple(_sides(near, k, each) for k in range(1, near.dim(isl.dim_type.set)))
                found.append(Reach(each.source, each.sink, before, sides))
    return found


def _sides(deltas: isl.Set, axis: int, of: Dependence) -> tuple[int, int]:
    """How far below and above the reader's element the writer's is at most: deltas are reader less writer."""
    low, high = deltas.dim_min_val(axis), deltas.dim_max_val(axis)
    if not (low.is_int() and high.is_int()):
        raise IllegalSchedule(f"{of.sink} reads what {of.source} has written to '{of.array}' at any distance")
    return high.to_python(), -low.to_python()
