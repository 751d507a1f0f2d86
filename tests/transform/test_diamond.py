"""polysched/transform/trees/tile.py: tiles of stencils that can all start at once."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import reduce
from itertools import product

import nests
import pytest

from polysched.config.options import Options
from polysched.model.tree.nodes import Band, Domain, Tree
from polysched.model.tree.nodes import walk as nodes
from polysched.model.tree.text import show_tree
from polysched.strategy.cpu import tiles, wavefronts
from polysched.support import isl
from polysched.transform.analysis.roles import Around
from polysched.transform.trees.tile import diamond
from tests.transform.scheduled import Scheduled, band, random_scheduled, scheduled, written

NOTHING = isl.UnionMap("{ }")
time_and_space = band("S[t, i] -> t", "S[t, i] -> t + i")


def around(dependences: str) -> Around:
    return Around((), isl.UnionMap(dependences))


def tiled(nest: Scheduled, *sizes: int, use_diamonds: bool = True) -> Tree:
    options = Options(tile_sizes=sizes, diamond=use_diamonds)
    return written(nest, wavefronts, tree=written(nest, tiles, options=options))


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


def test_every_wavefront_has_as_many_tiles_as_the_space():
    jacobi = scheduled(nests.jacobi_1d())
    askew = tiles_of_fronts(tiled(jacobi, 8, use_diamonds=False), tsteps=32, n=66)
    diamonds = tiles_of_fronts(tiled(jacobi, 8), tsteps=32, n=66)
    assert askew == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1]
    assert diamonds == [8, 9, 8, 9, 8, 9, 8, 9, 8, 9, 8, 9, 8, 9, 8, 9, 8]  # 64 elements in tiles of 8


def tiles_of_fronts(tree: Tree, **sizes: int) -> list[int]:
    """How many tiles each wavefront has, the first one first."""
    members = [member for node in nodes(tree) if isinstance(node, Band) for member in node.members if member.rounds]
    assert isinstance(tree, Domain)
    given = " and ".join(f"{name} = {value}" for name, value in sizes.items())
    instances = tree.domain.intersect_params(isl.Set(f"[{', '.join(sizes)}] -> {{ : {given} }}"))
    schedules = (member.schedule.intersect_domain(instances) for member in members)
    tiles = isl.Set.from_union_set(reduce(isl.UnionMap.flat_range_product, schedules).range())
    found: Counter[int] = Counter()
    tiles.foreach_point(lambda tile: found.update([tile.get_coordinate_val(isl.dim_type.set, 0).to_python()]))
    return [count for _, count in sorted(found.items())]


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


@pytest.mark.parametrize("seed", range(20))
def test_the_least_steepness_is_found_with_shifts_that_make_it_legal(seed):
    """Against all steepnesses and shifts, on random uniform dependences between two statements."""
    rng = random.Random(seed)
    members = band("S[t, i] -> t; T[t, i] -> t", "S[t, i] -> i; T[t, i] -> i")
    edges = [("S", "T", 0, rng.randint(0, 2))]
    edges += [(*rng.choices("ST", k=2), 1, rng.randint(0, 5)) for _ in range(3)]
    relation = "; ".join(f"{a}[t, i] -> {b}[t + {d0}, i + {d1}]" for a, b, d0, d1 in edges)
    found = diamond(members, around(f"{{ {relation} }}"))

    def is_legal(c: int, shifts: dict[str, int]) -> bool:
        return all(c * d0 - d1 + shifts[b] - shifts[a] >= 0 for a, b, d0, d1 in edges)

    ways = [(c, {"S": s, "T": t}) for c, s, t in product(range(1, 9), range(9), range(9))]
    c, shifts = next((c, shifts) for c, shifts in ways if is_legal(c, shifts))
    text = "; ".join(f"{name}[t, i] -> {c} * t - i + {shift}" for name, shift in shifts.items())
    assert found is not None and found.members[0].schedule == band(text).members[0].schedule
