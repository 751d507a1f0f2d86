# ruff: noqa: F821, UP037
"""Factorizations in blocks: tiles of the host's loop, panels, an update of register-tiled products, one block alone."""

from __future__ import annotations

import random

import pytest

import polysched as ps
from benchmarks.polybench import KERNELS
from polysched.frontend.python import parse_nest


@ps.nest
def lu(A: ps.f64["n", "n"], n: ps.size):
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]


def blocked(size: int) -> ps.Schedule:
    """By hand: the diagonal, the columns below it, the rows beside it, and all else."""
    s = ps.Schedule(lu, "ilp").tile("k", sizes=(size,), names=("K",)).reorder("k_2", "i", "k")
    s = s.split_set("k_2", f"k_2 <= {size}*K+{size - 1}").reorder("i_2", "k_3")
    s = s.split_set("i_2", f"i_2 <= {size}*K+{size - 1}").reorder("i", "k_2")
    return s.split_set("i", f"i <= {size}*K+{size - 1}")


def notes(done: ps.Compiled) -> list[str]:
    return [kernel.note for kernel in done.source.kernels]


UPDATE = "blocks of 16 x 8 threads; A copied to shared memory, 25088 bytes; 64 elements of A in registers"
IN_BLOCKS = ["blocks of 32 x 8 threads", "blocks of 128 threads", "blocks of 128 threads", UPDATE]


def test_a_blocked_lu_by_hand():
    done = ps.optimize(lu, "cuda", schedule=blocked(32))
    assert notes(done) == IN_BLOCKS
    for n in (1, 33, 101):
        done.verify(n=n)


def test_what_is_not_bound_by_hand_is_mapped():
    by_hand = blocked(32).reorder("k", "i", "k_2").tile("k", sizes=(32,), names=("one",))
    by_hand = by_hand.bind("one", "block.x").bind("i", "thread.x", threads=32)
    done = ps.optimize(lu, "cuda", schedule=by_hand.map("cuda"))
    assert notes(done) == ["blocks of 32 threads", *IN_BLOCKS[1:]]
    done.verify(n=70)
    mapped = by_hand.map("cuda")
    assert mapped.map("cuda") is mapped and by_hand.map("c") is by_hand
    assert ps.Schedule.from_json(lu, mapped.to_json()).history == mapped.history


def test_a_chunk_that_reaches_beyond_the_panel_is_not_copied():
    """Chunks of 16 end beyond tiles of 24, in what other blocks store."""
    done = ps.optimize(lu, "cuda", schedule=blocked(24))
    assert not any("copied" in note for note in notes(done))
    done.verify(n=60)


def test_the_strategy_writes_that_script():
    done = ps.optimize(lu, "cuda")
    assert notes(done) == ["blocks of 64 x 8 threads", *IN_BLOCKS[1:]]
    assert done.schedule.decision("host_tile.k").value == 64
    for n in (1, 65):
        done.verify(n=n)


def test_without_tiles_of_the_host_each_iteration_launches():
    without = ps.Schedule.auto(lu, "cuda").without("host_tile.k")
    assert len(notes(ps.optimize(lu, "cuda", schedule=without))) == 2


def test_a_triangle_is_a_tile_of_products_beside_its_diagonal():
    done = ps.optimize(KERNELS["cholesky"].nest, "cuda")
    assert [note.partition(",")[0] for note in notes(done)] == [
        "blocks of 64 x 8 threads",
        "blocks of 128 threads",
        "blocks of 16 x 8 threads; A copied to shared memory",
        "blocks of 128 threads; A copied to shared memory",
    ]
    done.verify(n=65)


@pytest.mark.slow
@pytest.mark.parametrize("size", [32, 64])
def test_ragged_blocks_by_hand(size: int):
    done = ps.optimize(lu, "cuda", schedule=blocked(size))
    for n in (1, size - 1, size, size + 1, 101, 197):
        done.verify(n=n)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lu", "ludcmp", "cholesky", "trisolv"])
def test_ragged_blocks(name: str):
    done = ps.optimize(KERNELS[name].nest, "cuda")
    for n in (1, 63, 64, 65, 101, 197):
        done.verify(n=n)


@pytest.mark.parametrize("name", ["floyd-warshall", "seidel-2d", "jacobi-1d", "gramschmidt", "durbin"])
def test_not_in_blocks(name: str):
    """Tiles would be illegal, or what is beyond one is not parallel."""
    script = ps.Schedule.auto(KERNELS[name].nest, "cuda")
    assert not any(each.key.startswith("host_tile.") for each in script.decisions)


def test_not_in_more_parts_than_are_worth_it():
    """Four loops inside would make 16 parts."""
    text = """
def nest(A: f64[n, n, n, n], n: size):
    for k in range(n):
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                for p in range(k + 1, n):
                    for q in range(k + 1, n):
                        A[i, j, p, q] -= A[k, j, p, q] * A[i, k, p, q] * A[i, j, k, q] * A[i, j, p, k]
"""
    script = ps.Schedule.auto(parse_nest(text, "nest.py"), "cuda")
    assert not any(each.key.startswith("host_tile.") for each in script.decisions)


def elimination(seed: int) -> str:
    """A nest that eliminates, with distances and ends of its own."""
    rng = random.Random(seed)
    more = rng.choice(["", " * 0.5", " + 0.25"])
    return f"""
def nest(A: f64[n, n], n: size):
    for k in range(n - {rng.randint(0, 2)}):
        for i in range(k + {rng.randint(1, 3)}, n):
            for j in range(k + {rng.randint(1, 3)}, n - {rng.randint(0, 1)}):
                A[i, j] = A[i, j] - A[i, k] * A[k, j]{more}
"""


@pytest.mark.parametrize("seed", range(8))
def test_random_eliminations(seed: int):
    done = ps.optimize(parse_nest(elimination(seed), "nest.py"), "cuda")
    done.verify(n=70)
