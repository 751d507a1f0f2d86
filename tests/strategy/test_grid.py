"""polysched/strategy/grid.py: how many threads a block has, and how many points a thread."""

from __future__ import annotations

import pytest
from scops import scop, stmt

from polysched.config.machine import Gpu
from polysched.config.options import Options
from polysched.deps.dataflow import dependences
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Member
from polysched.strategy.grid import Grid, choose_grid
from polysched.strategy.tiles import Axis, extent
from polysched.support import isl
from polysched.transform.analysis.roles import Around
from tests.transform.scheduled import band, union_map

CUBE = "{ S[i, j, k] : 0 <= i, j, k < n }"


def nest(domain: str, writes: str, *reads: str) -> Scop:
    return scop("[n] -> { : n >= 0 }", stmt(domain, writes=writes, reads=reads))


def grid(nest: Scop, *members: str, parallel: str = "", options: Options | None = None) -> Grid:
    """The grid for a band over these iterators; those in `parallel` are coincident."""
    (statement,) = nest.statements
    name = f"{statement.name}[{', '.join(statement.iterators)}]"
    coincident = tuple(k for k, member in enumerate(members) if member in parallel)
    loops = band(*(f"{name} -> {member}" for member in members), coincident=coincident)
    return choose_grid(loops, nest, Around((), dependences(nest).coincidence), options or Options())


PRODUCT = nest(CUBE, "C[i, j]", "C[i, j]", "A[i, k]", "B[k, j]")


def test_a_product_has_a_tile_of_64_by_128_in_chunks_of_16():
    """8 x 16 threads of 8 x 8 points, two of which are next to each other: 16 bytes."""
    assert grid(PRODUCT, "i", "j", "k", parallel="ij") == Grid((Axis(0, 8, 8), Axis(1, 16, 8, vector=2)), {2: 16})


def test_sums_of_rows_have_128_threads_in_chunks_of_32():
    rows = nest("{ S[i, j] : 0 <= i, j < n }", "y[i]", "y[i]", "A[i, j]", "x[j]")
    assert grid(rows, "i", "j", parallel="i") == Grid((Axis(0, 128),), {1: 32})


def test_a_thread_of_a_stencil_has_points_across_a_warp():
    jacobi = nest("{ S[i, j] : 0 < i, j < n }", "b[i, j]", "a[i - 1, j]", "a[i + 1, j]", "a[i, j - 1]")
    assert grid(jacobi, "i", "j", parallel="ij") == Grid((Axis(0, 8, 4), Axis(1, 32)))
    heat = nest(CUBE, "b[i, j, k]", "a[i, j, k + 1]")
    assert grid(heat, "i", "j", "k", parallel="ijk").sides == (Axis(0, 1, 4), Axis(1, 8), Axis(2, 32))


def test_a_thread_of_a_line_has_four_points_128_apart():
    line = nest("{ S[i] : 0 <= i < n }", "b[i]", "a[i]")
    assert grid(line, "i", parallel="i") == Grid((Axis(0, 128, 4, vector=1),))


def test_four_parallel_loops_are_planes_of_three():
    four = nest("{ S[h, i, j, k] : 0 <= h, i, j, k < n }", "b[h, i, j, k]", "a[h, i, j, k]")
    assert grid(four, "h", "i", "j", "k", parallel="hijk").sides[0] == Axis(0, 1)


def test_threads_with_one_point_are_on_the_innermost_of_four_parallel_loops():
    """And not on images, of which there may be one."""
    pool = nest(
        "{ S[h, i, j, k, r] : 0 <= h, i, j, k < n and 0 <= r < 2 }",
        "y[h, i, j, k]", "y[h, i, j, k]", "x[h, i, 2j + r, k]",
    )  # fmt: skip
    sides = grid(pool, "h", "i", "j", "k", "r", parallel="hijk").sides
    assert sides == (Axis(0, 1), Axis(1, 2), Axis(2, 4), Axis(3, 32))


