"""Register tiles: a block of elements that a loop adds to, small enough for the vector registers
(Goto and van de Geijn, TOMS 2008).

    band: i, k, j                               band: floor(j/24), floor(i/8)     tile("j", ...), tile("i", ...)
                                    ->            band: k                         reorder("j_r", "i_r", "k", "i", "j")
    C[i, j] += A[i, k] * B[k, j]                    mark: unroll
                                                      band: i                     unroll("i")
                                                        mark: vector
                                                          band: j                 vectorize("j")

A sum over a small window, as of a convolution, has all of its loops inside: floor(j/24), floor(i/8), r, s, i, j.
Without a loop to unroll, several updates of a row are made at a time; without a SIMD loop, several dot products.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polysched.config.heuristics.cpu import UPDATES_AT_ONCE, WINDOW_TERMS
from polysched.config.machine import Machine
from polysched.deps.coincidence import carried
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import Band, Leaf
from polysched.transform.analysis.roles import Around, Roles, roles, statements_of
from polysched.transform.analysis.sizes import Block, points_of, register_block
from polysched.transform.trees.tile import block_of


@dataclass(frozen=True)
class RegisterTile:
    """A block of what a band writes: `roles` of its loops, of which those of the window are inside, too."""

    roles: Roles
    block: Block
    window: tuple[int, ...]


def register_tile_of(
    band: Band, scop: Scop, around: Around, machine: Machine, tiles: Mapping[str, int]
) -> RegisterTile | None:
    """The register tile of a permutable band that runs one statement, in tiles of these sizes along loops; None if it
    gains by none, or if its lanes would wait for each other."""
    statements = tuple(statements_of(band, scop)) if band.permutable and isinstance(band.child, Leaf) else ()
    found = roles(statements[0], band, around) if len(statements) == 1 else None
    if found is None or _lanes_wait(band, found, around):
        return None
    block = register_block(statements[0], scop, machine, *found.rows_and_columns(band), tiles)
    return RegisterTile(found, block, _window(band, found, statements[0]))


def _lanes_wait(band: Band, found: Roles, around: Around) -> bool:
    """Do lanes that are independent in each update of a row wait for each other when several are made at a time?"""
    if found.unrolled is not None or found.vector is None:
        return False
    members = band.members
    others = (member for k, member in enumerate(members) if k not in (found.serial, found.vector))
    updates = Band((*others, block_of(members[found.serial], UPDATES_AT_ONCE)))
    return not carried(members[found.vector], around.below(updates).reaching).is_empty()


def _window(band: Band, found: Roles, statement: Statement) -> tuple[int, ...]:
    """The loops of a sum around its innermost, as many as run few times together, if a tile has rows and columns."""
    if found.unrolled is None or found.vector is None:
        return ()
    window: list[int] = []
    for k in (found.serial, *reversed(found.sums)):
        trips = points_of([band.members[each] for each in (*window, k)], statement)
        if trips is None or trips > WINDOW_TERMS:
            break
        window.append(k)
    return tuple(reversed(window[1:]))
