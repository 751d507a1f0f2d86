"""Which innermost loops may run as SIMD: those whose iterations are independent inside of the loops around.

    band: i, k, j                       band: i, k
                            ->            mark: vector              vectorize("j")
    C[i, j] += A[i, k] * B[k, j]            band: j

A loop over several statements that depend on each other is distributed if that makes one of its parts independent.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.deps.coincidence import carried, left_below
from polysched.model.tree.nodes import Band, is_innermost
from polysched.support import isl
from polysched.transform.trees.distribute import distribute


def can_vectorize(band: Band, reaching: isl.UnionMap) -> bool:
    """Is the last loop of an innermost `band`, or one that it is distributed to, independent inside of the others?
    `reaching` are the dependences that nothing above orders."""
    if not is_innermost(band):
        return False
    *outer, last = band.members
    inside = left_below(Band(tuple(outer)), reaching)
    if carried(last, inside).is_empty():
        return True
    parts = distribute(replace(band, members=(last,)), inside)
    return parts is not None and any(carried(last, left_below(part, inside)).is_empty() for part in parts.children)
