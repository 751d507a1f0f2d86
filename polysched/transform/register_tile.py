"""Register tiles: a block of elements that a loop adds to, small enough for the vector registers
(Goto and van de Geijn, TOMS 2008).

    band: i, k, j                               band: floor(j/24), floor(i/8)
                                    ->            band: k
    C[i, j] += A[i, k] * B[k, j]                    mark: unroll
                                                      band: i
                                                        mark: vector
                                                          band: j

A sum over a small window, as of a convolution, has all of its loops inside: floor(j/24), floor(i/8), r, s, i, j.
Without a loop to unroll, several updates of a row are made at a time; without a SIMD loop, several dot products.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.deps.coincidence import carried
from polysched.deps.dependences import Dependences
from polysched.heuristics.cpu import UPDATES_AT_ONCE, WINDOW_TERMS
from polysched.machine import Machine
from polysched.model.scop import Scop, Statement
from polysched.model.tree import Band, Leaf, LoopMark, Member, Tree, Unroll, Vector, children, with_children
from polysched.transform.roles import Around, Roles, roles, statements_of
from polysched.transform.sizes import Block, points_of, register_block
from polysched.transform.tile import block_of
from polysched.transform.unskew import in_order


def register_tile_all(tree: Tree, scop: Scop, dependences: Dependences, machine: Machine) -> Tree:
    """`tree` with every permutable band that runs one statement and keeps what it writes in place tiled once more."""
    return _Tiling(scop, machine).tiled(tree, Around((), dependences.coincidence))


@dataclass(frozen=True)
class RegisterTile:
    """A block of what a band writes: `roles` of its loops, of which those of the window are inside, too."""

    roles: Roles
    block: Block
    window: tuple[int, ...]


def register_tile_of(band: Band, scop: Scop, around: Around, machine: Machine) -> RegisterTile | None:
    """The register tile of a permutable band; None if it gains by none."""
    statements = tuple(statements_of(band, scop)) if band.permutable and isinstance(band.child, Leaf) else ()
    found = roles(statements[0], band, around) if len(statements) == 1 else None
    if found is None:
        return None
    unrolled = None if found.unrolled is None else band.members[found.unrolled]
    block = register_block(statements[0], scop, machine, unrolled)
    return RegisterTile(found, block, _window(band, found, statements[0]))


@dataclass(frozen=True)
class _Tiling:
    scop: Scop
    machine: Machine

    def tiled(self, tree: Tree, around: Around) -> Tree:
        if isinstance(tree, Band) and tree.permutable and isinstance(tree.child, Leaf):
            found = register_tile_of(tree, self.scop, around, self.machine)
            return tree if found is None else register_tile(tree, found, around)
        below = around.below(tree)
        return with_children(tree, tuple(self.tiled(child, below) for child in children(tree)))


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


def register_tile(band: Band, tile: RegisterTile, around: Around) -> Band:
    """The band tiled so; as it is if its lanes would wait for each other."""
    found, block, window, members = tile.roles, tile.block, tile.window, band.members
    taken = (found.serial, found.unrolled, found.vector, *window)
    others = tuple(members[k] for k in range(len(members)) if k not in taken)
    serial = members[found.serial]
    match found:
        case Roles(unrolled=None, vector=int(v)):
            inside = _marked(Vector(), members[v], _marked(Unroll(), serial, band.child))
            tiled = Band((*others, block_of(serial, UPDATES_AT_ONCE)), True, inside)
            # Iterations that are independent within each update need not be so across several of them.
            return tiled if carried(members[v], around.below(tiled).reaching).is_empty() else band
        case Roles(unrolled=int(u), vector=None):
            inside = _marked(Unroll(), members[u], band.child)
            return Band((*others, block_of(members[u], block.rows)), True, Band((serial,), True, inside))
        case Roles(unrolled=int(u), vector=int(v)):
            inside = _marked(Unroll(), members[u], _marked(Vector(), members[v], band.child))
            blocks = (block_of(members[v], block.columns), block_of(members[u], block.rows))
            return Band((*others, *blocks), True, _simple(Band((*(members[k] for k in window), serial), True, inside)))
    raise AssertionError(f"neither unrolled nor SIMD: {found}")


def _simple(band: Band) -> Band:
    """The loops of a sum, which run as they stand, without what skews them: then all run alike, in registers."""
    straight = in_order(band)
    return band if straight.members == band.members else straight


def _marked(mark: LoopMark, member: Member, child: Tree) -> Band:
    coincident = member.coincident or isinstance(mark, Vector)
    return Band((replace(member, coincident=coincident, marks=(mark,)),), True, child)
