"""polysched/transform/separate.py: statements that share tiles, apart where nothing in a tile ties them together."""

from __future__ import annotations

import nests
import pytest

from polysched import isl
from polysched.examples import gemm
from polysched.model.tree import Band, Sequence, walk
from polysched.model.tree_text import show_tree
from polysched.transform.roles import Around
from polysched.transform.separate import separate
from polysched.transform.tile import tile
from tests.transform.scheduled import Scheduled, random_scheduled, scheduled

SIZE = 3


def separated(nest: Scheduled) -> tuple[Band, Band]:
    """The first band of the nest in tiles, and then with statements apart."""
    tiles = tile(nest.tree.child.child, (SIZE,) * len(nest.tree.child.child.members))
    return tiles, separate(tiles, nest.scop, Around((), nest.deps.coincidence))


def branches(blocks: Band) -> list[isl.UnionSet]:
    return [branch.filter for branch in blocks.child.children]


def test_the_updates_of_a_factorisation_are_apart_from_its_divisions():
    nest = scheduled(nests.lu())
    tiles, apart = separated(nest)
    assert isinstance(apart.child, Sequence)
    shared, *updates = apart.child.children
    assert shared.child == tiles.child
    assert all(len(isl_names(branch.filter)) == 1 for branch in updates)
    assert isl_names(shared.filter) >= {"S1"}


def isl_names(instances: isl.UnionSet) -> set[str]:
    return {part.get_tuple_name() for part in isl.sets_of(instances)}
