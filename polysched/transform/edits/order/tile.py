"""Tiling by hand: nested loops in blocks (Irigoin and Triolet, POPL 1988)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from polysched.config.plain import called
from polysched.errors import InputError
from polysched.transform.edits.base.edit import Alternative, Draft, checked
from polysched.transform.edits.base.loops import adjacent, all_given, changed_at, fresh, loop, nest
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.order.nesting import require_nested
from polysched.transform.edits.order.skew import skewings
from polysched.transform.trees.tile import block_of


@edit("order", "i, j -> i_o, j_o, i, j")
def tile(draft: Draft, *loops: str, sizes: Sequence[int], names: Sequence[str] = ()) -> Draft:
    """The loops in blocks, inside of loops over the blocks.

    The loops follow one another, and keep their names inside of a block; `sizes` is what each counts in a block, and
    `names` are those of the loops over blocks, or i_o for i. IllegalSchedule where a dependence leads from a block to
    one before it.

        for i:                   for i_o:                            floor(i / 32)
            for j: S        ->       for j_o:                        floor(j / 64)
                                         for i:
                                             for j: S                tile("i", "j", sizes=(32, 64))
    """
    tree = draft.nested
    named = [loop(tree, name).name for name in loops]
    require_nested(draft, named, lambda nested, there: tile(nested, *there, sizes=sizes, names=names))
    places = adjacent(tree, named)
    if len(sizes) != len(places) or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise InputError(f"tile needs a positive size for each of {', '.join(named)}, not {tuple(sizes)}")
    if names and len(names) != len(places):
        raise InputError(f"tile needs a name for each of the {len(places)} loops over blocks, not {tuple(names)}")
    order = {name: k for k, name in enumerate(named)}
    at = [order[place.name] for place in places]
    own = all_given(tree, names)
    blocks = [
        replace(block_of(place.member, sizes[k]), name=own[k] if own else fresh(tree, f"{place.name}_o"))
        for place, k in zip(places, at, strict=True)
    ]
    tiled = changed_at(tree, places[0].path, lambda points: nest(blocks, points))
    alternatives = _alternatives(draft, [place.name for place in places], [sizes[k] for k in at])
    what = f"tile({', '.join(named)}, sizes={tuple(sizes)})"
    return checked(draft, tiled, what, alternatives)


def _alternatives(draft: Draft, loops: Sequence[str], sizes: Sequence[int]) -> Iterator[Alternative]:
    """Skewed, or two of them or more alone; outermost first."""
    yield from skewings(draft, loops, lambda skewed: tile(skewed, *loops, sizes=sizes))
    for few in sorted(_parts(len(loops)), key=len, reverse=True):
        names = [loops[k] for k in few]
        own = [sizes[k] for k in few]
        yield f"{called('tile', *names, sizes=own)} alone", partial(tile, draft, *names, sizes=own)


def _parts(count: int) -> Iterator[range]:
    """Fewer loops, that follow one another, but more than one."""
    return (range(k, m) for k in range(count) for m in range(k + 2, count + 1) if m - k < count)
