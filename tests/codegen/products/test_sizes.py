"""polysched/codegen/products/sizes.py: tiles for registers, blocks for caches, shares for threads."""

from __future__ import annotations

from itertools import pairwise

import pytest

from polysched.codegen.products.sizes import Shares, Tile, blocks, register_tile, shared_loop
from polysched.config.machine import Machine


def test_tiles_fill_the_registers():
    assert register_tile(64, 3120, 16, 32) == Tile(8, 48)  # AVX-512: 24 sums, 3 columns, a row
    assert register_tile(64, 3136, 16, 32) == Tile(6, 64)  # the same, and no column is left
    assert register_tile(64, 3136, 8, 16) == Tile(6, 16)  # AVX2: 12 sums, 2 columns, a row
    assert register_tile(64, 3136, 4, 32) == Tile(8, 12)  # NEON


def test_tiles_divide_rows_and_columns_if_they_can():
    assert register_tile(7, 48, 16, 32) == Tile(7, 48)
    assert register_tile(10, 3136, 16, 32).rows == 5
    assert register_tile(64, 49, 16, 32).columns == 64  # of which 49 are stored


def test_tiles_are_no_higher_than_there_are_rows():
    assert register_tile(1, 1000, 16, 32).rows == 1
    assert register_tile(3, 1000, 16, 32).rows == 3


@pytest.mark.parametrize("registers", range(1, 8))
def test_few_registers_hold_a_vector_at_least(registers):
    tile = register_tile(5, 20, 4, registers)
    assert tile.rows >= 1
    assert tile.columns % 4 == 0


@pytest.mark.parametrize("rows", [1, 5, 8, 100])
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_tiles_fit_in_the_registers(rows, lanes):
    for registers in range(6, 33):
        tile = register_tile(rows, 77, lanes, registers)
        vectors = tile.columns // lanes
        assert tile.rows * vectors + vectors + 1 <= registers


def test_blocks_fit_in_half_of_the_second_cache():
    machine = Machine(l2=1 << 20)
    found = blocks(3136, 48, 576 * 4, machine)  # 4 tiles are 442 368 bytes
    assert found == Shares(units=66, count=17)
    assert found.most == 4
    assert blocks(3136, 48, 64, machine) == Shares(units=66, count=1)


def test_there_are_as_many_blocks_for_each_core():
    assert blocks(3136, 48, 576 * 4, Machine(l2=1 << 20, cores=4)) == Shares(units=66, count=20)
    assert blocks(3136, 48, 64, Machine(l2=1 << 20, cores=4)) == Shares(units=66, count=4)
    assert blocks(96, 48, 64, Machine(l2=1 << 20, cores=4)) == Shares(units=2, count=2)


def test_a_tile_that_is_larger_than_the_cache_is_a_block():
    assert blocks(96, 48, 1 << 20, Machine(l2=1 << 10)) == Shares(units=2, count=2)


def test_no_block_is_larger_than_said():
    for size in range(1, 50):
        for line in (1, 100, 10_000):
            found = blocks(size, 4, line, Machine(l2=4096, cores=3))
            ends = [block * found.units // found.count for block in range(found.count + 1)]
            assert max(end - begin for begin, end in pairwise(ends)) == found.most
            assert 0 not in [end - begin for begin, end in pairwise(ends)]


def runs(**loops: int) -> dict[str, Shares]:
    return {name: Shares(extent, extent) for name, extent in loops.items()}


def test_threads_share_the_outermost_loop_that_is_even():
    work = 10**9
    assert shared_loop(runs(n=8, blocks=100, tiles=8), work, 4) == "n"
    assert shared_loop(runs(n=5, blocks=100, tiles=8), work, 4) == "blocks"
    assert shared_loop(runs(n=5, blocks=3, tiles=8), work, 4) == "tiles"
    assert shared_loop(runs(n=2, blocks=3, tiles=1), work, 4) == "blocks"  # the most even


def test_blocks_of_tiles_are_even_if_each_thread_has_as_many():
    assert Shares(units=100, count=4).evenness(4) == 1
    assert Shares(units=49, count=18).evenness(2) == 49 / 50
    assert Shares(units=49, count=17).evenness(2) == 49 / 52  # 9 blocks of 49 / 17 tiles
    assert Shares(units=2, count=2).evenness(4) == 1 / 2


def test_one_core_or_little_work_needs_no_threads():
    assert shared_loop(runs(tiles=8), 10**9, 1) is None
    assert shared_loop(runs(tiles=8), 10**4, 4) is None
