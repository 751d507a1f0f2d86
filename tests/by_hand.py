"""The nests that tests of edits by hand, and docs/schedules.md, share."""

from __future__ import annotations

from polysched import f64, nest, size


@nest
def stencil(a: f64["N + 1", "N + 2"], N: size):
    for i in range(N):
        for j in range(N):
            a[i + 1, j + 1] = a[i, j + 2] + a[i, j + 1] + a[i, j]


@nest
def matmul(C: f64["n", "n"], A: f64["n", "n"], B: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]


@nest
def blur(c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(1, n - 1):
        b[i] = a[i - 1] + a[i] + a[i + 1]
    for i in range(2, n - 2):
        c[i] = b[i - 1] + b[i + 1]


@nest
def vadd(C: f64["n"], A: f64["n"], B: f64["n"], n: size):
    for i in range(n):
        C[i] = A[i] + B[i]
