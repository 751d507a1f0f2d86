"""polysched/deps/coincidence.py on a band of many statements, of which each depends on few."""

from __future__ import annotations

from itertools import pairwise

import pytest

from polysched.deps.coincidence import carried, in_one, mark_coincident, together
from polysched.deps.dependences import Dependence, Dependences
from polysched.model.tree.nodes import Band, Domain, Member
from polysched.support import isl

COUNT = 60
OPERATIONS = 100_000  # of isl; with a map for each pair it takes some 300 000
NAMES = [f"S{k}" for k in range(COUNT)]
SCHEDULE = isl.UnionMap("{" + "; ".join(f"{name}[i] -> [i + {k % 3}]" for k, name in enumerate(NAMES)) + "}")


def chain(distance: int) -> Dependences:
    """Each statement on the next one."""
    return Dependences(tuple(_dependence(source, sink, distance) for source, sink in pairwise(NAMES)))


def _dependence(source: str, sink: str, distance: int) -> Dependence:
    relation = isl.Map(f"[n] -> {{ {source}[i] -> {sink}[i + {distance}] : 0 <= i < n }}")
    return Dependence(kind="flow", source=source, sink=sink, array="a", relation=relation)


def tree() -> Domain:
    domain = isl.UnionSet("[n] -> {" + "; ".join(f"{name}[i] : 0 <= i < n" for name in NAMES) + "}")
    return Domain(domain, Band((Member(SCHEDULE),)))


@pytest.mark.parametrize("distance", [-1, 0, 2])
def test_the_part_in_one_iteration_is_that_of_all_pairs_in_it(distance):
    reaching = chain(distance).coincidence
    same = together(Member(SCHEDULE))
    assert in_one(Member(SCHEDULE), reaching).is_equal(reaching.intersect(same))
    assert carried(Member(SCHEDULE), reaching).is_equal(reaching.subtract(same))


def test_it_takes_no_map_for_each_two_statements():
    dependences = chain(-1)
    with isl.within(operations=OPERATIONS):
        marked = mark_coincident(tree(), dependences)
    assert isinstance(marked.child, Band) and not marked.child.members[0].coincident
