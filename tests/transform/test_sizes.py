"""polysched/transform/sizes.py: how large tiles are."""

from __future__ import annotations

import pytest
from scops import scop, stmt

from polysched.deps.dataflow import dependences
from polysched.machine import Machine
from polysched.options import Options
from polysched.transform.roles import Around
from polysched.transform.sizes import Block, register_block, tile_sizes
from tests.transform.scheduled import band

AVX512 = Machine(vector_bytes=64, vector_registers=32, l1=48 << 10, l2=2 << 20)
AVX2 = Machine(vector_bytes=32, vector_registers=16, l1=32 << 10, l2=512 << 10)
TINY = Machine(vector_bytes=8, vector_registers=4, l1=64, l2=256)
ALONG_I, ALONG_J, ALONG_K = "S[i, j, k] -> i", "S[i, j, k] -> j", "S[i, j, k] -> k"
CUBE = "{ S[i, j, k] : 0 <= i, j, k < n }"
GEMM = scop("[n] -> { : }", stmt(CUBE, writes="C[i, j]", reads=["C[i, j]", "A[i, k]", "B[k, j]"]))


def sizes(loops, nest=GEMM, **options):
    return tile_sizes(loops, nest, Around((), dependences(nest).coincidence), Options(**options))


def test_a_register_tile_is_three_vectors_wide_and_leaves_registers_for_operands():
    (statement,) = GEMM.statements
    assert register_block(statement, GEMM, AVX512) == Block(rows=8, columns=24)
    assert register_block(statement, GEMM, AVX2) == Block(rows=4, columns=12)
    assert register_block(statement, GEMM, TINY) == Block(rows=4, columns=3)


@pytest.mark.parametrize("machine", [AVX512, AVX2], ids=["AVX-512", "AVX2"])
def test_tiles_of_a_matrix_product_fit_the_caches_and_hold_whole_register_tiles(machine):
    i, j, k = sizes(band(ALONG_I, ALONG_J, ALONG_K), machine=machine)
    block = register_block(GEMM.statements[0], GEMM, machine)
    assert i % block.rows == 0
    assert j % block.columns == 0
    assert k * block.columns * 8 <= 1.5 * machine.l1, "a column of blocks of B"
    assert k * j * 8 <= machine.l2, "all of B's tile"


def test_the_smallest_caches_have_tiles_too():
    assert min(sizes(band(ALONG_I, ALONG_J, ALONG_K), machine=TINY)) > 0


def test_one_loop_is_not_tiled():
    assert sizes(band(ALONG_I)) is None


def test_loops_inside_of_tiles_are_not_tiled_again():
    tiles = band("S[i, j, k] -> floor(i / 32)").members
    around = Around(tiles, dependences(GEMM).coincidence)
    assert tile_sizes(band(ALONG_I, ALONG_J, ALONG_K), GEMM, around, Options()) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [((32,), (32, 32, 32)), ((16, 256), (16, 16, 256)), ((2, 4, 8), (2, 4, 8)), ((2, 4, 8, 16), (2, 4, 16))],
    ids=str,
)
def test_of_sizes_that_are_given_the_last_is_for_the_simd_loop_and_the_one_before_it_repeats(given, expected):
    assert sizes(band(ALONG_I, ALONG_K, ALONG_J), tile_sizes=given) == expected


def test_a_last_loop_that_is_not_for_simd_has_the_size_of_the_others():
    assert sizes(band(ALONG_I, ALONG_J, ALONG_K), tile_sizes=(16, 256)) == (16, 16, 16)


def test_an_update_of_a_vector_is_tiled_along_the_vector_alone():
    nest = scop("[n] -> { : }", stmt("{ S[i, j] : 0 <= i, j < n }", writes="y[j]", reads=["y[j]", "A[i, j]", "x[i]"]))
    i, j = sizes(band("S[i, j] -> i", "S[i, j] -> j"), nest, machine=AVX2)
    assert i == 0
    assert j * 8 <= AVX2.l1


def test_what_is_used_once_is_not_tiled():
    """Dot products: each element of A is read once, in the order in which it is stored."""
    nest = scop("[n] -> { : }", stmt("{ S[i, j] : 0 <= i, j < n }", writes="y[i]", reads=["y[i]", "A[i, j]", "x[j]"]))
    assert sizes(band("S[i, j] -> i", "S[i, j] -> j", coincident=(0,)), nest) is None


def test_a_copy_is_tiled_only_where_it_goes_far():
    square = "{ S[i, j] : 0 <= i, j < n }"
    loops = band("S[i, j] -> i", "S[i, j] -> j", coincident=(0, 1))
    assert sizes(loops, scop("[n] -> { : }", stmt(square, writes="b[i, j]", reads="a[i, j]"))) is None
    assert sizes(loops, scop("[n] -> { : }", stmt(square, writes="b[i, j]", reads="a[j, i]"))) == (16, 256)
