"""polysched/transform/wavefront.py: the sum of two loops outside, so that what is inside is parallel."""

from __future__ import annotations

import nests
import pytest

import polysched as ps
from polysched import isl
from polysched.deps.dependences import Dependences
from polysched.model.tree import Filter, Sequence, with_children
from polysched.model.tree import walk as nodes
from polysched.model.tree_text import show_tree
from polysched.transform.wavefront import wavefront, wavefront_all
from tests.transform.scheduled import band, random_scheduled, scheduled, tiled

i, j, k = "S[i, j, k] -> i", "S[i, j, k] -> j", "S[i, j, k] -> k"


def test_two_loops_become_a_front_and_a_parallel_loop():
    assert show_tree(wavefront(band("S[t, i] -> t", "S[t, i] -> i"))) == (
        "band:\n"
        "  [S[t, i] -> t + i]\n"
        "  band:\n"
        "    [S[t, i] -> i] coincident"
    )


def test_a_third_loop_stays_inside_and_may_still_be_tiled():
    assert show_tree(wavefront(band(i, j, k))) == (
        "band:\n"
        "  [S[i, j, k] -> i + j]\n"
        "  band: permutable\n"
        "    [S[i, j, k] -> j] coincident\n"
        "    [S[i, j, k] -> k]"
    )


def test_statements_keep_their_own_functions():
    front = wavefront(band("S[t, i] -> t; T[t, i] -> t", "S[t, i] -> 2t + i; T[t, i] -> 1 + 2t + i"))
    assert show_tree(front).splitlines()[1] == "  [S[t, i] -> 3t + i; T[t, i] -> 1 + 3t + i]"


def test_blocks_add_up_too():
    front = wavefront(band("S[i, j] -> floor(i / 4)", "S[i, j] -> floor(j / 8)"))
    assert show_tree(front).splitlines()[1] == "  [S[i, j] -> floor((i)/4) + floor((j)/8)]"


NOTHING = Dependences(())

@pytest.mark.parametrize("wrong", [band(i, j, permutable=False), band(i)], ids=["fixed order", "one loop"])
def test_what_has_no_wavefront_is_refused(wrong):
    with pytest.raises(ValueError, match="a wavefront needs a permutable band of two or more members"):
        wavefront(wrong)


@pytest.mark.parametrize(
    "tree",
    [band(i, j, coincident=(0,)), band(i, j, coincident=(1,)), band(i, j, permutable=False), band(i)],
    ids=["first is parallel", "second is parallel", "fixed order", "one loop"],
)
def test_nothing_changes_where_a_loop_is_parallel_or_none_can_be(tree):
    assert wavefront_all(tree, NOTHING) == tree


def test_a_parallel_loop_outside_is_enough():
    tree = with_children(band(i, coincident=(0,)), (band(j, k),))
    assert wavefront_all(tree, NOTHING) == tree


def test_each_nest_gets_its_own_below_the_loops_they_share():
    inner = band(j, k)
    branches = tuple(Filter(isl.UnionSet(f"{{ S[i, j, k] : i % 2 = {k} }}"), inner) for k in (0, 1))
    tree = with_children(band(i), (Sequence(branches),))
    assert show_tree(wavefront_all(tree, NOTHING)).count("[S[i, j, k] -> j + k]") == 2


def test_only_the_first_band_of_a_nest_is_skewed():
    seidel = scheduled(nests.seidel_2d())
    tiles = tiled(seidel, 4)
    fronts = wavefront_all(tiles, seidel.deps)
    assert sum(1 for _ in nodes(fronts)) == sum(1 for _ in nodes(tiles)) + 1
    seidel.assert_holds(fronts)


@pytest.mark.parametrize("seed", range(15))
def test_wavefronts_of_random_nests_are_legal_and_compute_the_same_bits(seed):
    nest = random_scheduled(seed)
    nest.assert_holds(wavefront_all(nest.tree, nest.deps))


def test_updates_in_any_order_are_no_wavefront():
    """Their distances are of either sign: skewing would not make a loop parallel."""
    total = nests.Array("s", nests.f64, (nests.const(1),))
    a = nests.Array("a", nests.f64, (nests.n, nests.n))
    i, j = nests.var("i"), nests.var("j")
    update = nests.store(total, (0,), nests.add(nests.load(total, 0), nests.load(a, i, j)))
    fn = nests.nest("sum", "n", [total, a], nests.loop("i", 0, nests.n, nests.loop("j", 0, nests.n, update)))
    ps.optimize(fn, options=ps.Options(reorder_reductions=True)).verify()
