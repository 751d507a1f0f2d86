"""Reordering: nested loops in another order.

    band: i          band: k
      band: j    ->    band: i          reorder("k", "i", "j")
        band: k          band: j

Loops between them that are not named stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from polysched.transform.hand.edit import Draft, checked
from polysched.transform.hand.loops import chain, loop, with_member


def reorder(draft: Draft, loops: Sequence[str]) -> Draft:
    """The loops in the order in which they are named, outermost first."""
    tree = draft.nested
    wanted = [loop(tree, name) for name in loops]
    places = chain(tree, [each.name for each in wanted])
    for place, other in zip(places, wanted, strict=True):
        tree = with_member(tree, place.path, other.member)
    return checked(draft, tree, f"reorder({', '.join(loops)})")


def interchange(draft: Draft, one: str, other: str) -> Draft:
    """Two loops in each other's place."""
    tree = draft.nested
    outer, inner = chain(tree, [one, other])
    tree = with_member(with_member(tree, outer.path, inner.member), inner.path, outer.member)
    return checked(draft, tree, f"interchange({one}, {other})")
