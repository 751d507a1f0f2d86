"""polysched/transform/analysis/roles.py: the loop with the shortest strides innermost."""

from __future__ import annotations

import nests
import pytest
from scops import scop, stmt

from polysched.deps.dependences import Dependences
from polysched.model.tree.nodes import Band
from polysched.model.tree.nodes import walk as nodes
from polysched.strategy import cpu
from tests.transform.scheduled import band, on_loops, random_scheduled, scheduled, script_of, written

i, j, k = "S[i, j, k] -> i", "S[i, j, k] -> j", "S[i, j, k] -> k"
CUBE = "{ S[i, j, k] : 0 <= i, j, k < n }"
LOOPS = band(i, j, k)


def order(nest) -> str:
    """The loops, as a word, where nothing asks for any order."""
    return loops(written(on_loops(nest, LOOPS, Dependences(())), cpu.strides))


def loops(tree) -> str:
    return "".join(member.name for node in nodes(tree) if isinstance(node, Band) for member in node.members)


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
    product = cube("C[i, j]", "C[i, j]", "A[i, k]", "B[k, j]")
    tree = written(on_loops(product, LOOPS), cpu.strides).child
    assert tree.permutable and [member.coincident for member in tree.members] == [True, False, True]


def test_loops_in_a_fixed_order_stay():
    total = cube("s[]", "s[]", "a[k, j, i]")
    assert script_of(on_loops(total, LOOPS), cpu.strides).edits == []


def test_only_innermost_bands_are_reordered_and_the_loops_around_stand_still():
    """Another order of i and j, or of j and k, runs some iterations before those that they wait for."""
    inner = on_loops(cube(["b[k, j]", "c[i, j]"], "a[k, i]", "c[i - 1, j + 1]"), LOOPS)
    tree = written(inner, cpu.strides).child
    assert [len(node.members) for node in nodes(tree) if isinstance(node, Band)] == [1, 2] and loops(tree) == "ikj"
    outer = on_loops(cube(["b[j, i]", "c[i, j, k]"], "a[j, i]", "c[i, j - 1, k + 1]"), LOOPS)
    script = script_of(outer, cpu.strides)
    assert script.edits == [] and len(script.tree.child.members) == 2


def test_a_skewed_loop_is_judged_with_the_others_standing():
    """Along t + i, with t standing, i steps."""
    nest = scheduled(nests.jacobi_1d())
    assert script_of(nest, cpu.strides).edits == []


@pytest.mark.parametrize("seed", range(15))
def test_random_nests_stay_legal_and_compute_the_same_bits(seed):
    nest = random_scheduled(seed)
    nest.assert_holds(written(nest, cpu.strides))
