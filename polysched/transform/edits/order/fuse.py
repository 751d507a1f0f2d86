"""Fusion by hand: loops that follow one another become one (Allen and Kennedy, 1987).

    sequence                                band: i       S[i] -> i; T[i] -> i + 1
      filter: S                               sequence
        band: i      S[i] -> i       ->         filter: S            fuse("i", "i_2")
      filter: T                                 filter: T
        band: i_2    T[i] -> i

    S: b[i] = a[i - 1] + a[i + 1]           T[i] needs S[i - 1] and S[i + 1]: distances 1 and -1,
    T: c[i] = b[i - 1] + b[i + 1]           so it runs one iteration later
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polysched.errors import InputError
from polysched.model.extents import largest
from polysched.model.tree.nodes import Band, Filter, InOrder, Parallel, Set, Tree, Vector, with_children
from polysched.support import isl
from polysched.transform.edits.base.edit import Alternative, Draft, checked, reaching
from polysched.transform.edits.base.loops import Loop, changed_at, loop, matching, node_at, unmarked
from polysched.transform.edits.base.parts import flat
from polysched.transform.edits.base.registry import edit


@edit("order", "i; j -> i")
def fuse(draft: Draft, *loops: str, shift: int | None = None) -> Draft:
    """Loops that follow one another, two or more, also by patterns, as one that has the name of the first.

    The second of two runs `shift` iterations later; None is the least constant, not below zero, that leaves no distance
    negative, for each of several. What stands between the loops runs after the fused one where it needs the first, else
    before it. Loops may be marked if both run on lanes, or both on threads. IllegalSchedule if a dependence leads back;
    InputError if the loops are in no sequence together.

        for i: S            ->    for i:
        for j: T                      S(i)
                                      T(i - 1)                       fuse("i", "j"), shifted by 1
    """
    tree = draft.nested
    names = {name for pattern in loops for name in matching(tree, pattern)}
    if len(names) < 2:
        raise InputError(f"fuse needs two loops or more, not {', '.join(names) or 'none'}")
    first, *others = sorted((loop(tree, name) for name in names), key=lambda each: each.path)
    if shift is not None and len(others) > 1:
        raise InputError("a shift is for two loops", hint="fuse two at a time")
    for other in others:
        draft = _fuse(draft, first.name, other.name, shift)
    return draft


def _fuse(draft: Draft, one: str, other: str, shift: int | None) -> Draft:
    tree = draft.nested
    first, second = loop(tree, one), loop(tree, other)
    if not _are_marked_alike(first, second):
        first, second = unmarked(tree, one), unmarked(tree, other)
    place = _common_sequence(first, second)
    pairs = reaching(tree, place, draft.dependences.validity)
    least = _least_shift(first, second, pairs)
    applied = shift if shift is not None else least or 0
    sequence = node_at(tree, place)
    assert isinstance(sequence, InOrder | Set)
    fused = _fused(sequence, first, second, applied, pairs)
    what = f"fuse({one}, {other}{'' if shift is None else f', shift={shift}'})"
    alternatives: list[Alternative] = []
    if least is None:
        what += ", whatever the shift"
    elif least != applied:
        alternatives.append((f"shift by {least}", lambda: _fuse(draft, one, other, least)))
    return checked(draft, changed_at(tree, place, lambda _: fused), what, alternatives)


def _are_marked_alike(first: Loop, second: Loop) -> bool:
    """Do both run on lanes, or both on threads?"""
    kinds = [[type(mark) for mark in each.member.marks] for each in (first, second)]
    return kinds[0] == kinds[1] and kinds[0] in ([Vector], [Parallel])


def _common_sequence(first: Loop, second: Loop) -> tuple[int, ...]:
    """Where the sequence is in which the loops follow one another; InputError if there is none."""
    if first.is_around(second):
        raise InputError(f"loop '{second.name}' is inside of loop '{first.name}'")
    place = first.path[:-2]
    if second.path[:-2] != place:
        raise InputError(
            f"the loops '{first.name}' and '{second.name}' do not follow one another in a sequence",
            hint=_around(first, second),
        )
    return place


def _around(first: Loop, second: Loop) -> str:
    """Which loops to fuse first."""
    shared = sum(one is other for one, other in zip(first.around, second.around, strict=False))
    outer = [each.around[shared].members[0].name for each in (first, second) if len(each.around) > shared]
    return f"fuse the loops around them first: {', '.join(outer)}" if len(outer) == 2 else ""


def _least_shift(first: Loop, second: Loop, pairs: isl.UnionMap) -> int | None:
    """The least constant, not below zero, by which the second loop has to be late; None if none is enough."""
    between = pairs.intersect_domain(first.instances).intersect_range(second.instances)
    early = between.reverse().apply_domain(second.member.schedule).apply_range(first.member.schedule).deltas()
    if early.is_empty():
        return 0
    most = largest(isl.Set.from_union_set(early))
    return max(0, most.to_python()) if most.is_int() else None  # else as far as a size


def _fused(node: InOrder | Set, first: Loop, second: Loop, shift: int, pairs: isl.UnionMap) -> Tree:
    """The sequence with one loop for the two."""
    k, m = first.path[-2], second.path[-2]
    one, other = node.children[k], node.children[m]
    earlier, later = _apart(one, node.children[k + 1 : m], pairs)
    ahead = second.member.schedule.apply_range(isl.UnionMap(f"{{ [x] -> [x + {shift}] }}"))
    schedule = _of(first.member.schedule, one, other).union(_of(ahead, other, one)).coalesce()
    body = flat((replace(one, child=first.band.child), replace(other, child=second.band.child)))
    fused = Band((replace(first.member, schedule=schedule),), False, body)
    around = (*node.children[:k], *earlier), (*later, *node.children[m + 1 :])
    if not any(around):
        return fused
    return with_children(node, (*around[0], Filter(one.filter.union(other.filter), fused), *around[1]))


def _apart(one: Filter, between: Sequence[Filter], pairs: isl.UnionMap) -> tuple[list[Filter], list[Filter]]:
    """What needs nothing of the first loop, and what does or needs something that does."""
    earlier, later, needed = [], [], one.filter
    for branch in between:
        if pairs.intersect_domain(needed).intersect_range(branch.filter).is_empty():
            earlier.append(branch)
        else:
            later.append(branch)
            needed = needed.union(branch.filter)
    return earlier, later


def _of(schedule: isl.UnionMap, branch: Filter, other: Filter) -> isl.UnionMap:
    """The part for what a branch runs, of which another one may run the same statements."""
    names = branch.filter.universe()
    apart = names.intersect(other.filter.universe()).is_empty()
    return schedule.intersect_domain(names if apart else branch.filter)
