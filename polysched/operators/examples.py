# mypy: ignore-errors
"""Nests to try things on: the walk-through's stencil and three classics, as a user would write them."""

from __future__ import annotations

from polysched.frontend.python import nest
from polysched.ir.dtypes import f64, size


@nest
def stencil(a: f64["N + 1", "N + 2"], N: size):
    for i in range(N):
        for j in range(N):
            a[i + 1, j + 1] = 0.25 * a[i, j + 2] + 0.5 * a[i, j + 1] + 0.25 * a[i, j]


@nest
def gemm(C: f64["n", "n"], A: f64["n", "n"], B: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            C[i, j] = 0.0
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]


@nest
def jacobi_2d(A: f64["n", "n"], B: f64["n", "n"], tsteps: size, n: size):
    for t in range(tsteps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])


@nest
def seidel_2d(A: f64["n", "n"], tsteps: size, n: size):
    for t in range(tsteps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = (
                    A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                    + A[i, j - 1] + A[i, j] + A[i, j + 1]
                    + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                ) / 9.0  # fmt: skip


NESTS = (gemm, jacobi_2d, seidel_2d)
