"""Tiling: the loops of a permutable band in blocks (Irigoin and Triolet, POPL 1988).

    band: i, j            band: floor(i/32), floor(j/32)
                   ->         band: i, j
"""

from __future__ import annotations

from dataclasses import replace

from polysched import isl
from polysched.deps.dependences import Dependences
from polysched.model.scop import Scop
from polysched.model.tree import Band, Member, Tree, children, with_children
from polysched.options import Options
from polysched.transform.diamond import diamond
from polysched.transform.roles import Around
from polysched.transform.separate import separate
from polysched.transform.sizes import tile_sizes


def tile(band: Band, sizes: tuple[int, ...]) -> Band:
    """A band over blocks, around `band` itself, which then runs inside one block.

    `sizes` are the iterations of each member in a block; members with size 0 have none. ValueError if the band is not
    permutable: a block would have to run before and after another.
    """
    if not band.permutable:
        raise ValueError("only a permutable band can be tiled")
    blocks = [block_of(member, size) for member, size in zip(band.members, sizes, strict=True) if size]
    return Band(tuple(blocks), permutable=True, child=band)


def tile_all(tree: Tree, scop: Scop, dependences: Dependences, options: Options) -> Tree:
    """`tree` with every permutable band tiled that gains by it."""
    return _tiled(tree, scop, Around((), dependences.coincidence), options)


def _tiled(tree: Tree, scop: Scop, around: Around, options: Options) -> Tree:
    below = around.below(tree)
    tree = with_children(tree, tuple(_tiled(child, scop, below, options) for child in children(tree)))
    if not (isinstance(tree, Band) and tree.permutable):
        return tree
    sizes = tile_sizes(tree, scop, around, options)
    if sizes is None:
        return tree
    diamonds = diamond(tree, around) if options.diamond and options.wavefront and all(sizes[:2]) else None
    if diamonds is not None:
        return replace(tile(diamonds, (sizes[1], *sizes[1:])), child=tree)  # the loops inside stay as they are
    return separate(tile(tree, sizes), scop, around)


def block_of(member: Member, size: int) -> Member:
    """{ S[i, j] -> [floor(value / size)] }"""
    blocks = member.schedule.apply_range(isl.UnionMap(f"{{ [x] -> [floor(x / {size})] }}"))
    return replace(member, schedule=blocks)
