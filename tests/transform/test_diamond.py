"""polysched/transform/diamond.py: tiles of stencils that can all start at once."""

from __future__ import annotations

import random
from dataclasses import replace

import nests
import pytest

from polysched import isl
from polysched.deps.dependences import Dependences
from polysched.model.tree import Band
from polysched.model.tree import walk as nodes
from polysched.model.tree_text import show_tree
from polysched.options import Options
from polysched.transform.diamond import diamond
from polysched.transform.roles import Around
from polysched.transform.tile import tile_all
from polysched.transform.wavefront import wavefront_all
from tests.transform.scheduled import Scheduled, band, random_scheduled, scheduled

time_and_space = band("S[t, i] -> t", "S[t, i] -> t + i")


def around(dependences: str) -> Around:
    return Around((), isl.UnionMap(dependences))


def tiled(nest: Scheduled, *sizes: int, use_diamonds: bool = True):
    options = Options(tile_sizes=sizes, diamond=use_diamonds)
    return wavefront_all(tile_all(nest.tree, nest.scop, nest.deps, options), nest.deps)


def test_a_stencil_is_tiled_along_both_of_its_edges():
    stencil = around("{ S[t, i] -> S[t + 1, j] : i - 1 <= j <= i + 1 }")
    assert show_tree(diamond(time_and_space, stencil)) == (
        "band: permutable\n"
        "  [S[t, i] -> t - i]\n"
        "  [S[t, i] -> t + i]"
    )


def test_a_wider_stencil_needs_a_steeper_edge():
    stencil = around("{ S[t, i] -> S[t + 1, j] : i - 3 <= j <= i + 1 }")
    wide = around("{ S[t, i] -> S[t + 1, j] : i - 1 <= j <= i + 3 }")
    assert "[S[t, i] -> t - i]" in show_tree(diamond(time_and_space, stencil))
    assert "[S[t, i] -> 3t - i]" in show_tree(diamond(time_and_space, wide))


def test_statements_of_one_time_step_are_shifted():
    """T runs after S in the same step, and reaches further back."""
    members = band("S[t, i] -> t; T[t, i] -> t", "S[t, i] -> 2t + i; T[t, i] -> 1 + 2t + i")
    sweeps = around(
        "{ S[t, i] -> T[t, j] : i - 1 <= j <= i + 1; T[t, i] -> S[t + 1, j] : i - 1 <= j <= i + 1 }"
    )
    mirrored = show_tree(diamond(members, sweeps)).splitlines()[1]
    assert mirrored == "  [S[t, i] -> 2t - i; T[t, i] -> 1 + 2t - i]"


@pytest.mark.parametrize(
    "dependences",
    [
        "{ S[t, i] -> S[t, i + 1] }",
        "{ S[t, i] -> S[t + 1, i + 8] }",
        "[n] -> { S[t, i] -> S[t + 1, j] : i <= j < n }",
    ],
    ids=["within a step", "too wide", "as far as a size"],
)
def test_what_cannot_start_everywhere_has_none(dependences):
    assert diamond(time_and_space, around(dependences)) is None


def test_a_parallel_loop_is_enough():
    stencil = around("{ S[t, i] -> S[t + 1, i] }")
    assert diamond(band("S[t, i] -> t", "S[t, i] -> i", coincident=(1,)), stencil) is None
    outside = replace(stencil, members=band("S[t, i] -> 0", coincident=(0,)).members)
    assert diamond(time_and_space, outside) is None


def test_loops_in_a_fixed_order_have_none():
    assert diamond(band("S[t, i] -> t", "S[t, i] -> t + i", permutable=False), Around((), NOTHING)) is None
    assert diamond(band("S[t, i] -> t"), Around((), NOTHING)) is None


NOTHING = Dependences(()).coincidence


def test_a_wavefront_begins_with_as_many_tiles_as_it_ever_has():
    def tiles(use_diamonds: bool) -> list[int]:
        fronts = tiles_of_fronts(tiled(scheduled(nests.jacobi_1d()), 8, use_diamonds=use_diamonds), tsteps=32, n=66)
        return fronts

    assert tiles(use_diamonds=True) == []
    assert tiles(use_diamonds=False) == []


def tiles_of_fronts(tree, **sizes: int) -> list[int]:
    """How many tiles each wavefront has."""
    front, blocks = [node for node in nodes(tree) if isinstance(node, Band)][:2]
    instances = tree.domain
    for name, value in sizes.items():
        instances = instances.intersect_params(isl.Set(f"[{name}] -> {{ : {name} = {value} }}"))
    members = (front.members[0], *blocks.members)
    values = [member.schedule.intersect_domain(instances).range() for member in members]
    times = members[0].schedule.intersect_domain(instances)
    for member in members[1:]:
        times = times.flat_range_product(member.schedule)
    counts: dict[int, int] = {}
    isl.Set.from_union_set(times.range()).foreach_point(
        lambda point: counts.__setitem__(key := point.get_coordinate_val(isl.dim_type.set, 0).to_python(), counts.get(key, 0) + 1)
    )
    return [counts[key] for key in sorted(counts)]


@pytest.mark.parametrize("nest", [nests.jacobi_1d(), nests.jacobi_2d()], ids=lambda fn: fn.name)
@pytest.mark.parametrize("sizes", [(4,), (3, 8), (5, 2)], ids=str)
def test_stencils_compute_the_same_bits(nest, sizes):
    stencil = scheduled(nest)
    tree = tiled(stencil, *sizes)
    assert tree != tiled(stencil, *sizes, use_diamonds=False)
    stencil.assert_holds(tree)


@pytest.mark.parametrize("seed", range(15))
def test_random_nests_are_legal_and_compute_the_same_bits(seed):
    nest = random_scheduled(seed)
    nest.assert_holds(tiled(nest, 2, 3))
