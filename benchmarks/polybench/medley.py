# mypy: ignore-errors
"""PolyBench's medley: an image filter, shortest paths and RNA folding."""

from __future__ import annotations

import math

import polysched as ps


@ps.nest
def deriche(
    image: ps.f64[w, h], out: ps.f64[w, h], y1: ps.f64[w, h], y2: ps.f64[w, h],
    alpha: ps.f64, w: ps.size, h: ps.size,
):  # fmt: skip
    """Deriche's recursive edge detector: forward and backward along the rows, then along the columns"""
    k = (1.0 - math.exp(-alpha)) ** 2 / (1.0 + 2.0 * alpha * math.exp(-alpha) - math.exp(2.0 * alpha))
    a1 = k
    a2 = k * math.exp(-alpha) * (alpha - 1.0)
    a3 = k * math.exp(-alpha) * (alpha + 1.0)
    a4 = -k * math.exp(-2.0 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -math.exp(-2.0 * alpha)
    for i in range(w):
        yp = 0.0
        ypp = 0.0
        xp = 0.0
        for j in range(h):
            y1[i, j] = a1 * image[i, j] + a2 * xp + b1 * yp + b2 * ypp
            xp = image[i, j]
            ypp = yp
            yp = y1[i, j]
    for i in range(w):
        yn = 0.0
        ynn = 0.0
        xn = 0.0
        xnn = 0.0
        for j in range(h - 1, -1, -1):
            y2[i, j] = a3 * xn + a4 * xnn + b1 * yn + b2 * ynn
            xnn = xn
            xn = image[i, j]
            ynn = yn
            yn = y2[i, j]
    for i in range(w):
        for j in range(h):
            out[i, j] = y1[i, j] + y2[i, j]
    for j in range(h):
        tp = 0.0
        yp = 0.0
        ypp = 0.0
        for i in range(w):
            y1[i, j] = a1 * out[i, j] + a2 * tp + b1 * yp + b2 * ypp
            tp = out[i, j]
            ypp = yp
            yp = y1[i, j]
    for j in range(h):
        tn = 0.0
        tnn = 0.0
        yn = 0.0
        ynn = 0.0
        for i in range(w - 1, -1, -1):
            y2[i, j] = a3 * tn + a4 * tnn + b1 * yn + b2 * ynn
            tnn = tn
            tn = out[i, j]
            ynn = yn
            yn = y2[i, j]
    for i in range(w):
        for j in range(h):
            out[i, j] = y1[i, j] + y2[i, j]


@ps.nest
def floyd_warshall(path: ps.i32[n, n], n: ps.size):
    """Lengths of the shortest paths between every two nodes"""
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])


@ps.nest
def nussinov(seq: ps.i8[n], table: ps.i32[n, n], n: ps.size):
    """Most pairs in a folding of RNA, by dynamic programming; bases are 0 to 3, and those that sum to 3 pair"""
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1])
            table[i, j] = max(table[i, j], table[i + 1, j])
            if i < j - 1:
                table[i, j] = max(table[i, j], table[i + 1, j - 1] + (1 if seq[i] + seq[j] == 3 else 0))
            else:
                table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
