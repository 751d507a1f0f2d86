# mypy: ignore-errors
# ruff: noqa: F821
"""Dynamic programming, in several forms: intervals, steps that meet themselves, and tables of two sequences."""

from __future__ import annotations

import polysched as ps


@ps.nest
def shortest_paths(p: ps.i32[n, n], n: ps.size):
    for k in range(n):
        for i in range(n):
            for j in range(n):
                p[i, j] = min(p[i, j], p[i, k] + p[k, j])


@ps.nest
def closure(p: ps.i32[n, n], n: ps.size):
    for k in range(n):
        for i in range(n):
            for j in range(n):
                p[i, j] = p[i, j] | (p[i, k] & p[k, j])


@ps.nest
def widest_paths(p: ps.f64[n, n], n: ps.size):
    """Floats: nothing is reordered but what waits for nothing."""
    for k in range(n):
        for i in range(n):
            for j in range(n):
                p[i, j] = max(p[i, j], min(p[i, k], p[k, j]))


@ps.nest
def own_column(p: ps.f32[n, m], q: ps.f32[n, m], n: ps.size, m: ps.size):
    """The column that a step reads it overwrites, and every step reads another row of an array that stays."""
    for k in range(m):
        for i in range(n):
            for j in range(m):
                p[i, j] = p[i, j] - p[i, k] * q[k % 2, j] if n > 2 else p[i, j]


@ps.nest
def folding(seq: ps.i8[n], t: ps.i32[n, n], n: ps.size):
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            t[i, j] = max(t[i, j], t[i, j - 1])
            t[i, j] = max(t[i, j], t[i + 1, j])
            t[i, j] = max(t[i, j], t[i + 1, j - 1] + (1 if seq[i] + seq[j] == 3 else 0))
            for k in range(i + 1, j):
                t[i, j] = max(t[i, j], t[i, k] + t[k + 1, j])


@ps.nest
def matrix_chain(m: ps.i64[n, n], d: ps.i64[n + 1], n: ps.size):
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            for k in range(i, j):
                m[i, j] = min(m[i, j], m[i, k] + m[k + 1, j] + d[i] * d[k + 1] * d[j + 1])


@ps.nest
def ways(w: ps.u32[n, n], n: ps.size):
    """Sums that wrap: in how many ways an interval is cut."""
    for length in range(2, n):
        for i in range(n - length):
            for k in range(1, length):
                w[i, i + length] += w[i, i + k] * w[i + k, i + length]


@ps.nest
def chain_of_floats(m: ps.f64[n, n], n: ps.size):
    """The sum rounds, so it stays in order."""
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            for k in range(i, j):
                m[i, j] += m[i, k] * m[k + 1, j]


@ps.nest
def mixed(t: ps.i32[n, n], n: ps.size):
    """Updates of two kinds do not commute."""
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            t[i, j] = t[i, j] + t[i, j - 1]
            for k in range(i + 1, j):
                t[i, j] = max(t[i, j], t[i, k] - t[k + 1, j])


@ps.nest
def subsequence(L: ps.i32[n + 1, m + 1], a: ps.i8[n], b: ps.i8[m], n: ps.size, m: ps.size):
    for i in range(n):
        for j in range(m):
            L[i + 1, j + 1] = L[i, j] + 1 if a[i] == b[j] else max(L[i, j + 1], L[i + 1, j])


@ps.nest
def edits(D: ps.i32[n + 1, m + 1], a: ps.i8[n], b: ps.i8[m], n: ps.size, m: ps.size):
    for i in range(n):
        for j in range(m):
            D[i + 1, j + 1] = min(min(D[i, j + 1], D[i + 1, j]) + 1, D[i, j] + (0 if a[i] == b[j] else 1))


@ps.nest
def alignment(H: ps.i32[n + 1, m + 1], a: ps.i8[n], b: ps.i8[m], n: ps.size, m: ps.size):
    """With gaps of any length, as of Waterman, Smith and Beyer."""
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            H[i, j] = max(H[i, j], H[i - 1, j - 1] + (2 if a[i - 1] == b[j - 1] else -1))
            for k in range(1, i):
                H[i, j] = max(H[i, j], H[i - k, j] - k)
            for k in range(1, j):
                H[i, j] = max(H[i, j], H[i, j - k] - k)


@ps.nest
def product(c: ps.i32[n, n], a: ps.i32[n, n], b: ps.i32[n, n], n: ps.size):
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i, j] = max(c[i, j], a[i, k] + b[k, j])
