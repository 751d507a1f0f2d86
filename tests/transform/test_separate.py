"""transform/trees/distribute.py: statements that share tiles, apart where nothing in a tile ties them together."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import nests
import pytest

from benchmarks.polybench import KERNELS
from polysched.config.options import Options
from polysched.model.tree.nodes import Band, Filter, InOrder, Tree, children, walk
from polysched.model.tree.text import show_tree
from polysched.strategy.cpu import tiles
from polysched.support import isl
from polysched.transform.analysis.roles import Around, statements_of
from polysched.transform.trees.distribute import apart
from polysched.transform.trees.tile import block_of
from tests.transform.scheduled import Scheduled, random_scheduled, scheduled, script_of, tiled

SIZE = 3


def separated(nest: Scheduled) -> Band:
    """The first band of the nest in tiles, with statements that gain by it apart."""
    return next(node for node in walk(tiled(nest, SIZE)) if isinstance(node, Band))


def in_tiles(points: Band) -> Band:
    return Band(tuple(block_of(member, SIZE) for member in points.members), permutable=True, child=points)


def all_apart(blocks: Band, nest: Scheduled, around: Around) -> Band:
    """With each statement apart that can be."""
    statements = list(statements_of(blocks, nest.scop))
    return apart(blocks, statements, statements, around.below(blocks).reaching)


def names(branch: Filter) -> set[str]:
    return {part.get_tuple_name() for part in isl.sets_of(branch.filter)}


def test_updates_of_a_factorisation_are_apart_in_the_tiles_that_need_no_division():
    apart = separated(scheduled(nests.lu()))
    assert isinstance(apart.child, InOrder)
    assert [names(branch) for branch in apart.child.children] == [{"S0", "S1", "S2"}, {"S0"}, {"S2"}]
    assert show_tree(apart.child.children[1].child) == (
        "band: permutable\n  [S0[i, j, k] -> k]\n  [S0[i, j, k] -> i] coincident\n  [S0[i, j, k] -> j] coincident"
    )


def test_the_statements_stay_together_in_the_tiles_on_a_diagonal():
    """There a division needs what an update has just computed, and gives another one what it needs."""
    apart = separated(scheduled(nests.lu()))
    shared, alone, _ = (branch.filter for branch in apart.child.children)
    near, far = isl.UnionSet("{ S0[4, 2, 1] }"), isl.UnionSet("{ S0[9, 7, 1] }")
    sizes = isl.UnionSet("[n] -> { S0[i, j, k] : n = 12 }")
    for instance, there, elsewhere in ((near, shared, alone), (far, alone, shared)):
        assert not instance.intersect(sizes).intersect(there).is_empty()
        assert instance.intersect(sizes).intersect(elsewhere).is_empty()


def test_one_statement_and_statements_that_reuse_nothing_stay():
    for fn in (nests.gemm(), nests.jacobi_1d()):
        edits = script_of(scheduled(fn), tiles, options=Options(tile_sizes=(SIZE,), diamond=False)).edits
        assert {edit.name for edit in edits} == {"tile"}


def test_a_statement_in_two_branches_of_the_points_keeps_both():
    """Even rows first: nothing ties them to the odd ones."""
    nest = scheduled(nests.lu())
    points, around = next(each for each in bands(nest.tree, Around((), nest.deps.coincidence)))
    sequence = points.child
    halves = [Filter(isl.UnionSet(f"{{ S0[i, j, k] : i mod 2 = {half} }}")) for half in (0, 1)]
    points = replace(points, child=InOrder((*halves, *sequence.children[1:])))
    found = all_apart(in_tiles(points), nest, around)
    alone = next(branch for branch in found.child.children if names(branch) == {"S0"})
    assert alone.child.child == points.child


FACTORISATIONS = ["lu", "cholesky", "trisolv"]


@pytest.mark.parametrize("name", FACTORISATIONS)
@pytest.mark.parametrize("size", [2, 3])
def test_factorisations_stay_legal_and_compute_the_same_bits(name, size):
    nest = scheduled(KERNELS[name].nest.function)
    nest.assert_holds(tiled(nest, size))


@pytest.mark.parametrize("name", FACTORISATIONS)
def test_each_instance_of_a_factorisation_is_in_exactly_one_branch(name):
    assert branches_are_a_partition(scheduled(KERNELS[name].nest.function)) == 1


@pytest.mark.parametrize("seed", range(40))
def test_each_instance_of_a_random_nest_is_in_exactly_one_branch(seed):
    branches_are_a_partition(random_scheduled(seed))


def branches_are_a_partition(nest: Scheduled) -> int:
    """Checks all bands of the nest in tiles; how many had statements to separate."""
    count = 0
    for points, around in bands(nest.tree, Around((), nest.deps.coincidence)):
        blocks = in_tiles(points)
        found = all_apart(blocks, nest, around)
        if found != blocks:
            count += 1
            filters = [branch.filter for branch in found.child.children]
            domains = [isl.UnionSet.from_set(s.domain) for s in statements_of(blocks, nest.scop)]
            assert reduce(isl.UnionSet.union, filters).is_equal(reduce(isl.UnionSet.union, domains))
            assert all(one.is_disjoint(other) for k, one in enumerate(filters) for other in filters[:k])
    return count


def bands(tree: Tree, around: Around):
    """Every permutable band of several statements, with what is around it."""
    if isinstance(tree, Band) and tree.permutable and tree.members[0].schedule.domain().n_set() > 1:
        yield tree, around
    for child in children(tree):
        yield from bands(child, around.below(tree))
