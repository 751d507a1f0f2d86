"""Loop distribution: a loop over several statements becomes a loop for each of them, or for each cycle of dependences
(Allen and Kennedy, 1987).

    band: j                  sequence
      sequence                 filter: S0
        filter: S0     ->        band: j
        filter: S1             filter: S1
                                 band: j
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from polysched.deps.components import strongly_connected
from polysched.model.tree.nodes import Band, Filter, Sequence
from polysched.support import isl


def distribute(band: Band, reaching: isl.UnionMap) -> Sequence | None:
    """The loops one after the other, in the order of what they compute for each other; None if `band` is not around a
    sequence, or all its children depend on each other. `reaching` are the dependences that nothing above the band
    orders.
    """
    sequence = band.child
    if not isinstance(sequence, Sequence):
        return None
    branches = {str(k): branch for k, branch in enumerate(sequence.children)}
    pairs: list[tuple[str, str]] = []
    for source, one in branches.items():
        instances = reaching.intersect_domain(one.filter).range()
        sinks = (name for name, other in branches.items() if name != source and not other.filter.is_disjoint(instances))
        pairs += [(source, sink) for sink in sinks]
    parts = strongly_connected(list(branches), pairs)
    if len(parts) == 1:
        return None
    return Sequence(tuple(loop_over(band, tuple(branches[name] for name in part)) for part in parts))


def loop_over(band: Band, branches: tuple[Filter, ...]) -> Filter:
    """The loop over these branches alone."""
    own = reduce(isl.UnionSet.union, (branch.filter for branch in branches))
    members = tuple(replace(m, schedule=m.schedule.intersect_domain(own.universe())) for m in band.members)
    child = branches[0].child if len(branches) == 1 else Sequence(branches)
    return Filter(own, replace(band, members=members, child=child))
