"""Loop distribution: a loop over several statements becomes a loop for each of them (Allen and Kennedy, 1987).

    band: j                  sequence
      sequence                 filter: S0
        filter: S0     ->        band: j
        filter: S1             filter: S1
                                 band: j
"""

from __future__ import annotations

from dataclasses import replace

from polysched import isl
from polysched.model.tree import Band, Sequence


def distribute(band: Band, reaching: isl.UnionMap) -> Sequence | None:
    """The loops one after the other; None if `band` is not around a sequence, or a later child must run before an
    earlier one. `reaching` are the dependences that nothing above the band orders.
    """
    sequence = band.child
    if not isinstance(sequence, Sequence):
        return None
    earlier = isl.UnionSet("{ }")
    for branch in sequence.children:
        if not reaching.intersect_domain(branch.filter).intersect_range(earlier).is_empty():
            return None
        earlier = earlier.union(branch.filter)
    return Sequence(tuple(replace(branch, child=replace(band, child=branch.child)) for branch in sequence.children))
