"""Skewing: a loop runs ahead of itself by multiples of one around it (Wolfe, 1986).

    band: i                 band: i
      band: j        ->       band: i + j          skew("j", by="i")

The order of instances stays as it is, so it is always legal; but the loops may become permutable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise

from polysched import isl
from polysched.errors import InputError
from polysched.transform.hand.edit import Alternative, Draft, checked
from polysched.transform.hand.loops import loop, with_member


def skew(draft: Draft, name: str, by: str, factor: int = 1) -> Draft:
    """The loop with `factor` times a loop around it added."""
    tree = draft.nested
    inner, outer = loop(tree, name), loop(tree, by)
    if factor == 0:
        raise InputError("skew by 0 times a loop changes nothing", hint="give another factor")
    if inner.name == outer.name:
        raise InputError(f"a loop is not around itself: '{name}'", hint="skew it by a loop around it")
    if outer.path[: len(inner.path)] == inner.path:
        raise InputError(f"loop '{by}' is inside of loop '{name}'", hint=f"skew '{by}' by '{name}'")
    if inner.path[: len(outer.path)] != outer.path:
        raise InputError(f"loop '{by}' is not around loop '{name}'")
    ahead = outer.member.function.scale_val(isl.Val(factor))
    schedule = isl.UnionMap.from_union_pw_aff(inner.member.function.add(ahead))

    skewed = with_member(tree, inner.path, replace(inner.member, schedule=schedule))
    return checked(draft, skewed, f"skew({name}, by={by}, factor={factor})")


def skewings(draft: Draft, loops: Sequence[str], then: Callable[[Draft], Draft]) -> list[Alternative]:
    """An edit of nested loops, outermost first, after one of them is skewed by the next around it, or all by all."""
    one = [[(inner, by, factor)] for by, inner in pairwise(loops) for factor in (1, 2)]
    every = [(inner, by, 1) for k, inner in enumerate(loops) for by in loops[:k]]

    def skewed(steps: Sequence[tuple[str, str, int]]) -> Draft:
        return then(reduce(lambda draft, step: skew(draft, *step), steps, draft))

    def said(name: str, by: str, factor: int) -> str:
        return f"{name} by {by}" + ("" if factor == 1 else f", factor {factor},")

    ways = [*one, every] if len(loops) > 2 else one
    return [(f"skew {', '.join(said(*each) for each in steps)} first", partial(skewed, steps)) for steps in ways]
