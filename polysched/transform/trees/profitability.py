"""The guard: loops of the source are taken apart, skewed or given a worse stride only where something is gained by it.

    for i:                                                  for i: S        each is parallel, as their loop was,
        S      loads every fifth element         not ->     for i: T        and each goes over all lines of the cache
        T      loads those next to them

    for j:                                                  for j + i:
        for i > j: a[i] -= aa[j][i] * a[j]       not ->         for i: ...  SIMD, as it was, and at a stride

Both trees are compared as they are mapped, statement by statement. Something is gained where a loop comes to run on
threads, or on threads further out, and the nest has enough work for them; where an innermost loop becomes parallel or
SIMD, or steps less far; and by tiles, but for skewed ones of data that a cache holds anyway. Dependences that are
guesses are no reason to skew what is SIMD in the source. Nor is it a gain without threads that a little work becomes
SIMD beside a recurrence: processors do it while they wait for that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import prod
from typing import Literal, NamedTuple

from polysched.config.heuristics.cpu import HIDDEN_OPERATIONS
from polysched.deps.components import Pair, strongly_connected
from polysched.deps.dependences import Dependences
from polysched.ir.node import walk as walk_ir
from polysched.ir.nodes import Array, Binary, Call, Const, Load, Store
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import Band, Leaf, Member, Parallel, Tree, Unroll, Vector, reached
from polysched.model.tree.nodes import walk as walk_tree
from polysched.support import isl
from polysched.transform.analysis.roles import step, stride
from polysched.transform.analysis.vectorize import runs_once

Gain = Literal["always", "on threads", "never"]

_NEVER = 1000  # loops around the threads of a statement that has none


def may_be_for_nothing(found: Tree, scop: Scop, *, fits_cache: bool, guesses: bool) -> bool:
    """Does the mapped tree `found` take loops of the source apart, skew them or give them a worse stride, and have no
    tiles that this may be for?

    `fits_cache`: do all arrays fit one? `guesses`: are some of the dependences not known to exist?
    """
    skewed = _is_skewed(found) and not _is_skewed(scop.tree)
    ours, theirs = _paths(found, scop), _paths(scop.tree, scop)
    tiled = any(_is_tiled(name, loops, scop) for name, arrivals in ours.items() for loops in arrivals)
    if tiled and not (skewed and (fits_cache or guesses)):
        return False
    after, before = _uses(ours, scop), _uses(theirs, scop)
    return skewed or _is_taken_apart(ours, theirs) or any(after[name].far > before[name].far for name in before)


def gain(found: Tree, source: Tree, scop: Scop, *, guesses: bool) -> Gain:
    """When something runs better in the mapped tree `found` than in `source`, source order mapped.

    Always, where mapping takes that apart, so that it is not known. `guesses`: are some of the dependences not known to
    exist?
    """
    ours, theirs = _paths(found, scop), _paths(source, scop)
    if _is_taken_apart(theirs, _paths(scop.tree, scop)):
        return "always"
    after, before = _uses(ours, scop), _uses(theirs, scop)
    if guesses and _is_skewed(found) and all(use.parallel_inside for use in before.values()):
        return "never"
    if any(_gains(after[name], before[name]) for name in before):
        return "always"
    on_threads = any(after[name].outside_of_threads < before[name].outside_of_threads for name in before)
    return "on threads" if on_threads else "never"


def is_hidden(found: Tree, scop: Scop, dependences: Dependences) -> bool:
    """Is all that gains in the mapped tree `found`, without threads, SIMD beside a recurrence that its loop in the
    source had, and so little work that a processor does it while the recurrence waits for itself?"""
    ours, theirs = _paths(found, scop), _paths(scop.tree, scop)
    after, before = _uses(ours, scop), _uses(theirs, scop)
    if not after.keys() >= before.keys() or any(after[name].far < before[name].far for name in before):
        return False
    gaining = {name for name in before if after[name].parallel_inside and not before[name].parallel_inside}
    if not gaining:
        return False
    loops: dict[int, list[Statement]] = {}  # in the source, by their bands
    for statement in scop.statements:
        if statement.name in before and theirs[statement.name][0]:
            loops.setdefault(theirs[statement.name][0][-1].band, []).append(statement)
    flow = [(each.source, each.sink) for each in dependences.of("flow")]
    return all(_hides(loop, gaining, flow) for loop in loops.values())


def _hides(loop: list[Statement], gaining: set[str], flow: list[Pair]) -> bool:
    """Does nothing of the loop gain, or does it take longer for what else computes with its own results?"""
    work, rest = ({s.name: s for s in loop if (s.name in gaining) == gains} for gains in (True, False))
    inside = [pair for pair in flow if rest.keys() >= set(pair)]
    cycles = [part for part in strongly_connected(list(rest), inside) if len(part) > 1 or (part[0], part[0]) in inside]
    waits = [node for part in cycles for name in part for node in walk_ir(rest[name].body) if isinstance(node, Binary)]
    made = [node for s in work.values() for node in walk_ir(s.body) if isinstance(node, Binary | Load | Store | Call)]
    latency = sum(node.dtype.is_float for node in waits)
    return not made or (len(made) <= HIDDEN_OPERATIONS * latency and not any(isinstance(node, Call) for node in made))


def fits_in(arrays: Iterable[Array], size: int) -> bool:
    """Are these arrays together known to have no more than `size` bytes?"""
    total = 0
    for array in arrays:
        extents = [extent.value for extent in array.shape if isinstance(extent, Const)]
        if len(extents) < len(array.shape):
            return False
        total += prod(int(extent) for extent in extents) * array.dtype.bits // 8
    return total <= size


@dataclass(frozen=True)
class _Loop:
    """One member of a band on the way to a statement."""

    band: int  # which is another number for each
    member: Member

    def is_marked(self, kind: type[Parallel | Vector | Unroll]) -> bool:
        return any(isinstance(mark, kind) for mark in self.member.marks)


class _Use(NamedTuple):
    """How a statement runs."""

    outside_of_threads: int  # loops
    parallel_inside: bool  # its innermost loop runs on threads or as SIMD
    far: int  # accesses that step by more than an element along it


def _gains(use: _Use, other: _Use) -> bool:
    return (use.parallel_inside and not other.parallel_inside) or use.far < other.far


_Paths = dict[str, list[tuple[_Loop, ...]]]


def _paths(tree: Tree, scop: Scop) -> _Paths:
    """For each statement, the loops around each of the leaves that it arrives at."""
    found: _Paths = {statement.name: [] for statement in scop.statements}
    for node, instances, around in reached(tree, isl.UnionSet("{ }")):
        if isinstance(node, Leaf):
            loops = tuple(_Loop(id(band), member) for band in around for member in band.members)
            for one in isl.sets_of(instances):
                found[one.get_tuple_name()].append(loops)
    return found


def _uses(paths: _Paths, scop: Scop) -> dict[str, _Use]:
    return {s.name: _use(s, paths[s.name]) for s in scop.statements if paths[s.name]}


def _use(statement: Statement, arrivals: list[tuple[_Loop, ...]]) -> _Use:
    """The worst of its arrivals counts."""
    outside, parallel_inside, far = zip(*(_at(statement, loops) for loops in arrivals), strict=True)
    return _Use(max(outside), all(parallel_inside), max(far))


def _at(statement: Statement, loops: tuple[_Loop, ...]) -> _Use:
    loops = tuple(loop for loop in loops if not loop.is_marked(Unroll))
    members = tuple(loop.member for loop in loops)
    outside = next((k for k, loop in enumerate(loops) if loop.is_marked(Parallel)), _NEVER)
    steps = ((loop, step(statement, members, k)) for k, loop in reversed(list(enumerate(loops))))
    innermost, along = next(((loop, along) for loop, along in steps if along is not None), (None, None))
    if innermost is None or along is None:
        return _Use(outside, True, 0)  # it runs once
    far = sum(stride(access, along) is None for access in statement.accesses)
    return _Use(outside, innermost.is_marked(Parallel) or innermost.is_marked(Vector), far)


def _is_tiled(name: str, loops: tuple[_Loop, ...], scop: Scop) -> bool:
    """Does a loop over tiles change the order of the statement? Not where it is right around its own iterations, or
    where there is one tile."""
    members = [loop.member for loop in loops]
    several = [member for member in members if not (member.rounds and runs_once(member, scop.domain))]
    return any(outer.rounds and outer.iterators(name) != inner.iterators(name) for outer, inner in pairwise(several))


def _is_skewed(tree: Tree) -> bool:
    """Does a loop run over a sum of several iterators?"""
    members = (member for node in walk_tree(tree) if isinstance(node, Band) for member in node.members)
    return any(_iterators(aff) > 1 for member in members for aff in member.pieces)


def _iterators(aff: isl.Aff) -> int:
    kind = isl.dim_type.in_
    parts = [aff, *(aff.get_div(k) for k in range(aff.dim(isl.dim_type.div)))]
    return max(sum(not part.get_coefficient_val(kind, k).is_zero() for k in range(part.dim(kind))) for part in parts)


def _is_taken_apart(ours: _Paths, theirs: _Paths) -> bool:
    """Do two statements share fewer loops than they did?"""
    names = [name for name in theirs if ours[name] and theirs[name]]
    return any(_shared(ours, one, other) < _shared(theirs, one, other) for one, other in combinations(names, 2))


def _shared(paths: _Paths, one: str, other: str) -> int:
    """The number of loops around both."""
    pairs = ((a, b) for a in paths[one] for b in paths[other])
    both = ([x.band == y.band for x, y in zip(a, b, strict=False)] for a, b in pairs)
    return max([*alike, False].index(False) for alike in both)
