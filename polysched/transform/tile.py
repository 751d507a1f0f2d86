"""Tiling: the loops of a permutable band in blocks (Irigoin and Triolet, POPL 1988).

    band: i, j            band: floor(i/32), floor(j/32)
                   ->         band: i, j
"""

from __future__ import annotations

from dataclasses import replace

from polysched import isl
from polysched.deps.coincidence import left_below
from polysched.deps.dependences import Dependences
from polysched.model.tree import Band, Member, Tree, children, with_children
from polysched.transform.vectorize import can_vectorize


def tile(band: Band, sizes: tuple[int, ...]) -> Band:
    """A band over blocks, around `band` itself, which then runs inside one block.

    `sizes` are the iterations of each member in a block: the last one is for the last member, the one before it
    repeats for the others. ValueError if the band is not permutable: a block would have to run before and after
    another.
    """
    if not band.permutable:
        raise ValueError("only a permutable band can be tiled")
    *others, last = band.members
    outer = sizes[:-1] or sizes
    blocks = [block_of(member, outer[min(k, len(outer) - 1)]) for k, member in enumerate(others)]
    return Band((*blocks, block_of(last, sizes[-1])), permutable=True, child=band)


def tile_all(tree: Tree, dependences: Dependences, sizes: tuple[int, ...]) -> Tree:
    """`tree` with every permutable band of two or more members tiled.

    The last of `sizes` is for innermost loops that will run as SIMD: others get the one before it.
    """
    return _tiled(tree, dependences.coincidence, sizes)


def _tiled(tree: Tree, reaching: isl.UnionMap, sizes: tuple[int, ...]) -> Tree:
    below = left_below(tree, reaching)
    tree = with_children(tree, tuple(_tiled(child, below, sizes) for child in children(tree)))
    if not (isinstance(tree, Band) and tree.permutable and len(tree.members) > 1):
        return tree
    fits = len(sizes) >= len(tree.members) or can_vectorize(tree, reaching)
    return tile(tree, sizes if fits else sizes[:-1] or sizes)


def block_of(member: Member, size: int) -> Member:
    """{ S[i, j] -> [floor(value / size)] }"""
    blocks = member.schedule.apply_range(isl.UnionMap(f"{{ [x] -> [floor(x / {size})] }}"))
    return replace(member, schedule=blocks)
