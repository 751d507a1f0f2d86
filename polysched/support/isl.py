"""The one door to islpy: the names we use, one context, and calls that cannot run away or leave it broken."""

from __future__ import annotations

import copyreg
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce, wraps
from typing import Any, TypeVar

import islpy
import islpy._isl
from islpy import (  # noqa: F401  (re-exported)
    DEFAULT_CONTEXT,
    Aff,
    AstBuild,
    AstExpr,
    AstNode,
    BasicMap,
    BasicSet,
    Constraint,
    Error,
    Id,
    LocalSpace,
    Map,
    MultiAff,
    MultiUnionPwAff,
    Point,
    Printer,
    PwAff,
    PwMultiAff,
    Schedule,
    ScheduleConstraints,
    ScheduleNode,
    Set,
    Space,
    UnionMap,
    UnionPwAff,
    UnionPwAffList,
    UnionPwMultiAff,
    UnionSet,
    UnionSetList,
    Val,
    ast_expr_op_type,
    ast_expr_type,
    ast_loop_type,
    ast_node_type,
    dim_type,
    format,
    schedule_node_type,
)

from polysched.errors import BudgetExceeded
from polysched.support import clock
from polysched.support.interrupt import context_of

T = TypeVar("T")
P = TypeVar("P", islpy.Set, islpy.Map)


def _by_text(value: Any) -> tuple[type, tuple[str]]:
    return type(value), (str(value),)


# islpy's own pickling raises where dimensions on the two sides of a map share a name, as those of dependences do.
for _kind in (BasicSet, Set, UnionSet, BasicMap, Map, UnionMap, Aff, PwAff, UnionPwAff, MultiAff, PwMultiAff, Val):
    copyreg.pickle(_kind, _by_text)


