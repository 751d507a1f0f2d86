"""Interleaving: several rows at a time of a loop whose iterations wait for each other (unroll and jam).

    band: i, j                                       band: floor(i/8)          tile("i", sizes=(8,), names=("i_r",))
                                            ->         band: j                 reorder("i_r", "j", "i")
    p[i, j] = 1 / (a * p[i, j - 1] + b)                  mark: unroll          unroll("i")
                                                           band: i

Along j each division waits for the one before; eight rows of i keep the processor busy meanwhile.
"""

from __future__ import annotations

from polysched.model.tree.nodes import Band, Leaf, Member, Sequence
from polysched.support import isl
from polysched.transform.analysis.vectorize import can_vectorize


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
