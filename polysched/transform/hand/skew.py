"""Skewing: a loop runs ahead of itself by multiples of one around it (Wolfe, 1986).

    band: i                 band: i
      band: j        ->       band: i + j          skew("j", by="i")

The order of instances stays as it is, so it is always legal; but the loops may become permutable.
"""

from __future__ import annotations

from dataclasses import replace

from polysched import isl
from polysched.errors import InputError
from polysched.model.tree import Band, Tree
from polysched.transform.hand.edit import Draft, checked
from polysched.transform.hand.loops import chain, changed_at, loop


def skew(draft: Draft, name: str, by: str, factor: int = 1) -> Draft:
    """The loop with `factor` times a loop around it added."""
    tree = draft.nested
    inner, outer = loop(tree, name), loop(tree, by)
    if factor == 0:
        raise InputError("skew by 0 times a loop changes nothing", hint="give another factor")
    chain(tree, [outer.name, inner.name])
    if len(outer.path) > len(inner.path):
        raise InputError(f"loop '{by}' is inside of loop '{name}'", hint=f"skew '{by}' by '{name}'")
    ahead = outer.member.function.scale_val(isl.Val(factor))
    schedule = isl.UnionMap.from_union_pw_aff(inner.member.function.add(ahead))

    def change(band: Tree) -> Tree:
        assert isinstance(band, Band)
        return replace(band, members=(replace(inner.member, schedule=schedule),))

    return checked(draft, changed_at(tree, inner.path, change), f"skew({name}, by={by}, factor={factor})")
