"""Skewing: a loop runs ahead of itself by multiples of one around it (Wolfe, 1986).

The order of instances stays as it is, so it is always legal; but the loops may become permutable.

Shifting: instances of some statements run later along a loop, by a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial

from polysched.config.plain import called
from polysched.deps.distance import Distances, distances_of
from polysched.errors import InputError
from polysched.model.tree.nodes import Member
from polysched.support import isl
from polysched.transform.edits.base.edit import Alternative, Draft, Step, checked, first, reaching
from polysched.transform.edits.base.loops import chain, loop, with_member
from polysched.transform.edits.base.registry import edit


@edit("order", "i, j -> i, i+j")
def skew(draft: Draft, name: str, by: str, factor: int = 1) -> Draft:
    """The loop with `factor` times one around it added; always legal.

    InputError if the loop `by` is not around it.

        for i in 0..n:                for i in 0..n:
            for j in 0..n: S     ->       for j in i..n + i: S       S of (i, j - i): skew("j", by="i")
    """
    tree = draft.nested
    inner, outer = loop(tree, name), loop(tree, by)
    if factor == 0:
        raise InputError("skew by 0 times a loop changes nothing", hint="give another factor")
    if inner.name == outer.name:
        raise InputError(f"a loop is not around itself: '{name}'", hint="skew it by a loop around it")
    if inner.is_around(outer):
        raise InputError(f"loop '{by}' is inside of loop '{name}'", hint=called("skew", by, by=name))
    if not outer.is_around(inner):
        raise InputError(f"loop '{by}' is not around loop '{name}'")
    ahead = outer.member.function.scale_val(isl.Val(factor))
    schedule = isl.UnionMap.from_union_pw_aff(inner.member.function.add(ahead))

    skewed = with_member(tree, inner.path, replace(inner.member, schedule=schedule))
    return checked(draft, skewed, f"skew({name}, by={by}, factor={factor})")


def skewings(
    draft: Draft, loops: Sequence[str], then: Callable[[Draft], Draft], order: Sequence[str] = ()
) -> Iterator[Alternative]:
    """An edit of nested loops after the least skews that make them permutable, or one for which this
    order of them is legal."""
    tree = draft.nested
    places = chain(tree, loops)
    members = [band.members[0] for band in places[-1].bands[len(places[0].around) :]]
    apart = distances_of(members, reaching(tree, places[0].path, draft.dependences.validity))
    names = [member.name for member in members]

    moved = iter(order)
    positions = [names.index(next(moved) if name in order else name) for name in names]

    def works(skewed: Distances) -> bool:
        return skewed.reordered(positions).in_order if order else skewed.is_permutable

    skews = apart.needed(works)
    if skews:
        yield first(draft, [skew_step(names[k], names[by], factor) for k, by, factor in skews], then)


def skew_step(name: str, by: str, factor: int) -> Step:
    """The skew, with its factor if that is not 1."""
    return Step.of(skew, name, by=by, **({"factor": factor} if factor != 1 else {}))


_NEARBY = 4  # smaller shifts that are tried for a hint


@edit("order", "i -> i")
def shift(draft: Draft, statements: str, name: str, by: int) -> Draft:
    """Instances of the statements, a pattern, `by` later along a loop around them; earlier if it is negative.

    It is in units of what the loop counts: where that steps by 2, shifted by 1 falls between iterations.
    IllegalSchedule if it breaks a dependence; InputError if no statement in the loop fits.

        for i in 0..n:                for i in 0..n + 1:
            S(i)                 ->       if i < n: S(i)
            T(i)                          if i > 0: T(i - 1)         shift("T", "i", 1)
    """
    place = loop(draft.nested, name)
    moved = tuple(each for each in place.statements if fnmatchcase(each, statements))
    if not moved:
        inside = ", ".join(place.statements)
        raise InputError(f"no statement in loop '{place.name}' fits '{statements}'", hint=f"there are: {inside}")
    if by == 0:
        raise InputError("a shift by 0 changes nothing", hint="give another distance")
    nearer = [by - k if by > 0 else by + k for k in range(1, min(abs(by), _NEARBY + 1))]

    def shifted_by(distance: int, alternatives: Iterable[Alternative] = ()) -> Draft:
        member = shifted(place.member, moved, distance)
        tree = with_member(draft.nested, place.path, member)
        return checked(draft, tree, f"shift({statements}, {name}, {distance})", alternatives)

    return shifted_by(by, [(f"shift by {k}", partial(shifted_by, k)) for k in nearer])


def shifted(member: Member, statements: tuple[str, ...], by: int) -> Member:
    """The member with `by` added to its value for these statements."""
    later, parts = isl.Map(f"{{ [x] -> [x + {by}] }}"), isl.maps_of(member.schedule)
    moved = (m.apply_range(later) if m.get_tuple_name(isl.dim_type.in_) in statements else m for m in parts)
    return replace(member, schedule=isl.union_map(moved))
