"""transform/trees/distribute.py: statements that share tiles, apart where nothing in a tile ties them together."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import nests
import pytest
from nests import add, load, loop, mul, n, nest, store, var

from benchmarks.polybench import KERNELS
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array
from polysched.model.tree.nodes import Band, Filter, Leaf, Sequence, Tree, children, with_children
from polysched.model.tree.text import show_tree
from polysched.support import isl
from polysched.transform.analysis.roles import Around, statements_of
from polysched.transform.trees.distribute import separate
from polysched.transform.trees.tile import tile
from tests.transform.scheduled import Scheduled, band, random_scheduled, scheduled, tiled

SIZE = 3
i, j, k = var("i"), var("j"), var("k")
A, B, C, D = (Array(name, f64, (n, n)) for name in "ABCD")


def separated(nest: Scheduled) -> Band:
    """The first band of the nest in tiles, with statements apart."""
    blocks, around = tiles_of(nest)
    return separate(blocks, nest.scop, around)


def tiles_of(nest: Scheduled) -> tuple[Band, Around]:
    tree, around = nest.tree, Around((), nest.deps.coincidence)
    while not isinstance(tree, Band):
        around = around.below(tree)
        (tree,) = children(tree)
    return tile(tree, (SIZE,) * len(tree.members)), around


def names(branch: Filter) -> set[str]:
    return {part.get_tuple_name() for part in isl.sets_of(branch.filter)}


def updates_of(target: Array, *others: Array):
    return [store(target, (i, j), add(load(target, i, j), mul(load(a, i, k), load(B, k, j)))) for a in others]


def test_updates_of_a_factorisation_are_apart_in_the_tiles_that_need_no_division():
    apart = separated(scheduled(nests.lu()))
    assert isinstance(apart.child, Sequence)
    assert [names(branch) for branch in apart.child.children] == [{"S0", "S1", "S2"}, {"S0"}, {"S2"}]
    assert show_tree(apart.child.children[1].child) == (
        "band: permutable\n  [S0[i, j, k] -> k]\n  [S0[i, j, k] -> i]\n  [S0[i, j, k] -> j]"
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


def test_statements_that_nothing_ties_are_apart_everywhere():
    arrays = (A, B, C, D)
    body = [*updates_of(C, A), *updates_of(D, A)]
    both = scheduled(nest("both", "n", arrays, loop("i", 0, n, loop("j", 0, n, loop("k", 0, n, *body)))))
    pair = band(*(f"S0[i, j, k] -> {x}; S1[i, j, k] -> {x}" for x in "ijk"))
    statements = [statement.name for statement in both.scop.statements]
    assert statements == ["S0", "S1"]
    order = tuple(Filter(isl.UnionSet.from_set(isl.Set.universe(s.domain.get_space()))) for s in both.scop.statements)
    blocks = tile(with_children(pair, (Sequence(order),)), (SIZE,) * 3)
    apart = separate(blocks, both.scop, Around((), both.deps.coincidence))
    assert [names(branch) for branch in apart.child.children] == [{"S0"}, {"S1"}]
    assert all(isinstance(branch.child.child, Leaf) for branch in apart.child.children)


def test_one_statement_and_statements_that_reuse_nothing_stay():
    for fn in (nests.seidel_2d(), nests.jacobi_1d()):
        blocks, around = tiles_of(nest := scheduled(fn))
        assert separate(blocks, nest.scop, around) == blocks


def test_a_statement_in_two_branches_of_the_points_keeps_both():
    """Even rows first: nothing ties them to the odd ones."""
    nest = scheduled(nests.lu())
    blocks, around = tiles_of(nest)
    points = blocks.child
    sequence = points.child
    halves = [Filter(isl.UnionSet(f"{{ S0[i, j, k] : i mod 2 = {half} }}")) for half in (0, 1)]
    points = replace(points, child=Sequence((*halves, *sequence.children[1:])))
    apart = separate(replace(blocks, child=points), nest.scop, around)
    alone = next(branch for branch in apart.child.children if names(branch) == {"S0"})
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
    for blocks, around in bands(nest.tree, Around((), nest.deps.coincidence)):
        apart = separate(blocks, nest.scop, around)
        if apart != blocks:
            count += 1
            filters = [branch.filter for branch in apart.child.children]
            domains = [isl.UnionSet.from_set(s.domain) for s in statements_of(blocks, nest.scop)]
            assert reduce(isl.UnionSet.union, filters).is_equal(reduce(isl.UnionSet.union, domains))
            assert all(one.is_disjoint(other) for k, one in enumerate(filters) for other in filters[:k])
    return count


def bands(tree: Tree, around: Around):
    """Every permutable band in tiles, with what is around it."""
    if isinstance(tree, Band) and tree.permutable:
        yield tile(tree, (SIZE,) * len(tree.members)), around
    for child in children(tree):
        yield from bands(child, around.below(tree))
