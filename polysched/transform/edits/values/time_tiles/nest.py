"""The nest in time tiles: its statements, arrays, tree, and what must stay in order there.

sequence
  begin_A
  band: t_o, t_p, x_b, y_b
    mark: storage:A_s, B_s
      sequence
        load_A:    x_t, y_t, x               strips of rows, which threads may have, and columns
        band: t    S_at: x_t_2, y_t_2, x_2; R_at: ...
        store_A:   ...
  end_A
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

from polysched.config.heuristics.gpu import THREADS
from polysched.deps.dependences import Dependences
from polysched.errors import IllegalSchedule
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import (
    Band,
    Domain,
    Filter,
    Full,
    InOrder,
    Leaf,
    Mark,
    Member,
    Storage,
    Tree,
    Unroll,
    children,
    with_children,
)
from polysched.support import isl
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.loops import Loop, free, loops, nest
from polysched.transform.edits.values.time_tiles.order import dependences_of
from polysched.transform.edits.values.time_tiles.parts import Part, Parts, simple

AXES = "xyzw"


@dataclass(frozen=True)
class Tiled:
    """The draft in which these parts stand in the place of the loop."""

    draft: Draft
    place: Loop
    parts: Parts
    rows: int

    @cached_property
    def scop(self) -> Scop:
        scop, own = self.draft.scop, self.parts.tiles.stencil
        gone = {s.name for s in own.statements}
        inside = (part.statement for part in (*self.parts.loads, *self.parts.steps, *self.parts.stores))
        left = (s for s in scop.statements if s.name not in gone)
        statements = (*left, *self.parts.begins, *inside, *self.parts.ends)
        used = {a.name for a in scop.function.arrays} | {x.array for s in statements for x in s.accesses}
        new = (*self.parts.kept.values(), *self.parts.small.values())
        arrays = tuple(a for a in (*scop.arrays, *new) if a.name in used)
        kills = scop.kills.subtract_domain(isl.union_set(s.domain for s in own.statements))
        return replace(scop, statements=statements, arrays=arrays, kills=kills)

    @cached_property
    def dependences(self) -> Dependences:
        every = [*self.parts.loads, *self.parts.steps, *self.parts.stores]
        before, after = self._outside
        own = {array.name for array in self.parts.small.values()}
        before, after = [*before, *self.parts.begins], [*self.parts.ends, *after]
        given = {s.name for s in self.draft.scop.statements}
        return dependences_of(self.draft.dependences, given, every, before, after, own)

    @cached_property
    def _outside(self) -> tuple[list[Statement], list[Statement]]:
        """The statements that run before the loop, and after it."""
        node, before, after = self.draft.nested, isl.UnionSet("{ }"), isl.UnionSet("{ }")
        for k in self.place.path:
            if isinstance(node, InOrder):
                before = reduce(isl.UnionSet.union, (each.filter for each in node.children[:k]), before)
                after = reduce(isl.UnionSet.union, (each.filter for each in node.children[k + 1 :]), after)
            node = children(node)[k]
        found = self.draft.scop.statements
        return (
            [s for s in found if not s.instances.is_disjoint(before)],
            [s for s in found if not s.instances.is_disjoint(after)],
        )

    def require_written(self, what: str) -> None:
        """IllegalSchedule if buffers would hold elements of the nest's own arrays that nothing has written before."""
        before, _ = self._outside
        for array in self.parts.with_buffers:
            if self.parts.is_own(array):
                accesses = ((s, each) for s in before for each in s.writes if each.array == array.name and each.must)
                written = isl.union_set(each.relation.intersect_domain(s.domain).range() for s, each in accesses)
                used = self.parts.buffered(array).intersect_params(self.draft.scop.context)
                if not isl.UnionSet.from_set(used).is_subset(written):
                    reason = f"buffers of '{array.name}' would be filled with elements that nothing has written before"
                    raise IllegalSchedule(f"{what}: {reason} loop '{self.place.name}'")

    # --- the tree

    @cached_property
    def _taken(self) -> set[str]:
        return {each.name for each in loops(self.draft.nested)} - {self.place.name} | {*self.parts.loops}

    @cached_property
    def tree(self) -> Tree:
        loads, steps, stores = (
            [self._in_box(part) for part in some] for some in (self.parts.loads, self.parts.steps, self.parts.stores)
        )
        time = isl.union_map(isl.along(part.time, 1) for part in self.parts.steps)
        inner = Band((Member(time, name=self._named(self.place.name)),), child=_sequence(steps))
        body = _sequence([*loads, Filter(_of(steps), inner), *stores])
        every = [*self.parts.loads, *self.parts.steps, *self.parts.stores]
        around = [
            Member(isl.union_map(isl.along(part.tile, k) for part in every), name=name)
            for k, name in enumerate(self.parts.loops)
        ]
        arrays = tuple(array.name for array in self.parts.small.values())
        tiles = Filter(_of([*loads, *steps, *stores]), nest(around, Mark(Storage(arrays), body)))
        whole = [*self._alone(self.parts.begins), tiles, *self._alone(self.parts.ends)]
        return _in_place(self.draft.nested, self.place.path, _sequence(whole), self.place.instances, self._domain)

    @property
    def _domain(self) -> isl.UnionSet:
        parts = self.parts
        every = (part.statement for part in (*parts.loads, *parts.steps, *parts.stores))
        return isl.union_set(s.domain for s in (*parts.begins, *every, *parts.ends))

    def _in_box(self, part: Part) -> Filter:
        """What it does in the box: in strips of rows, and in these along the other dimensions first."""
        smalls = {array.name for array in self.parts.small.values()}
        accesses = (*part.statement.writes, *part.statement.reads)
        place = simple(next(each.relation for each in accesses if each.array in smalls), part.statement)
        first, *others = (isl.UnionMap.from_map(isl.along(place, k)) for k in range(len(self.parts.tiles.sizes)))
        row, *columns = self.parts.tiles.extents
        members = [
            Member(_floor(first, self.rows), name=self._named(f"{AXES[0]}_t"), marks=(Full(-(-row // self.rows)),))
        ]
        for axis, values, extent in zip(AXES[1:], others, columns, strict=False):
            members.append(Member(values, name=self._named(f"{axis}_t"), marks=(Full(extent),)))
        members.append(Member(first, name=self._named(AXES[0]), marks=() if part.is_constant else (Unroll(),)))
        return Filter(part.statement.instances.universe(), nest(members, Leaf()))

    def _alone(self, copies: Sequence[Statement]) -> list[Filter]:
        """Copies of whole arrays, as one nest in blocks of strips: outside of these the time tile that they follow,
        inside of them the buffers that they fill."""
        if not copies:
            return []
        dims, threads = len(self.parts.tiles.sizes), THREADS[len(self.parts.tiles.sizes)]
        every = [isl.Map.identity(s.domain.get_space().map_from_set()) for s in copies]
        depth = every[0].dim(isl.dim_type.out)
        first, *rest = (isl.union_map(isl.along(each, k) for each in every) for k in range(depth))
        turns, (rows, *others) = [first, *rest][: depth - dims], [first, *rest][depth - dims :]
        blocks = [
            _floor(row, size) for row, size in zip((rows, *others), (self.rows * threads[0], *threads[1:]), strict=True)
        ]
        inner = [_floor(rows, self.rows), *others]
        names = [*(f"{axis}_b" for axis in AXES[:dims]), *(f"{axis}_t" for axis in AXES[:dims])]
        members = [Member(row, name=self._named(name)) for name, row in zip(names, (*blocks, *inner), strict=True)]
        members.append(Member(rows, name=self._named(AXES[0]), marks=(Unroll(),)))
        if copies is self.parts.ends:
            outer = [Member(row, name=self._named(name)) for name, row in zip(self.parts.loops, turns, strict=False)]
            body = _sequence([Filter(s.instances.universe()) for s in copies])
            members = [*outer, *members]
        else:
            body = _sequence([Filter(s.instances.universe(), self._buffers(s, turns)) for s in copies])
        return [Filter(isl.union_set(s.domain for s in copies).universe(), nest(members, body))]

    def _buffers(self, statement: Statement, turns: Sequence[isl.UnionMap]) -> Tree:
        own = [turn.intersect_domain(statement.instances.universe()) for turn in turns]
        names = [self._named(name) for name in statement.iterators[: len(own)]]
        return nest([Member(row, name=n, marks=(Unroll(),)) for row, n in zip(own, names, strict=True)], Leaf())

    def _named(self, wish: str) -> str:
        name = free(wish, self._taken)
        self._taken.add(name)
        return name


def _floor(values: isl.UnionMap, size: int) -> isl.UnionMap:
    return values.apply_range(isl.UnionMap(f"{{ [u] -> [floor(u / {size})] }}"))


def _of(branches: Sequence[Filter]) -> isl.UnionSet:
    return reduce(isl.UnionSet.union, (branch.filter for branch in branches))


def _sequence(branches: Sequence[Filter]) -> Tree:
    return InOrder(tuple(branches)) if len(branches) > 1 else branches[0].child


def _in_place(tree: Tree, path: Sequence[int], new: Tree, gone: isl.UnionSet, come: isl.UnionSet) -> Tree:
    """`tree` with another node where the path leads, for other instances."""
    if not path:
        return new
    match tree:
        case Domain(domain=domain):
            tree = replace(tree, domain=domain.subtract(gone).union(come))
        case Filter(filter=passing):
            tree = replace(tree, filter=passing.subtract(gone).union(come))
    first, *rest = path
    below = list(children(tree))
    below[first] = _in_place(below[first], rest, new, gone, come)
    return with_children(tree, tuple(below))
