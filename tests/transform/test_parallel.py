"""polysched/transform/analysis/vectorize.py: the outermost parallel loop of every nest on threads."""

from __future__ import annotations

import nests
import pytest
from scops import scop, stmt

from polysched.model.tree.nodes import Band, InOrder, Parallel, Tree, Vector, children, marks_in, own_marks, walk
from polysched.model.tree.text import show_tree
from polysched.strategy.cpu import lanes, threads
from polysched.strategy.script import Script
from tests.transform.scheduled import (
    Scheduled,
    band,
    in_source_order,
    on_loops,
    random_scheduled,
    scheduled,
    script_of,
    written,
)

k, i, j = "S[k, i, j] -> k", "S[k, i, j] -> i", "S[k, i, j] -> j"


def cube(writes: str, *reads: str) -> Scheduled:
    nest = scop("[n] -> { : }", stmt("{ S[k, i, j] : 0 <= k, i, j < n }", writes=writes, reads=reads))
    return on_loops(nest, band(k, i, j))


def test_the_parallel_loop_of_a_permutable_band_moves_outermost():
    assert show_tree(written(cube("c[i, j]", "c[i, j]", "a[k]"), threads, []).child) == (
        "mark: parallel\n"
        "  band:\n"
        "    [S[k, i, j] -> i] coincident\n"
        "    band: permutable\n"
        "      [S[k, i, j] -> k]\n"
        "      [S[k, i, j] -> j] coincident"
    )


def test_in_a_fixed_order_the_loops_before_it_stay_outside():
    assert show_tree(written(cube("a[k, i, j]", "a[k - 1, i + 1, j]"), threads, []).child) == (
        "band:\n"
        "  [S[k, i, j] -> k]\n"
        "  mark: parallel\n"
        "    band:\n"
        "      [S[k, i, j] -> i] coincident\n"
        "      band:\n"
        "        [S[k, i, j] -> j] coincident"
    )


ALONE = """
def f(a: f64["n"], n: size):
    for i in range(n):
        a[i] = a[i] * 2.0
"""
REPEATED = """
def f(a: f64["m", "n"], m: size, n: size):
    for k in range(1, m):
        for i in range(n - 1):
            a[k, i] = a[k - 1, i + 1] * 2.0
"""
PAIR = """
def f(a: f64["n", "n"], b: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            a[i, j] = 0.0
        for j in range(n):
            b[i, j] = a[i, n - 1 - j]
"""


def test_one_loop_that_is_first_gets_the_mark_and_nothing_moves():
    assert [str(edit) for edit in script_of(in_source_order(ALONE), threads, []).edits] == ['.parallel("i")']


def test_threads_are_not_started_inside_threads():
    tree = written(in_source_order(PAIR), threads, [])
    assert marks_in(tree) == [Parallel()]
    assert all(member.coincident for node in walk(tree) if isinstance(node, Band) for member in node.members)


def test_nests_side_by_side_are_marked_each():
    nest = in_source_order("""
def f(a: f64["n", "n"], b: f64["n", "n"], c: f64["n", "n"], n: size):
    for k in range(n):
        for i in range(n):
            for j in range(n):
                a[i, j] = a[i, j] * 0.5 + c[n - 1 - i, n - 1 - j]
        for i in range(1, n):
            for j in range(1, n):
                b[i, j] = b[i - 1, j] + b[i, j - 1] + a[n - 1 - i, n - 1 - j]
        for i in range(n):
            for j in range(n):
                c[i, j] = c[i, j] * 0.5 + b[n - 1 - i, n - 1 - j]
""")
    (sequence,) = (node for node in walk(written(nest, threads, [])) if isinstance(node, InOrder))
    assert [bool(own_marks(branch.child)) for branch in sequence.children] == [True, False, True]


def test_one_loop_alone_has_threads_unless_others_repeat_it():
    assert marks_in(written(in_source_order(ALONE), threads, [])) == [Parallel()]
    assert script_of(in_source_order(REPEATED), threads, []).edits == []


def test_a_loop_has_threads_instead_of_lanes_unless_others_repeat_it():
    def both(script: Script) -> None:
        lanes(script, [])
        threads(script, [])

    assert marks_in(written(in_source_order(ALONE), both)) == [Parallel()]
    assert marks_in(written(in_source_order(REPEATED), both)) == [Vector()]


def test_a_serial_nest_stays():
    assert script_of(scheduled(nests.reversed_sweep()), threads, []).edits == []


@pytest.mark.parametrize("seed", range(15))
def test_random_nests_have_one_mark_on_a_path_and_it_is_true(seed):
    nest = random_scheduled(seed)
    marked = written(nest, threads, [])
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

