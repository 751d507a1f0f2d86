"""polysched/strategy/split_set.py: a nest of one statement in parallel parts, one after the other."""

# mypy: ignore-errors
# ruff: noqa: F821

from __future__ import annotations

import random

import nests
import pytest

import polysched as ps
from polysched.deps.dependences import Dependences
from polysched.deps.legality import first_violation
from polysched.ir.node import walk
from polysched.ir.nodes import For
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Filter, InOrder, Leaf, Tree, children, with_children
from polysched.strategy.split_set import pieces, split
from polysched.support import isl
from tests.scops import bands_reached
from tests.transform.scheduled import scheduled, written


@ps.nest
def closure(p: ps.i32[n, n], n: ps.size):
    for k in range(n):
        for i in range(n):
            for j in range(n):
                p[i, j] = min(p[i, j], p[i, k] + p[k, j])


def splits(tree: Tree, deps: Dependences, scop: Scop) -> list[tuple[Band, InOrder | None]]:
    """Every innermost band of the tree, and its parts."""
    found = [(band, reaching) for band, reaching in bands_reached(tree, deps.coincidence) if band.child == Leaf()]
    return [(band, split(band, reaching, scop.domain)) for band, reaching in found]


def test_a_step_of_floyd_warshall_is_the_row_the_column_and_what_lies_between():
    done = scheduled(closure.function)
    ((_, parts),) = splits(done.tree, done.deps, done.scop)
    step = isl.UnionSet("[n] -> { S[k, i, j] : n = 7 and k = 3 }")
    counts = [sum(s.count_val().get_num_si() for s in isl.sets_of(p.filter.intersect(step))) for p in parts.children]
    assert sorted(counts) == [1, 3, 3, 3, 3, 9, 9, 9, 9]
    assert counts[0] == counts[-1] == 9  # above and left of both reads what is old there, below and right what is new


def test_each_step_runs_on_threads_and_lanes():
    done = ps.optimize(closure, options=ps.Options(register_tiles=False))  # else many steps at a time
    loops = [node.kind for node in walk(done.kernel.body) if isinstance(node, For)]
    assert loops[0] == "serial" and loops.count("parallel") == 4 and loops.count("vector") == 6
    assert "min_i64" in done.source.text and done.fallbacks == {}
    done.verify()


@pytest.mark.slow
def test_each_step_runs_on_grids():
    done = ps.optimize(closure, target="cuda")
    assert [kernel.note.split(";")[0] for kernel in done.source.kernels].count("blocks of 32 x 8 threads") == 4
    done.verify()


def test_nothing_to_gain_where_each_part_is_serial():
    done = scheduled(nests.seidel_2d())
    assert [parts for _, parts in splits(done.tree, done.deps, done.scop)] == [None]


def replaced(tree: Tree, old: Tree, new: Tree) -> Tree:
    if tree is old:
        return new
    return with_children(tree, tuple(replaced(child, old, new) for child in children(tree)))


@pytest.mark.parametrize("seed", range(60))
def test_the_parts_of_random_nests_are_legal_and_all_there(seed):
    done = scheduled(nests.random_nest(random.Random(seed)))
    for band, parts in splits(done.tree, done.deps, done.scop):
        if parts is not None:
            tree = replaced(done.tree, band, parts)
            assert first_violation(tree, done.deps, done.scop, check_flags=False) is None
            assert first_violation(written(done, pieces), done.deps, done.scop) is None
            filters = [branch.filter for branch in parts.children if isinstance(branch, Filter)]
            for k, one in enumerate(filters):
                assert all(one.is_disjoint(other) for other in filters[k + 1 :])
