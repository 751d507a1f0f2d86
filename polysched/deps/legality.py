"""Does a schedule tree keep every dependence? If not, which pair of instances runs the wrong way round?

    flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0] (N = 2)
      nest.py:5:13: S
          a[i + 1, j] = a[i, j + 1]
          ^

The tree is walked from its root with the pairs that nothing has put in order so far: a band removes the pairs whose
members differ, a sequence those in different children, and nothing may be left at a leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from itertools import permutations
from typing import Any

from polysched.deps.arrivals import scoped_arrays
from polysched.deps.dependences import Dependence, Dependences
from polysched.deps.phases import axes, is_kernel, left_to_threads, misplaced
from polysched.errors import IllegalSchedule
from polysched.ir.text import in_words
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import (
    Band,
    Concurrent,
    Context,
    Domain,
    Extension,
    Filter,
    Full,
    InOrder,
    Leaf,
    Mark,
    Set,
    Tree,
    mark_of,
    reached,
    walk,
)
from polysched.model.tree.order import flatten
from polysched.model.tree.to_isl import mark_text
from polysched.model.witness import smallest
from polysched.support import isl


@dataclass(frozen=True)
class Instance:
    """One run of a statement."""

    statement: str
    iteration: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Violation:
    """Two instances in an order that breaks a dependence, or one instance that does not run exactly once."""

    dependence: Dependence | None  # None: the source alone is at fault
    source: Instance
    sink: Instance | None
    sizes: dict[str, int]
    reason: str = ""  # what the tree does to them
    scop: Scop | None = field(default=None, repr=False, compare=False)  # for names of iterators and source lines

    def __str__(self) -> str:
        text = self._instance(self.source)
        if self.dependence is not None and self.sink is not None:
            what = f"{self.dependence.kind} dependence on {self.dependence.array}{self.dependence.doubt}"
            must = "may have to" if self.dependence.doubt else "must"
            text = f"{what}: {text} {must} run before {self._instance(self.sink)}"
        return f"{text}{self.reason}" + (f" ({in_words(self.sizes)})" if self.sizes else "") + self._source_lines()

    def _instance(self, instance: Instance) -> str:
        for statement in self._statements(instance):
            return statement.instance(instance.iteration)
        return f"{instance.statement}[{', '.join(map(str, instance.iteration))}]"

    def _source_lines(self) -> str:
        statements = {s.name: s for i in (self.source, self.sink) if i is not None for s in self._statements(i)}
        return "".join(f"\n  {line}" for statement in statements.values() for line in statement.place)

    def _statements(self, instance: Instance) -> list[Statement]:
        """The statement of the instance, if the scop is known and has it."""
        return [s for s in self.scop.statements if s.name == instance.statement] if self.scop else []


def require_legal(tree: Tree, dependences: Dependences, scop: Scop | None = None, *, what: str = "") -> Tree:
    """The tree itself; IllegalSchedule, which begins with `what` was asked for, names a violated pair of instances if
    it is not legal."""
    violation = first_violation(tree, dependences, scop)
    if violation is not None:
        raise IllegalSchedule(f"{what}: {violation}" if what else str(violation), violation=violation, tree=tree)
    return tree


def first_violation(
    tree: Tree, dependences: Dependences, scop: Scop | None = None, *, check_flags: bool = True
) -> Violation | None:
    """The first fault found from the root of `tree`, for the smallest sizes and instances; None if it is legal.

    Every instance must run exactly once (those of `scop`, or else of the tree's domain and the dependences), and the
    source of each dependence before its sink. With `check_flags`, a band that is flagged permutable must
    have no member that runs backwards, and members that are coincident, or marked to run on parallel threads or
    lanes, must not separate the two ends of a dependence that reaches their band. ValueError for Extension nodes.
    """
    for violation in _violations(tree, dependences, scop, check_flags):
        return replace(violation, scop=scop)
    return None


def _violations(tree: Tree, dependences: Dependences, scop: Scop | None, check_flags: bool) -> Iterator[Violation]:
    yield from _not_once(tree, dependences, scop)
    ordered = {id(d) for d in dependences.ordered}
    pairs = tuple(_Pairs(d, d.relation, id(d) in ordered) for d in dependences.of("flow", "anti", "output"))
    shared = frozenset(array.name for array in scop.arrays if array.space == "shared") if scop else frozenset()
    yield from _Checker(check_flags, shared).check(tree, pairs)
    for instances, reason in misplaced(tree, isl.UnionSet("{ }"), shared):
        yield from _instances(instances, reason)


# --- every instance runs exactly once


def _not_once(tree: Tree, dependences: Dependences, scop: Scop | None) -> Iterator[Violation]:
    times = flatten(tree)
    assert isinstance(tree, Domain)
    ends = dependences.coincidence
    instances = scop.domain if scop else tree.domain.union(ends.domain()).union(ends.range())
    known = [scop.context] if scop else [node.context for node in walk(tree) if isinstance(node, Context)]
    for context in known:
        times, instances = times.intersect_params(context), instances.intersect_params(context)
    run = times.domain()
    yield from _instances(instances.subtract(run), " never runs")
    yield from _instances(run.subtract(instances), " runs, but is no instance of the nest")
    if not times.is_single_valued():
        yield from _instances(times.subtract(times.lexmin()).domain(), " runs more than once")
    for outside in outside_of_full_loops(tree, run):
        yield from _instances(outside, " never runs: its loop ends before")


def outside_of_full_loops(tree: Domain, instances: isl.UnionSet) -> Iterator[isl.UnionSet]:
    """For each loop that runs a fixed number of times, those of `instances` that reach it and are in none of its
    iterations: they would never run."""
    for node, reaching, _ in reached(tree.child, instances):
        if isinstance(node, Band) and (full := mark_of(node, Full)):
            inside = isl.UnionSet(f"{{ [x] : 0 <= x < {full.size} }}")
            yield reaching.subtract(node.members[0].schedule.intersect_range(inside).domain())


def _instances(wrong: isl.UnionSet, reason: str) -> Iterator[Violation]:
    for points in isl.sets_of(wrong):
        if not points.is_empty():
            sizes, iteration = smallest(points)
            source = Instance(points.get_tuple_name(), iteration)
            yield Violation(dependence=None, source=source, sink=None, sizes=sizes, reason=reason)


# --- every dependence is kept


@dataclass(frozen=True)
class _Pairs:
    """The pairs of a dependence that nothing has put in order on the way down to a node."""

    dependence: Dependence
    relation: isl.Map
    ordered: bool  # False: a reduction's, which may run in any order but not at the same time

    def violation(self, wrong: isl.Map, reason: str = "") -> Iterator[Violation]:
        """The smallest pair of `wrong`, a part of the relation; nothing if it is empty."""
        if not wrong.is_empty():
            yield replace(violation_of(self.dependence, wrong), reason=reason)


def violation_of(dependence: Dependence, wrong: isl.Map) -> Violation:
    """The smallest pair of `wrong`, a part of the dependence."""
    sizes, point = smallest(wrong.wrap())
    depth = wrong.dim(isl.dim_type.in_)
    source, sink = Instance(dependence.source, point[:depth]), Instance(dependence.sink, point[depth:])
    return Violation(dependence=dependence, source=source, sink=sink, sizes=sizes)


@dataclass(frozen=True)
class _Checker:
    check_flags: bool
    shared: frozenset[str] = frozenset()  # the arrays that a block has
    in_kernel: bool = False  # below a loop over blocks or threads

    def check(self, tree: Tree, pairs: tuple[_Pairs, ...]) -> Iterator[Violation]:
        """The faults below a node."""
        match tree:
            case Leaf():
                for p in pairs:
                    if p.ordered:
                        yield from p.violation(p.relation, ", but nothing orders them")
            case Band() if is_kernel(tree) and not self.in_kernel:
                yield from replace(self, in_kernel=True).band(tree, pairs)
                if self.check_flags:
                    yield from _between_threads(tree, pairs, scoped_arrays(tree) - self.shared)
            case Band():
                yield from self.band(tree, pairs)
            case Filter(filter=filter, child=child):
                yield from self.check(child, _restrict(pairs, filter))
            case InOrder() | Set():
                yield from self.branches(tree, pairs)
            case Domain(child=child) | Context(child=child) | Mark(child=child):
                yield from self.check(child, pairs)
            case Extension():
                raise ValueError("legality of Extension nodes is not known: check the tree before copies are added")
            case _:
                raise AssertionError(f"unknown tree node {type(tree).__name__}")

    def band(self, band: Band, pairs: tuple[_Pairs, ...]) -> Iterator[Violation]:
        mark = mark_of(band, Concurrent)
        schedules = [_by_statement(member.schedule) for member in band.members]

        @cache
        def orders(k: int, source: str, sink: str) -> tuple[isl.Map, isl.Map]:
            """{ source -> sink } for the pairs whose source member k runs later than the sink, and at the same time."""
            one, other = schedules[k][source], schedules[k][sink]
            return one.lex_gt_map(other), one.apply_range(other.reverse())

        below = []
        for p in pairs:
            left = p.relation
            for k, member in enumerate(band.members):
                later, same = orders(k, p.dependence.source, p.dependence.sink)
                if p.ordered:
                    yield from p.violation(left.intersect(later))
                if p.ordered and self.check_flags and band.permutable and k > 0:
                    called = f"loop '{member.name}'" if member.name else f"member {k}"
                    reason = f", but {called} of their permutable band puts it later"
                    yield from p.violation(p.relation.intersect(later), reason)
                flags = ["coincident"] if member.coincident else []
                flags += [mark_text(mark)] if mark and k == 0 and not _reduces(mark, p) else []
                if flags and self.check_flags:
                    reason = f", but iterations of loop '{member.name}' would run at the same time"
                    if not member.name:
                        reason = f", but member {k} of their band, flagged {' and '.join(flags)}, separates them"
                    yield from p.violation(p.relation.subtract(same), reason)
                left = left.intersect(same)
            if not left.is_empty():
                below.append(replace(p, relation=left))
        yield from self.check(band.child, tuple(below))

    def branches(self, node: InOrder | Set, pairs: tuple[_Pairs, ...]) -> Iterator[Violation]:
        parts = [_by_statement(branch.filter) for branch in node.children]
        for p in pairs:
            source, sink = p.dependence.source, p.dependence.sink
            for first, second in permutations(range(len(parts)), 2):
                if p.ordered and source in parts[second] and sink in parts[first]:
                    crossing = p.relation.intersect_domain(parts[second][source]).intersect_range(parts[first][sink])
                    if isinstance(node, Set):
                        yield from p.violation(crossing, ", but the children of a set run in any order")
                    elif first < second:
                        yield from p.violation(crossing)
        for branch in node.children:
            yield from self.check(branch.child, _restrict(pairs, branch.filter))


def _between_threads(kernel: Band, pairs: tuple[_Pairs, ...], own: frozenset[str]) -> Iterator[Violation]:
    """Pairs that different threads of a kernel run and that are in one phase of it, whatever loops and sequences inside
    of it say; or that different blocks run. Of the arrays `own`, each thread has its own."""
    for axis, loops in axes(kernel).items():
        on_axis = _by_statement(reduce(isl.UnionMap.union, (schedule for schedule, _ in loops)))
        for p in pairs:
            source, sink = on_axis.get(p.dependence.source), on_axis.get(p.dependence.sink)
            if (source is None and sink is None) or any(_reduces(mark, p) for _, mark in loops):
                continue
            if (source is None or sink is None) and any(p.dependence.array in mark.reduces for _, mark in loops):
                continue  # what the loop's threads have added up is added to the element by the thread of the other end
            wrong = p.relation
            if source is not None and sink is not None:
                wrong = wrong.subtract(source.apply_range(sink.reverse()))
            may_wait = p.ordered or p.dependence.commutes
            waits = may_wait and axis.startswith("thread") and p.dependence.array not in own
            if waits and not wrong.is_empty():
                left = left_to_threads(kernel, isl.UnionMap.from_map(wrong))
                wrong = wrong.intersect(left.extract_map(wrong.get_space()))
            yield from p.violation(wrong, f", but they are not on one thread: {axis} separates them in a kernel")


def _reduces(mark: Concurrent, pairs: _Pairs) -> bool:
    """Are the pairs updates of a reduction, of which the marked loop has private copies?"""
    return not pairs.ordered and pairs.dependence.array in mark.reduces


def _restrict(pairs: tuple[_Pairs, ...], filter: isl.UnionSet) -> tuple[_Pairs, ...]:
    """The pairs of which both instances pass."""
    passing = _by_statement(filter)
    kept = []
    for p in pairs:
        source, sink = p.dependence.source, p.dependence.sink
        if source in passing and sink in passing:
            relation = p.relation.intersect_domain(passing[source]).intersect_range(passing[sink])
            if not relation.is_empty():
                kept.append(replace(p, relation=relation))
    return tuple(kept)


def _by_statement(union: Any) -> dict[str, Any]:
    """The sets of a union set, or the maps of a union map, by the name of the statement whose instances they hold."""
    if isinstance(union, isl.UnionSet):
        sets = union.get_set_list()
        return {s.get_tuple_name(): s for s in (sets.get_at(k) for k in range(union.n_set()))}
    maps = union.get_map_list()
    return {m.get_tuple_name(isl.dim_type.in_): m for m in (maps.get_at(k) for k in range(union.n_map()))}
