"""polysched/transform/parallel.py: the outermost parallel loop of every nest on threads."""

from __future__ import annotations

import nests
import pytest

from polysched import isl
from polysched.model.tree import (
    Band,
    Filter,
    Parallel,
    Sequence,
    Tree,
    Vector,
    children,
    marked_as,
    own_marks,
    with_children,
)
from polysched.model.tree_text import show_tree
from polysched.transform.parallel import mark_parallel
from tests.transform.scheduled import band, random_scheduled, scheduled

k, i, j = "S[k, i, j] -> k", "S[k, i, j] -> i", "S[k, i, j] -> j"


def test_the_parallel_loop_of_a_permutable_band_moves_outermost():
    assert show_tree(mark_parallel(band(k, i, j, coincident=(1, 2)))) == (
        "mark: parallel\n"
        "  band: permutable\n"
        "    [S[k, i, j] -> i] coincident\n"
        "    [S[k, i, j] -> k]\n"
        "    [S[k, i, j] -> j] coincident"
    )


def test_in_a_fixed_order_the_loops_before_it_stay_outside():
    assert show_tree(mark_parallel(band(k, i, j, permutable=False, coincident=(1, 2)))) == (
        "band:\n"
        "  [S[k, i, j] -> k]\n"
        "  mark: parallel\n"
        "    band:\n"
        "      [S[k, i, j] -> i] coincident\n"
        "      [S[k, i, j] -> j] coincident"
    )


def test_one_member_that_is_first_gets_the_mark_and_nothing_moves():
    loop = band(i, permutable=False, coincident=(0,))
    assert mark_parallel(loop) == marked_as(loop, Parallel())


def test_threads_are_not_started_inside_threads():
    tree = with_children(band(i, coincident=(0,)), (band(j, coincident=(0,)),))
    assert show_tree(mark_parallel(tree)).count("mark: parallel") == 1


def test_nests_side_by_side_are_marked_each():
    branches = tuple(
        Filter(isl.UnionSet(f"{{ S[k, i, j] : i % 3 = {part} }}"), band(i, j, coincident=flags))
        for part, flags in enumerate([(0,), (), (0,)])
    )
    marked = mark_parallel(with_children(band(k), (Sequence(branches),)))
    assert [bool(own_marks(branch.child)) for branch in children(children(marked)[0])] == [True, False, True]


def test_one_loop_alone_has_threads_unless_others_repeat_it():
    loop = band(i, coincident=(0,))
    assert mark_parallel(loop) == marked_as(loop, Parallel())
    repeated = with_children(band(k), (loop,))
    assert mark_parallel(repeated) == repeated


def test_a_simd_loop_has_threads_instead_of_lanes_unless_others_repeat_it():
    loop = band(i, coincident=(0,))
    assert mark_parallel(marked_as(loop, Vector())) == marked_as(loop, Parallel())
    repeated = with_children(band(k), (marked_as(loop, Vector()),))
    assert mark_parallel(repeated) == repeated


def test_a_serial_nest_stays():
    sweep = scheduled(nests.reversed_sweep())
    assert mark_parallel(sweep.tree) == sweep.tree


@pytest.mark.parametrize("seed", range(15))
def test_random_nests_have_one_mark_on_a_path_and_it_is_true(seed):
    nest = random_scheduled(seed)
    marked = mark_parallel(nest.tree)
    for path in paths(marked):
        loops = [node for node in path if isinstance(node, Band)]
        *outer, last = loops or [Band((), True)]
        is_long = len(last.members) > 1 or not outer
        counted = [*outer, last] if is_long else outer
        assert sum(len(own_marks(node)) for node in path) == any(m.coincident for b in counted for m in b.members)
    nest.assert_holds(marked)


def paths(tree: Tree) -> list[list[Tree]]:
    """The nodes from the root to each leaf."""
    return [[tree, *rest] for child in children(tree) for rest in paths(child)] or [[tree]]

