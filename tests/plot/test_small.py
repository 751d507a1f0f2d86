"""polysched/plot/small.py: sizes, domains and tiles that fit a picture, and what is refused."""

from __future__ import annotations

import pytest
from nests import gemm, stencil2

import polysched as ps
from polysched.errors import InputError
from polysched.frontend.python import parse_nest
from polysched.plot.small import drawn, with_small_tiles

LONG = """\
def long(a: f64[100, 50, 40, 30]):
    for i in range(100):
        for j in range(50):
            for k in range(40):
                for l in range(30):
                    a[i, j, k, l] = 1.0
"""


def scop_of(nest):
    return ps.Schedule(nest).draft.scop


def counts(found):
    return {name: len(points) for name, points in found.points.items()}


def test_sizes_are_small_where_none_are_given():
    scop = scop_of(gemm())
    found = drawn(scop, scop.statements, None)
    assert found.sizes == {"ni": 4, "nj": 6, "nk": 6} and counts(found) == {"S0": 24, "S1": 144}
    assert not found.is_cut and found.fixed == {"S0": {}, "S1": {}}


def test_sizes_that_are_given_are_taken():
    scop = scop_of(stencil2(margin=1))
    assert counts(drawn(scop, scop.statements, {"N": 20})) == {"S": 400}


def test_of_long_loops_the_first_iterations_are_drawn_and_of_four_loops_three():
    scop = scop_of(parse_nest(LONG, "long.py"))
    found = drawn(scop, scop.statements, None)
    assert found.is_cut and found.fixed == {"S": {"l": 14}} and counts(found) == {"S": 216}


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"M": 3}, "the sizes of 'stencil2' are N, not M"),
        ({"N": -1}, "'stencil2' does not allow N = -1\nhint: it needs [N] -> {  : N >= 0 }"),
        ({"N": 100}, "10000 instances are too many for a picture\nhint: give sizes for at most 6000"),
    ],
)
def test_wrong_sizes_are_refused(sizes, message):
    scop = scop_of(stencil2(margin=1))
    with pytest.raises(InputError) as error:
        drawn(scop, scop.statements, sizes)
    assert str(error.value) == message


def test_large_tiles_become_small_ones_and_small_ones_stay():
    skewed = ps.Schedule(stencil2(margin=1)).skew("j", by="i")
    tree, changed = with_small_tiles(skewed.tile("i", "j", sizes=(32, 3)).tree, skewed.draft.scop.statements)
    assert changed == {32: 4}
    assert "floor((i)/4)" in str(tree) and "floor((i + j)/3)" in str(tree)


def test_sums_of_tiles_are_shrunk_alike():
    seidel = ps.optimize(ps.from_c("benchmarks/polybench/c/seidel-2d.c")[0])
    tree, _ = with_small_tiles(seidel.tree, seidel.scop.statements)
    assert "[S[t, i, j] -> floor((t)/3) + floor((t + i)/3)]" in str(tree)
