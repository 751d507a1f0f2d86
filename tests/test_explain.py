"""polysched/explain.py: why each loop is or is not parallel, in words."""

from __future__ import annotations

import random
import re

import nests
import pytest
from nests import loop, nest

import polysched as ps
from polysched.deps.coincidence import bands_reached, carried
from polysched.examples import gemm, stencil
from polysched.explain import explain
from polysched.ir.build import load, store, var
from polysched.ir.nodes import Array
from polysched.model.tree import Mark, Parallel
from tests.transform.scheduled import random_scheduled, scheduled


def test_B6_the_whole_text_for_the_stencil():
    """i' = i, j' = i + j: permutable, neither is coincident, j' is parallel inside i', tiles along wavefronts."""
    assert ps.optimize(stencil).explain() == (
        "2 loops, permutable: any order of them is legal, and so is tiling\n"
        "  S[i, j] -> i\n"
        "    carries flow on a, S[0, 1] -> S[1, 0] (examples.py:14 -> examples.py:14)\n"
        "  S[i, j] -> i + j\n"
        "    carries flow on a, S[0, 0] -> S[1, 0] (examples.py:14 -> examples.py:14); "
        "parallel inside the loops before it\n"
        "  no loop is parallel here, but tiles are, along wavefronts"
    )


def test_independent_loops_are_parallel():
    assert text(copy()) == (
        "2 loops, permutable: any order of them is legal, and so is tiling\n"
        "  S[i, j] -> i\n"
        "    parallel\n"
        "  S[i, j] -> j\n"
        "    parallel"
    )


def copy():
    i, j, n = var("i"), var("j"), var("n")
    a, b = Array("a", ps.f64, (n, n)), Array("b", ps.f64, (n, n))
    return nest("copy", "n", [a, b], loop("i", 0, n, loop("j", 0, n, store(b, (i, j), load(a, i, j)))))


def text(fn) -> str:
    done = scheduled(fn)
    return explain(done.scop, done.deps, done.tree)


def test_several_statements_are_explained_in_their_order():
    assert ps.optimize(gemm).explain() == (
        "first S0\n"
        "  2 loops, permutable: any order of them is legal, and so is tiling\n"
        "    S0[i, j] -> i\n"
        "      parallel\n"
        "    S0[i, j] -> j\n"
        "      parallel\n"
        "then S1\n"
        "  3 loops, permutable: any order of them is legal, and so is tiling\n"
        "    S1[i, j, k] -> i\n"
        "      parallel\n"
        "    S1[i, j, k] -> j\n"
        "      parallel\n"
        "    S1[i, j, k] -> k\n"
        "      carries flow on C, S1[0, 0, 0] -> S1[0, 0, 1] (examples.py:23 -> examples.py:23)"
    )


def test_one_loop_is_never_called_permutable_and_has_no_lines_where_the_source_is_unknown():
    assert text(nests.reversed_sweep()) == "1 loop\n  S[i] -> -i\n    carries flow on A, S[1] -> S[0]"


def test_marks_and_flags_do_not_matter():
    done = scheduled(copy())
    band = done.tree.child.child
    assert explain(done.scop, done.deps, Mark(Parallel(), band)) == text(copy())


@pytest.mark.parametrize("seed", range(25))
def test_random_nests_each_loop_is_parallel_or_has_a_witness(seed):
    done = random_scheduled(seed)
    bands = list(bands_reached(done.tree, done.deps.coincidence))
    verdicts = [carried(member, reaching).is_empty() for band, reaching in bands for member in band.members]
    words = re.findall(r"^ +(parallel|carries) ?", explain(done.scop, done.deps, done.tree), re.MULTILINE)
    assert words == ["parallel" if verdict else "carries" for verdict in verdicts]


def test_the_random_nests_have_loops_of_both_kinds():
    texts = [text(nests.random_nest(random.Random(seed))) for seed in range(10)]
    assert any("parallel" in t for t in texts) and any("carries" in t for t in texts)
