"""Time tiles of stencils: a block of the arrays, with a halo around it, runs several steps of the outer loop on its own
(overlapped tiles: Krishnamoorthy et al., PLDI 2007; Holewinski, Pouchet and Sadayappan, ICS 2012).

    band: t                                  band: t_o, t_p                          time tile 2 t_o + t_p
      sequence                                 band: x_b, y_b                        a block of A and of B
        S: i, j   B[i, j] = f(A)      ->         mark: storage:A_s, B_s
        R: i, j   A[i, j] = g(B)                   sequence
                                                     load_A: A_s = A, or what the time tile before has left in A_o
                                                     band: t
                                                       S_at: B_s[..] = f(A_s), R_at: A_s[..] = g(B_s)
                                                     store_A: A_o, or A for odd time tiles, = A_s in the block

A block has the instances that write to its elements, and those that these need (`halo.py`), in the order that they had:
so each read finds what the last write before it left, in the block if that was in the time tile, or else where it was
loaded from. An array of which no value goes from one time tile to the next is not loaded, but for elements that nothing
writes, and stored by the last time tile alone. What blocks read of each other, they read of one buffer while they store
to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polysched.config.heuristics.stencils import STRIP
from polysched.deps.legality import require_legal
from polysched.errors import InputError
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.loops import fresh, loop, nested
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.base.same_values import require_in_bounds
from polysched.transform.edits.values.storage import Scope
from polysched.transform.edits.values.time_tiles.halo import halos, reaches_of
from polysched.transform.edits.values.time_tiles.nest import AXES, Tiled
from polysched.transform.edits.values.time_tiles.order import require_parallel_steps
from polysched.transform.edits.values.time_tiles.parts import Parts
from polysched.transform.edits.values.time_tiles.stencil import stencil_of
from polysched.transform.edits.values.time_tiles.tiles import Tiles


@edit("values", "t, (i; ...) -> t_o, t_p, x_b, (...; t, (x_t, x; ...); ...)")
def time_tile(
    draft: Draft, name: str, sizes: Sequence[int], steps: int, rows: int = STRIP, scope: Scope = "shared"
) -> Draft:
    """Several steps of a stencil at a time, in blocks of its arrays with a halo, which need no other block as long.

    Blocks are of these `sizes`, along x, y, ..., and load what they need of their neighbours for all `steps`, which
    they compute again. Loops x_b, y_b, ... are over blocks, x_t over strips of so many `rows` in one, y_t over columns,
    and x over the rows of a strip; `scope` is where copies of the arrays live, as for `cache_read`. InputError if the
    loop is not outermost, or a statement in it does not write one known element of an array with as many dimensions as
    there are sizes; IllegalSchedule where what a block needs is not near it.

        for t:                        for t_o: for t_p:
            for i: B[i] = f(A)   ->       for x_b:
            for i: A[i] = g(B)                load A_s; for t: for i: B_s = f(A_s); ...
                                                                     time_tile("t", sizes=(256,), steps=4)
    """
    place = loop(draft.nested, name)
    what = f"time_tile({name}, sizes={tuple(sizes)}, steps={steps})"
    if not sizes or not all(isinstance(size, int) and size > 0 for size in (*sizes, steps, rows)):
        raise InputError(f"{what}: a tile has positive sizes and steps")
    if draft.unshown is not None:
        raise InputError(f"{what} is not shown together with other edits")
    if draft.waits:  # what follows is right for an order that is legal
        require_legal(draft.nested, draft.dependences, draft.scop, what=what)
    stencil = stencil_of(draft, place, len(sizes), what)
    require_parallel_steps(draft.dependences, stencil, what)
    reaches = reaches_of(stencil.flow, stencil.places, steps, draft.scop.context)
    around = halos(stencil.statements, reaches, len(sizes))
    tiles = Tiles(stencil, around, tuple(sizes), steps)
    wanted = [f"{place.name}_o", f"{place.name}_p", *(f"{axis}_b" for axis in AXES[: len(sizes)])]
    tiled = Tiled(draft, place, Parts(tiles, tuple(fresh(draft.nested, each) for each in wanted), scope), rows)
    tiled.require_written(what)
    scop, tree = tiled.scop, nested(tiled.tree)
    require_in_bounds(scop, what)
    if not draft.waits:
        require_legal(tree, tiled.dependences, scop, what=what)
    return replace(draft, scop=replace(scop, tree=tree), dependences=tiled.dependences, nested=tree)
