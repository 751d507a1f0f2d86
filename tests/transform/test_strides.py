"""polysched/transform/strides.py: the loop with the shortest strides innermost."""

from __future__ import annotations

import nests
import pytest
from scops import scop, stmt

from polysched.model.tree import Band, with_children
from polysched.model.tree import walk as nodes
from polysched.transform.strides import stride_one_innermost
from tests.transform.scheduled import band, random_scheduled, scheduled

i, j, k = "S[i, j, k] -> i", "S[i, j, k] -> j", "S[i, j, k] -> k"
CUBE = "{ S[i, j, k] : 0 <= i, j, k < n }"
LOOPS = band(i, j, k, coincident=(0, 1))


def order(nest, tree=LOOPS) -> str:
    """The loops of the innermost bands, as a word."""
    bands = [node for node in nodes(stride_one_innermost(tree, nest)) if isinstance(node, Band)]
    return "".join("ijk"[LOOPS.members.index(member)] for node in bands for member in node.members)


def cube(writes, *reads):
    return scop("[n] -> { : }", stmt(CUBE, writes=writes, reads=reads))


def test_matrix_products_run_along_the_rows_of_b_and_c():
    assert order(cube("C[i, j]", "C[i, j]", "A[i, k]", "B[k, j]")) == "ikj"


@pytest.mark.parametrize(
    ("nest", "expected"),
    [
        (cube("C[j, i]", "C[j, i]", "A[k, i]", "B[j, k]"), "jki"),
        (cube("b[i, j, k]", "a[i, j, k]"), "ijk"),
        (cube("b[k, j, i]", "a[k, j, i]"), "jki"),
        (cube("b[i, k, 2j]", "a[i, j, 3k]"), "ijk"),
        (cube("b[i, k, -j]", "a[i, k, -j]"), "ikj"),
        (cube("b[i, k, j + n]", "b[i, k, j + 1]"), "ikj"),
        (cube("s[]", "s[]", "a[k, j, i]"), "jki"),
    ],
    ids=["transposed", "in place", "reversed", "all far: stays", "backward is near", "shifts do not count", "scalar"],
)
def test_the_loop_with_the_fewest_far_accesses_is_last_and_the_others_keep_their_order(nest, expected):
    assert order(nest) == expected


def test_flags_move_with_their_loops():
    (tree,) = [stride_one_innermost(LOOPS, cube("C[i, j]", "A[i, k]", "B[k, j]"))]
    assert tree.permutable and [member.coincident for member in tree.members] == [True, False, True]


def test_loops_in_a_fixed_order_stay():
    fixed = band(i, j, k, permutable=False)
    assert stride_one_innermost(fixed, cube("b[k, j, i]", "a[k, j, i]")) == fixed


def test_only_innermost_bands_are_reordered_and_the_loops_around_stand_still():
    tree = with_children(band(i), (band(j, k),))
    assert stride_one_innermost(tree, cube("b[k, j]", "a[k, i]")) == with_children(band(i), (band(k, j),))
    outer = with_children(band(i, j), (band(k),))
    assert stride_one_innermost(outer, cube("b[j, i]", "a[j, i]")) == outer


def test_a_skewed_loop_is_judged_with_the_others_standing():
    """Along t + i, with t standing, i steps."""
    nest = scheduled(nests.jacobi_1d())
    assert stride_one_innermost(nest.tree, nest.scop) == nest.tree


@pytest.mark.parametrize("seed", range(15))
def test_random_nests_stay_legal_and_compute_the_same_bits(seed):
    nest = random_scheduled(seed)
    nest.assert_holds(stride_one_innermost(nest.tree, nest.scop))
