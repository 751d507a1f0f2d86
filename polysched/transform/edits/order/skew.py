"""Skewing: a loop runs ahead of itself by multiples of one around it (Wolfe, 1986).

The order of instances stays as it is, so it is always legal; but the loops may become permutable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from polysched.config.plain import called
from polysched.deps.distance import Distances, distances_of
from polysched.errors import InputError
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
