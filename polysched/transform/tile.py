"""Tiling: the loops of a permutable band in blocks (Irigoin and Triolet, POPL 1988).

    band: i, j            band: floor(i/32), floor(j/32)
                   ->         band: i, j
"""

from __future__ import annotations

from dataclasses import replace

from polysched import isl
from polysched.model.tree import Band, Tree, children, with_children


def tile(band: Band, sizes: tuple[int, ...]) -> Band:
    """A band over blocks, around `band` itself, which then runs inside one block.

    `sizes` holds the iterations of each member in a block; the last one repeats.
    ValueError if the band is not permutable: a block would have to run before and after another.
    """
    if not band.permutable:
        raise ValueError("only a permutable band can be tiled")
    blocks = tuple(
        replace(member, schedule=_block_of(member.schedule, sizes[min(k, len(sizes) - 1)]))
        for k, member in enumerate(band.members)
    )
    return Band(blocks, permutable=True, child=band)


def tile_all(tree: Tree, sizes: tuple[int, ...]) -> Tree:
    """`tree` with every permutable band of two or more members tiled."""
    below = tuple(tile_all(child, sizes) for child in children(tree))
    tree = with_children(tree, below)
    return tile(tree, sizes) if isinstance(tree, Band) and tree.permutable and len(tree.members) > 1 else tree


def _block_of(schedule: isl.UnionMap, size: int) -> isl.UnionMap:
    """{ S[i, j] -> [floor(value / size)] }"""
    return schedule.apply_range(isl.UnionMap(f"{{ [x] -> [floor(x / {size})] }}"))


