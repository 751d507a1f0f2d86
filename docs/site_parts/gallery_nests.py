# mypy: ignore-errors
"""The nests of the gallery: what there is to see in each, how it is drawn, and at which sizes it is timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

import polysched as ps


@dataclass(frozen=True)
class Drawn:
    """How a nest is drawn; by default all of it, as small as `plot` makes it."""

    sizes: Mapping[str, int] | None = None
    tiles: tuple[int, ...] | None = None
    statements: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Exhibit:
    nest: ps.Nest
    caption: str
    timed: Mapping[str, int]
    drawn: Drawn = Drawn()
    reorder_reductions: bool = False
    dominant: tuple[str, ...] = ()  # matrices that get a large diagonal

    @property
    def name(self) -> str:
        return self.nest.name


@ps.nest
def gemm(
    C: ps.f64["n", "m"], A: ps.f64["n", "d"], B: ps.f64["d", "m"],
    n: ps.size, m: ps.size, d: ps.size,
):  # fmt: skip
    for i in range(n):
        for j in range(m):
            for k in range(d):
                C[i, j] += A[i, k] * B[k, j]


@ps.nest
def heat_1d(u: ps.f64["T + 1", "n"], T: ps.size, n: ps.size):
    for t in range(T):
        for i in range(1, n - 1):
            u[t + 1, i] = u[t, i] + 0.2 * (u[t, i - 1] - 2.0 * u[t, i] + u[t, i + 1])


@ps.nest
def jacobi_2d(a: ps.f64["n", "n"], b: ps.f64["n", "n"], T: ps.size, n: ps.size):
    for t in range(T):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i - 1, j] + b[i + 1, j] + b[i, j - 1] + b[i, j + 1])


@ps.nest
def seidel_2d(a: ps.f64["n", "n"], T: ps.size, n: ps.size):
    for t in range(T):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = 0.2 * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@ps.nest
def lu(a: ps.f64["n", "n"], n: ps.size):
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]


@ps.nest
def floyd_warshall(path: ps.i32["n", "n"], n: ps.size):
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])


@ps.nest
def conv2d(
    out: ps.f32["f", "h", "w"], image: ps.f32["c", "h + 2", "w + 2"],
    weight: ps.f32["f", "c", 3, 3], f: ps.size, c: ps.size, h: ps.size, w: ps.size,
):  # fmt: skip
    for o in range(f):
        for y in range(h):
            for x in range(w):
                for q in range(c):
                    for dy in range(3):
                        for dx in range(3):
                            out[o, y, x] += weight[o, q, dy, dx] * image[q, y + dy, x + dx]


@ps.nest
def blur(out: ps.f32["n", "m"], image: ps.f32["n + 2", "m + 2"], n: ps.size, m: ps.size):
    rows = np.empty((n + 2, m), np.float32)
    for y in range(n + 2):
        for x in range(m):
            rows[y, x] = (image[y, x] + image[y, x + 1] + image[y, x + 2]) / 3.0
    for y in range(n):
        for x in range(m):
            out[y, x] = (rows[y, x] + rows[y + 1, x] + rows[y + 2, x]) / 3.0


@ps.nest
def mvt(
    x: ps.f64["n"], y: ps.f64["n"], a: ps.f64["n", "n"],
    p: ps.f64["n"], q: ps.f64["n"], n: ps.size,
):  # fmt: skip
    for i in range(n):
        for j in range(n):
            x[i] += a[i, j] * p[j]
    for i in range(n):
        for j in range(n):
            y[i] += a[j, i] * q[j]


@ps.nest
def sweeps(u: ps.f64["n", "n"], n: ps.size):
    for i in range(n):
        for j in range(1, n):
            u[i, j] += 0.5 * u[i, j - 1]
    for i in range(1, n):
        for j in range(n):
            u[i, j] += 0.5 * u[i - 1, j]


@ps.nest
def total(s: ps.f64[1], x: ps.f64["n"], n: ps.size):
    for i in range(n):
        s[0] += x[i]


@ps.nest
def transpose(b: ps.f64["m", "n"], a: ps.f64["n", "m"], n: ps.size, m: ps.size):
    for i in range(n):
        for j in range(m):
            b[j, i] = a[i, j]


EXHIBITS = (
    Exhibit(
        gemm,
        "A block of `C` stays in registers while its products are added, and each sum keeps the order of its terms.",
        {"n": 1000, "m": 1000, "d": 1000},
        Drawn({"n": 2, "m": 8, "d": 8}, (1, 4, 4)),
    ),
    Exhibit(
        heat_1d,
        "Diamond tiles: a wavefront is as wide as the whole rod, so that all threads start at once.",
        {"T": 500, "n": 20000},
        Drawn({"T": 14, "n": 24}, (8,)),
    ),
    Exhibit(
        jacobi_2d,
        "There and back in one nest: the sweeps are skewed and fused, and diamonds in time and rows take both along.",
        {"T": 100, "n": 1000},
        Drawn({"T": 3, "n": 10}, (3, 16), ("S0",)),
    ),
    Exhibit(
        seidel_2d,
        "Every loop carries a dependence; skewed by `t`, the nest has tiles that are independent along wavefronts.",
        {"T": 50, "n": 1000},
        Drawn({"T": 3, "n": 9}, (2, 4, 4)),
    ),
    Exhibit(
        lu,
        "Tiles of a domain that shrinks with `k`, in wavefronts; most of its work runs in blocks like those of gemm.",
        {"n": 1000},
        Drawn({"n": 7}, (3, 3, 3), ("S1",)),
        dominant=("a",),
    ),
    Exhibit(
        floyd_warshall,
        "Each step reads the row and the column that it writes; cut around them into nine parts, it runs on threads.",
        {"n": 1000},
        Drawn({"n": 6}, (3, 3, 3)),
    ),
    Exhibit(
        conv2d,
        "All six loops are tiled; those of a sum are skewed, as in `2q+dy`, which keeps the order of its terms.",
        {"f": 32, "c": 32, "h": 112, "w": 112},
        Drawn({"f": 2, "c": 2, "h": 6, "w": 8}, (1, 3, 4, 16, 16, 16)),
    ),
    Exhibit(
        blur,
        "Two stages in one pass: each tile makes the rows of the first that it needs, and keeps only the last few.",
        {"n": 4000, "m": 4000},
        Drawn(statements=("S1",)),
    ),
    Exhibit(
        mvt,
        "The second product reads `a` down its columns, until its loops are interchanged.",
        {"n": 4000},
    ),
    Exhibit(
        sweeps,
        "Recurrences along rows, then along columns: threads share the rows first, and the columns after that.",
        {"n": 2000},
    ),
    Exhibit(
        total,
        "A chain of additions, until `reorder_reductions=True` lets threads and vectors have sums of their own.",
        {"n": 20_000_000},
        Drawn({"n": 8}),
        reorder_reductions=True,
    ),
    Exhibit(
        transpose,
        "Nothing depends on anything; tiles are for the caches, as one of the two arrays is passed against its rows.",
        {"n": 4000, "m": 4000},
    ),
)