@pytest.mark.parametrize(
    ("writes", "reads", "member"),
    [("b[i, j]", "a[i, j]", 1), ("b[j, i]", "a[j, i]", 0), ("b[i, 2j]", "a[j, i]", 0), ("b[i, j]", "a[i, i]", 1)],
)
def test_x_is_the_member_with_the_most_accesses_of_unit_stride(writes, reads, member):
    square = nest("{ S[i, j] : 0 <= i, j < n }", writes, reads)
    assert grid(square, "i", "j", parallel="ij").sides[-1].member == member


def test_without_register_tiles_a_thread_has_one_point():
    plain = Options(register_tiles=False)
    assert grid(PRODUCT, "i", "j", "k", parallel="ij", options=plain) == Grid((Axis(0, 8), Axis(1, 32)), {2: 32})


def test_more_operands_or_ends_that_move_leave_registers_for_fewer_points():
    syr2k = nest(CUBE, "C[i, j]", "C[i, j]", "A[i, k]", "B[j, k]", "B[i, k]", "A[j, k]")
    assert [side.points for side in grid(syr2k, "i", "j", "k", parallel="ij").sides] == [4, 4]
    triangle = nest("{ S[i, j, k] : 0 <= i, j < n and 0 <= k <= i }", "C[i, j]", "C[i, j]", "A[i, k]", "B[k, j]")
    assert [side.points for side in grid(triangle, "i", "j", "k", parallel="ij").sides] == [4, 4]


@pytest.mark.parametrize(
    ("rows", "planes", "points"),
    [(512, "h = 0", 4), (512, "0 <= h < 4", 8), (2048, "0 <= h < 2", 8), (512, "0 <= h < n", 8)],
)
def test_blocks_have_smaller_tiles_where_there_are_fewer_than_multiprocessors(rows, planes, points):
    """Of 64 by 128 points, 512 x 512 are 32 tiles."""
    domain = f"{{ S[h, i, j, k] : {planes} and 0 <= i < {rows} and 0 <= j < 512 and 0 <= k < n }}"
    few = nest(domain, "C[h, i, j]", "C[h, i, j]", "A[h, i, k]", "B[h, k, j]")
    *_, down, across = grid(few, "h", "i", "j", "k", parallel="hij").sides
    assert (down.threads, down.points, across.threads, across.points) == (8, points, 16, points)
    small = Options(gpu=Gpu(multiprocessors=16))
    assert grid(few, "h", "i", "j", "k", parallel="hij", options=small).sides[-1].points == 8


def test_columns_of_a_triangle_over_rows_are_threads_apart_and_there_are_no_chunks():
    """Neighbouring threads load neighbours from global memory; where the triangle cuts rows, its parts are adjacent."""
    below = nest("{ S[i, j, k] : 0 <= i, j < n and 0 <= k <= i }", "C[i, j]", "C[i, j]", "A[i, k]", "B[k, j]")
    assert grid(below, "i", "j", "k", parallel="ij") == Grid((Axis(0, 8, 4), Axis(1, 16, 4, vector=1)))
    across = nest("{ S[i, j, k] : 0 <= i, j < n and 0 <= k <= j }", "C[i, j]", "C[i, j]", "A[i, k]", "B[k, j]")
    assert grid(across, "i", "j", "k", parallel="ij") == Grid((Axis(0, 8, 4), Axis(1, 16, 4, vector=4)))


def test_ends_that_planes_alone_move_are_the_same_for_a_block():
    domain = "{ S[h, i, j, k] : 0 <= h, i, j < n and 0 <= k <= h }"
    ragged = nest(domain, "C[h, i, j]", "C[h, i, j]", "A[h, i, k]", "B[h, k, j]")
    found = grid(ragged, "h", "i", "j", "k", parallel="hij")
    assert found == Grid((Axis(0, 1), Axis(1, 8, 8), Axis(2, 16, 8, vector=2)), {3: 16})


