"""Tiling by hand: nested loops in blocks (Irigoin and Triolet, POPL 1988).

    band: i               band: i_o     floor(i/32)
      band: j        ->     band: j_o     floor(j/32)          tile("i", "j", sizes=(32, 32))
                              band: i
                                band: j

Legal where the loops are permutable: no dependence may lead from a block to one before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polysched.errors import InputError
from polysched.model.tree import Band, Tree
from polysched.transform.hand.edit import Alternative, Draft, checked
from polysched.transform.hand.loops import Loop, adjacent, changed_at, fresh, loop
from polysched.transform.hand.skew import skewings
from polysched.transform.tile import block_of


def tile(draft: Draft, loops: Sequence[str], sizes: Sequence[int], names: Sequence[str] = ()) -> Draft:
    """The loops inside of loops over blocks of these sizes, which are called `names`, or i_o for i.

    The loops, which must follow one another, keep their names inside of a block.
    """
    tree = draft.nested
    loops = [loop(tree, name).name for name in loops]
    places = adjacent(tree, loops)
    if len(sizes) != len(places) or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise InputError(f"tile needs a positive size for each of {', '.join(loops)}, not {tuple(sizes)}")
    if names and len(names) != len(places):
        raise InputError(f"tile needs a name for each of the {len(places)} loops over blocks, not {tuple(names)}")
    order = {name: k for k, name in enumerate(loops)}
    at = [order[place.name] for place in places]
    blocks = [block_of(place.member, sizes[k]) for place, k in zip(places, at, strict=True)]
    called = [fresh(tree, names[k] if names else f"{place.name}_o") for place, k in zip(places, at, strict=True)]
    outer = [replace(block, name=name) for block, name in zip(blocks, called, strict=True)]

    def change(node: Tree) -> Tree:
        for member in reversed(outer):
            node = Band((member,), False, node)
        return node

    what = f"tile({', '.join(loops)}, sizes={tuple(sizes)})"
    return checked(draft, changed_at(tree, places[0].path, change), what, _alternatives(draft, places, sizes))


def _alternatives(draft: Draft, places: Sequence[Loop], sizes: Sequence[int]) -> list[Alternative]:
    """Skewed by one around, or some of them alone."""
    names = [place.name for place in places]
    found = skewings(draft, names, lambda skewed: tile(skewed, names, sizes))
    for k in reversed(range(1, len(names))):

        def outer_ones(k: int = k) -> Draft:
            return tile(draft, names[:k], sizes[:k])

        found.append((f"tile only {', '.join(names[:k])}", outer_ones))
    return found
