# ruff: noqa: F821, UP037
"""Nests to tune, which compile quickly."""

from __future__ import annotations

import polysched as ps


@ps.nest
def matmul(C: ps.f64["n", "n"], A: ps.f64["n", "n"], B: ps.f64["n", "n"], n: ps.size):
    for i in range(n):
        for j in range(n):
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]


@ps.nest
def chain(a: ps.f64["n + 1"], n: ps.size):
    for i in range(n):
        a[i + 1] = 0.5 * a[i] + a[i + 1]


OPTIONS = ps.Options(machine=ps.Machine(vector_bytes=32, cores=2))
