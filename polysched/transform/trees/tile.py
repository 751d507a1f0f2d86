"""Tiling: the loops of a permutable band in blocks (Irigoin and Triolet, POPL 1988).

    band: i, j            band: floor(i/32), floor(j/32)
                   ->         band: i, j         tile("i", "j", sizes=(32, 32), names=("i_o", "j_o"))
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from polysched.config.options import Options
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Member
from polysched.support import isl
from polysched.transform.analysis.roles import Around
from polysched.transform.analysis.sizes import asked_sizes, tile_sizes
from polysched.transform.trees.diamond import diamond


def tile(band: Band, sizes: tuple[int, ...]) -> Band:
    """A band over blocks, around `band` itself, which then runs inside one block.

    `sizes` are the iterations of each member in a block; members with size 0 have none. ValueError if the band is not
    permutable: a block would have to run before and after another.
    """
    if not band.permutable:
        raise ValueError("only a permutable band can be tiled")
    blocks = [block_of(member, size) for member, size in zip(band.members, sizes, strict=True) if size]
    return Band(tuple(blocks), permutable=True, child=band)


def tiling_of(band: Band, scop: Scop, around: Around, options: Options) -> tuple[tuple[int, ...], Band | None]:
    """The sizes of a permutable band's tiles, none or zeros if it gains by none, and what to tile instead where they
    are diamonds."""
    asked = asked_sizes(band, scop, around, options)
    sizes = (tile_sizes(band, scop, around, options) if asked is None else asked) or ()
    is_even = bool(sizes) and all(sizes[:2]) and (asked is None or sizes[:1] == sizes[1:2])  # diamonds have one size
    return sizes, diamond(band, around) if options.diamond and options.wavefront and is_even else None


def block_of(member: Member, size: int) -> Member:
    """{ S[i, j] -> [floor(value / size)] }"""
    return replace(member, schedule=member.schedule.apply_range(_block(size)))


@cache
def _block(size: int) -> isl.UnionMap:
    return isl.UnionMap(f"{{ [x] -> [floor(x / {size})] }}")
