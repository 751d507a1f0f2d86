# ruff: noqa: F821, UP037
"""Products of matrices that tests of tensor instructions share, and their tiles by hand.

    optimize(nn, "cuda", schedule=by_hand(nn, Tiles(64, 64, 32, warp_rows=32, warp_columns=32, stages=3)))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import polysched as ps
from polysched.frontend.python import Nest, parse_nest
from polysched.ir.dtypes import f16
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Array, Function
from polysched.model.instructions.mma import INSTRUCTIONS
from polysched.runtime.emulated.findings import CheckReport


@ps.nest
def nn(C: ps.f32["n", "m"], A: ps.f16["n", "d"], B: ps.f16["d", "m"], n: ps.size, m: ps.size, d: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(d):
                C[i, j] += ps.f32(A[i, k]) * ps.f32(B[k, j])


@ps.nest
def nt(C: ps.f32["n", "m"], A: ps.f16["n", "d"], B: ps.f16["m", "d"], n: ps.size, m: ps.size, d: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(d):
                C[i, j] += ps.f32(A[i, k]) * ps.f32(B[j, k])


@ps.nest
def tn(C: ps.f32["n", "m"], A: ps.f16["d", "n"], B: ps.f16["d", "m"], n: ps.size, m: ps.size, d: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(d):
                C[i, j] += ps.f32(A[k, i]) * ps.f32(B[k, j])


@ps.nest
def tt(C: ps.f32["n", "m"], A: ps.f16["d", "n"], B: ps.f16["m", "d"], n: ps.size, m: ps.size, d: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(d):
                C[i, j] += ps.f32(B[j, k]) * ps.f32(A[k, i])


def of_types(layout: str, factor: str, total: str) -> Function:
    """The same of other types."""
    A, left = ("n, d", "i, k") if layout[0] == "n" else ("d, n", "k, i")
    B, right = ("d, m", "k, j") if layout[1] == "n" else ("m, d", "j, k")
    cast = "" if factor == total else total
    return parse_nest(
        f"def {layout}(C: {total}[n, m], A: {factor}[{A}], B: {factor}[{B}], n: size, m: size, d: size):\n"
        "    for i in range(n):\n"
        "        for j in range(m):\n"
        "            for k in range(d):\n"
        f"                C[i, j] += {cast}(A[{left}]) * {cast}(B[{right}])\n",
        "product.py",
    )


def product_for(instruction: str, layout: str) -> Function:
    """Of the instruction's types."""
    of = INSTRUCTIONS[instruction]
    return LAYOUTS[layout] if of.factor == f16 else of_types(layout, of.factor.name, of.sum.name)


LAYOUTS = {"nn": nn, "nt": nt, "tn": tn, "tt": tt}  # n: as it is; t: transposed


@dataclass(frozen=True)
class Tiles:
    """Of a block, how many terms are copied at a time, of a warp, and buffers."""

    rows: int
    columns: int
    chunk: int
    warp_rows: int
    warp_columns: int
    stages: int = 2
    instruction: str = "mma.m16n8k16.f16"

    def __str__(self) -> str:
        warps = f"{self.warp_rows}x{self.warp_columns}"
        return f"{self.rows}x{self.columns}x{self.chunk} {warps} {self.stages} stages"


SMALL = Tiles(32, 32, 32, 16, 16)  # quickly compiled


def tiled(nest: Nest | Function, tiles: Tiles = SMALL) -> ps.Schedule:
    """The loops i, j, k of the nest in tiles of blocks, of warps, and of chunks."""
    schedule = ps.Schedule(nest, "ilp").tile("i", sizes=(tiles.rows,), names=("i_b",))
    schedule = schedule.tile("j", sizes=(tiles.columns,), names=("j_b",))
    schedule = schedule.tile("i", sizes=(tiles.warp_rows,), names=("i_w",))
    schedule = schedule.tile("j", sizes=(tiles.warp_columns,), names=("j_w",))
    schedule = schedule.tile("k", sizes=(tiles.chunk,), names=("k_c",))
    return schedule.reorder("i_b", "j_b", "i_w", "j_w", "k_c", "i", "j", "k")


def on_threads(nest: Nest | Function, tiles: Tiles = SMALL) -> ps.Schedule:
    """The same on blocks and warps."""
    schedule = tiled(nest, tiles).bind("i_b", "block.y").bind("j_b", "block.x")
    return schedule.bind("i_w", "thread.z").bind("j_w", "thread.y")


def by_hand(nest: Nest | Function, tiles: Tiles = SMALL) -> ps.Schedule:
    return on_threads(nest, tiles).tensorize("i", "j", "k", tiles.instruction, stages=tiles.stages)


# --- what they compute


def whole_numbers(fn: Function, **sizes: int) -> dict[str, np.ndarray]:
    """Arguments whose products and sums are exact, in whatever order."""
    rng = np.random.default_rng(sum(sizes.values()))

    def numbers(array: Array) -> np.ndarray:
        shape = tuple(evaluate(extent, sizes) for extent in array.shape)
        return rng.integers(-8, 9, shape).astype(array.dtype.numpy)

    return {array.name: numbers(array) for array in fn.arrays}


def product(layout: str, C: np.ndarray, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """C + A B, of factors that are transposed where the layout says so."""
    left, right = ((x.T if how == "t" else x).astype(C.dtype) for how, x in zip(layout, (A, B), strict=True))
    return C + left @ right


def check_product(done: ps.Compiled, layout: str, **sizes: int) -> CheckReport:
    """Under the checker, which has nothing to say, it gives each bit of what NumPy does."""
    arguments = whole_numbers(done.nest, **sizes)
    wanted = product(layout, **arguments)
    report = done.check(**arguments)
    assert report.findings == (), str(report)
    np.testing.assert_array_equal(arguments["C"], wanted, strict=True)
    return report