def test_without_copies_there_are_no_chunks_and_columns_are_threads_apart():
    plain = Options(shared_memory=False)
    assert grid(PRODUCT, "i", "j", "k", parallel="ij", options=plain) == Grid((Axis(0, 8, 8), Axis(1, 16, 8, vector=1)))
    rows = nest("{ S[i, j] : 0 <= i, j < n }", "y[i]", "y[i]", "A[i, j]", "x[j]")
    assert grid(rows, "i", "j", parallel="i", options=plain) == Grid((Axis(0, 128),))


def test_narrow_elements_are_loaded_16_bytes_at_once_by_as_many_points():
    wide = grid(PRODUCT, "i", "j", "k", parallel="ij").sides[-1]
    assert wide.vector * 8 == 16


def test_no_more_threads_than_a_short_loop_needs():
    few = nest(
        "{ S[i, j, k] : 0 <= i < 20 and 0 <= j < 40 and 0 <= k < n }", "C[i, j]", "C[i, j]", "A[i, k]", "B[k, j]"
    )
    rows, columns = grid(few, "i", "j", "k", parallel="ij").sides
    assert 20 <= rows.threads * rows.points <= 32 and 40 <= columns.threads * columns.points <= 64


def test_a_loop_of_few_iterations_is_no_x():
    """Three colours, next to each other in memory: one thread has them all."""
    image = nest("{ S[i, j, k] : 0 <= i, j < n and 0 <= k < 3 }", "b[i, j, k]", "a[i, j, k]")
    sides = grid(image, "i", "j", "k", parallel="ijk").sides
    assert sides[-1].member == 1 and 2 not in [side.member for side in sides]


def test_chunks_count_the_short_loops_inside():
    """A convolution: 3 x 3 taps for each channel; two channels make 16."""
    domain = "{ S[f, i, j, c, r, s] : 0 <= f, i, j, c < n and 0 <= r, s < 3 }"
    conv = nest(domain, "C[f, i, j]", "C[f, i, j]", "A[c, i + r, j + s]", "B[f, c, r, s]")
    found = grid(conv, "f", "i", "j", "c", "r", "s", parallel="fij")
    assert list(found.chunks) == [3] and found.chunks[3] * 9 >= 8
    taps = nest("{ S[i, j, r] : 0 <= i, j < n and 0 <= r < 3 }", "C[i, j]", "C[i, j]", "A[i, j + r]", "B[r]")
    assert grid(taps, "i", "j", "r", parallel="ij").chunks == {}


def test_several_statements_have_one_point_a_thread():
    two = scop(
        "[n] -> { : n >= 0 }",
        stmt("{ S[i, j] : 0 <= i, j < n }", writes="b[i, j]", reads="a[i, j]"),
        stmt("{ T[i, j] : 0 <= i, j < n }", writes="c[i, j]", reads="a[i, j]"),
        order=[("i", ("j", "S", "T"))],
    )
    loops = band("S[i, j] -> i; T[i, j] -> i", "S[i, j] -> j; T[i, j] -> j", coincident=(0, 1))
    loops = Band(loops.members, True, two.tree.child.child.child)
    assert choose_grid(loops, two, Around((), dependences(two).coincidence), Options()) == Grid(
        (Axis(0, 8), Axis(1, 32))
    )


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ("{ S[i] : 0 <= i < 5 }", 5),
        ("[n] -> { S[i] : n <= i < n + 5 }", 5),
        ("[n] -> { S[i] : 0 <= i < n }", None),
        ("[n] -> { S[i] : i >= n }", None),
        ("{ S[i] : 0 <= i < 9 and i mod 2 = 0 }", 9),
        ("{ S[i] : 1 = 0 }", 0),
    ],
)
def test_extents(domain, expected):
    assert extent(Member(union_map("S[i] -> i")), isl.UnionSet(domain)) == expected
