"""Interleaving: several rows at a time of a loop whose iterations wait for each other (unroll and jam).

    band: i, j                                       band: floor(i/8)
                                            ->         band: j
    p[i, j] = 1 / (a * p[i, j - 1] + b)                  mark: unroll
                                                           band: i

Along j each division waits for the one before; eight rows of i keep the processor busy meanwhile.
"""

from __future__ import annotations

from polysched import isl
from polysched.deps.coincidence import left_below
from polysched.deps.dependences import Dependences
from polysched.heuristics.cpu import INTERLEAVED_ROWS
from polysched.model.tree import Band, Leaf, Member, Sequence, Tree, Unroll, children, mark_of, marked_as, with_children
from polysched.transform.tile import block_of
from polysched.transform.vectorize import can_vectorize


def interleave_all(tree: Tree, dependences: Dependences) -> Tree:
    """`tree` with an outer parallel loop of each innermost permutable band that cannot run as SIMD unrolled inside."""
    return _interleaved(tree, dependences.coincidence)


def _interleaved(tree: Tree, reaching: isl.UnionMap) -> Tree:
    if mark_of(tree, Unroll):
        return tree
    if isinstance(tree, Band) and (row := row_to_interleave(tree, reaching)):
        *outer, last = tree.members
        others = [member for member in outer if member is not row]
        inside = marked_as(Band((row,), True, tree.child), Unroll())
        return Band((*others, block_of(row, INTERLEAVED_ROWS)), True, Band((last,), True, inside))
    below = left_below(tree, reaching)
    return with_children(tree, tuple(_interleaved(child, below) for child in children(tree)))


def row_to_interleave(band: Band, reaching: isl.UnionMap) -> Member | None:
    """The parallel loop of the band whose rows would run together; None if there is none, or no need."""
    if not (band.permutable and _is_flat(band)):
        return None
    row = next((member for member in band.members[:-1] if member.coincident), None)
    return None if row is None or can_vectorize(band, reaching) else row


def _is_flat(band: Band) -> bool:
    """Does it run statements, with no loop below?"""
    match band.child:
        case Leaf():
            return True
        case Sequence(children=branches):
            return all(isinstance(branch.child, Leaf) for branch in branches)
    return False