def _or_as_it_was(coalesce: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The method, or the value itself where isl fails inside ("original tableau does not correspond ..."), as it does
    on a few unions with divisions: fewer pieces are a help, not a need."""

    @wraps(coalesce)
    def coalesced(value: Any) -> Any:
        try:
            return coalesce(value)
        except Error:
            if is_exhausted():
                raise
            return value

    return coalesced


for _of_pieces in (Set, UnionSet, Map, UnionMap, PwAff, PwMultiAff, UnionPwMultiAff):
    _of_pieces.coalesce = _or_as_it_was(_of_pieces.coalesce)  # type: ignore[method-assign,assignment]


def _proved(extreme: Callable[..., Any], *, last: bool) -> Callable[..., Any]:
    """The method, whose answer is held against the definition of an extreme: a few of isl's for strided sets are wrong.

    Those are asked for of the set as it is read from its text, whose divisions are simpler. Error where both are wrong.
    """

    @wraps(extreme)
    def proved(values: Any, *position: int) -> Any:
        has_divisions = any(part.dim(dim_type.div) for part in _parts(values))
        for is_reread in (True, False) if has_divisions else (False,):
            try:
                same = type(values)(str(values)) if is_reread else values
                found = extreme(same, *position)
                if _is_extreme(_relation(found), _relation(same, *position), last):
                    return found
            except Error:  # some names cannot be read, and some sets are too much for isl
                if not is_reread or is_exhausted():
                    raise
        raise Error(f"isl's {extreme.__name__} is wrong")

    return proved


def _of_each(name: str) -> Callable[[Any], Any]:
    """The extreme of a union: that of each of its sets or maps, which are of different spaces."""

    def extreme(union: Any) -> Any:
        parts = maps_of(union) if isinstance(union, UnionMap) else sets_of(union)
        found = union.subtract(union)
        for part in parts:
            found = found.union(getattr(part, name)())
        return found

    extreme.__name__ = name
    return extreme


def _parts(values: Any) -> list[Any]:
    return values.get_basic_maps() if isinstance(values, Map) else values.get_basic_sets()


def _relation(values: Any, *position: int) -> islpy.Map:
    """{ [] -> x } for a set, and what a piecewise function is of; of one dimension where a position is given."""
    if isinstance(values, PwAff):
        values = Set.from_pw_aff(values) if values.get_domain_space().is_params() else Map.from_pw_aff(values)
    relation = values if isinstance(values, Map) else Map.from_range(values)
    for k in position:
        relation = along(relation, k)
    return relation


def _is_extreme(found: islpy.Map, relation: islpy.Map, last: bool) -> bool:
    """Is each of `found` in the relation, is there one wherever the relation is, and nothing beyond it?"""
    same = Map.identity(found.get_space().range().map_from_set())
    beyond = found.lex_lt_map(same) if last else found.lex_gt_map(same)
    return covers(relation, found) and covers(found.domain(), relation.domain()) and relation.is_disjoint(beyond)


def covers(whole: Any, parts: Any) -> bool:
    """Is all of `parts` in the whole, sets or maps of one space? Piece by piece: most lie in one of the whole, of
    others isl subtracts little."""
    one = Map.from_basic_map if isinstance(parts, Map) else Set.from_basic_set
    return all(
        any(map(piece.is_subset, _parts(whole))) or one(piece).is_subset(whole.intersect(one(piece)).coalesce())
        for piece in _parts(parts)
    )


for _of_points in (Set, Map):
    for _name in ("lexmin", "lexmax", "dim_min", "dim_max"):
        setattr(_of_points, _name, _proved(getattr(_of_points, _name), last=_name.endswith("max")))
for _union in (UnionSet, UnionMap):
    for _name in ("lexmin", "lexmax"):
        setattr(_union, _name, _of_each(_name))


@contextmanager
def within(seconds: float = math.inf, operations: int = 0) -> Iterator[None]:
    """Bounds isl in the block by the clock and by a number of operations; BudgetExceeded when either is used up, or
    isl fails inside, as it does on a few unions of strided sets.

    isl answers to both with an arbitrary message and refuses every later call until it is told to go on, so that it is
    asked what happened. A count is no clock: single operations may take minutes. Where the system has no alarms, only
    the count holds. Threads take turns: they share one context.
    """
    with _turn, clock.running(seconds) as deadline:
        clock.check("isl")
        outer = DEFAULT_CONTEXT.get_max_operations()
        DEFAULT_CONTEXT.reset_operations()
        DEFAULT_CONTEXT.set_max_operations(operations or outer)
        try:
            with _alarm(deadline):
                yield
        except Error as error:
            is_nonsense = _CONTEXT is not None and _CONTEXT.was_invalid()
            if not deadline.left:
                raise BudgetExceeded("isl ran out of time") from error
            if is_exhausted():
                raise BudgetExceeded(f"isl used up {operations or outer} operations") from error
            if is_nonsense:  # what we asked for is at fault, not how hard it is
                raise
            line, *_ = str(error).split("\n")
            raise BudgetExceeded(f"isl failed: {line}") from error
        finally:
            DEFAULT_CONTEXT.set_max_operations(outer)  # an outer quota starts anew
            DEFAULT_CONTEXT.reset_operations()


_turn = threading.RLock()


def decided(question: Callable[[], T], unknown: T, *, seconds: float = 1.0) -> T:
    """What isl answers; `unknown`, which must be safe whatever the answer is, where that takes longer."""
    try:
        with within(seconds):
            return question()
    except BudgetExceeded:
        return unknown


@contextmanager
def _alarm(deadline: clock.Deadline) -> Iterator[None]:
    """isl aborts what it does at the deadline, if that of no block around has come by then."""
    global _armed
    outer = _armed
    if deadline.end >= outer.end or _CONTEXT is None:
        yield
        return
    _armed = deadline
    _CONTEXT.abort.set(deadline.left)
    try:
        yield
    finally:
        if _CONTEXT.abort.stop():
            patience = time.monotonic() + 30.0  # the call comes from another thread, on a machine that may be busy
            while not DEFAULT_CONTEXT.aborted() and time.monotonic() < patience:
                time.sleep(1e-4)
            DEFAULT_CONTEXT.resume()
        _armed = outer
        if outer is not clock.NEVER:
            _CONTEXT.abort.set(outer.left)


_armed = clock.NEVER
_CONTEXT = context_of(islpy._isl.__file__, DEFAULT_CONTEXT)


def _after_fork() -> None:
    """In a child no other thread has its turn, and there is no alarm. No call was under way: it would hold Python's
    lock."""
    global _turn, _armed
    _turn, _armed = threading.RLock(), clock.NEVER
    DEFAULT_CONTEXT.set_max_operations(0)
    DEFAULT_CONTEXT.resume()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def is_exhausted() -> bool:
    """Has the quota been used up? Then every operation fails."""
    try:
        Set("{ [i] : 0 <= i < 2 }").is_empty()
    except Error:
        return True
    return False


def maps_of(union: islpy.UnionMap) -> list[islpy.Map]:
    """The maps of a union map, sorted by tuple names and then text: isl's own order is not fixed."""
    maps = [union.get_map_list().get_at(k) for k in range(union.n_map())]
    return sorted(maps, key=lambda m: (_tuple(m, dim_type.in_), _tuple(m, dim_type.out), text(m))) if maps[1:] else maps


def sets_of(union: islpy.UnionSet) -> list[islpy.Set]:
    """The sets of a union set, sorted by tuple name and then text."""
    sets = [union.get_set_list().get_at(k) for k in range(union.n_set())]
    return sorted(sets, key=lambda s: (s.get_tuple_name() or "", text(s))) if sets[1:] else sets


def text(points: islpy.Map | islpy.Set) -> str:
    """As isl prints it. That does not stop in between, since isl's printer reads what an alarm has left half done."""
    if _armed is clock.NEVER or _CONTEXT is None:
        return str(points)
    if _CONTEXT.abort.stop():
        raise BudgetExceeded("isl ran out of time")
    try:
        return str(points)
    finally:
        _CONTEXT.abort.set(_armed.left)


def union_map(maps: Iterable[islpy.Map]) -> islpy.UnionMap:
    """All of them as one. Half and half: one after the other, isl copies all that it has for each."""
    parts = [islpy.UnionMap.from_map(each) for each in maps]
    while len(parts) > 1:
        odd = [parts.pop()] if len(parts) % 2 else []
        parts = [one.union(other) for one, other in zip(parts[::2], parts[1::2], strict=True)] + odd
    return parts[0] if parts else UnionMap("{ }")


def agreeing(pairs: islpy.Map, count: int) -> islpy.Map:
    """Those of the pairs that agree in the first `count` dimensions."""
    for k in range(count):
        pairs = pairs.equate(dim_type.in_, k, dim_type.out, k)
    return pairs


def union_set(sets: Iterable[islpy.Set]) -> islpy.UnionSet:
    return reduce(islpy.UnionSet.union, map(islpy.UnionSet.from_set, sets), UnionSet("{ }"))


def sizes_of(value: Any) -> tuple[str, ...]:
    """The names of its parameters, of what has a space, or of the space."""
    return tuple(value.get_dim_name(dim_type.param, k) or "" for k in range(value.dim(dim_type.param)))


def at(points: islpy.Set, sizes: Mapping[str, int]) -> islpy.Set:
    """The part where those of the sizes that are among its parameters have these values."""
    for name, value in sizes.items():
        place = points.find_dim_by_name(dim_type.param, name)
        points = points.fix_val(dim_type.param, place, Val(value)) if place >= 0 else points
    return points


def along(points: P, k: int, end: int | None = None) -> P:
    """{ [x] }: their values along the k-th dimension, or all from that until `end`; of a map, { [o] -> [x] } of its
    results."""
    end = k + 1 if end is None else end
    rest = points.project_out(dim_type.out, end, points.dim(dim_type.out) - end)
    return rest.project_out(dim_type.out, 0, k)


def ends(points: islpy.Set, k: int) -> tuple[int, int]:
    """The least and the largest value of a dimension, of a bounded set that is not empty."""
    return int(points.dim_min_val(k).to_python()), int(points.dim_max_val(k).to_python())


def box(points: islpy.Set) -> int:
    """How many points the smallest box around a bounded set has."""
    sides = (ends(points, k) for k in range(points.dim(dim_type.set)))
    return 0 if points.is_empty() else math.prod(last - first + 1 for first, last in sides)


def coordinates(point: islpy.Point) -> tuple[int, ...]:
    """The numbers of a point, without the sizes."""
    depth = point.get_space().dim(dim_type.set)
    return tuple(point.get_coordinate_val(dim_type.set, k).to_python() for k in range(depth))


def fixed(relation: islpy.Map) -> tuple[int | None, ...]:
    """The value of each output dimension that is the same constant everywhere, as isl shows it at once; else None."""
    values = (relation.plain_get_val_if_fixed(dim_type.out, k) for k in range(relation.dim(dim_type.out)))
    return tuple(value.to_python() if value.is_int() else None for value in values)


def _tuple(relation: islpy.Map, kind: dim_type) -> str:
    return relation.get_tuple_name(kind) or ""
