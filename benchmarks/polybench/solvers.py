# mypy: ignore-errors
"""PolyBench's linear algebra solvers."""

from __future__ import annotations

import math

import polysched as ps


@ps.nest
def cholesky(A: ps.f64[n, n], n: ps.size):
    """A = L L': L in the lower triangle, for a positive definite A"""
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = math.sqrt(A[i, i])


@ps.nest
def durbin(r: ps.f64[n], y: ps.f64[n], z: ps.f64[n], n: ps.size):
    """Levinson and Durbin's recursion for the Yule-Walker equations: T y = -r, for the Toeplitz matrix T of 1, r"""
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, n):
        beta *= 1.0 - alpha * alpha
        acc = 0.0
        for i in range(k):
            acc += r[k - i - 1] * y[i]
        alpha = -(r[k] + acc) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha


@ps.nest
def gramschmidt(A: ps.f64[m, n], R: ps.f64[n, n], Q: ps.f64[m, n], m: ps.size, n: ps.size):
    """A = Q R by the modified Gram-Schmidt process, for an A of independent columns"""
    for k in range(n):
        norm = 0.0
        for i in range(m):
            norm += A[i, k] * A[i, k]
        R[k, k] = math.sqrt(norm)
        for i in range(m):
            Q[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = 0.0
            for i in range(m):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(m):
                A[i, j] -= Q[i, k] * R[k, j]


@ps.nest
def lu(A: ps.f64[n, n], n: ps.size):
    """A = L U, both in place; no pivoting"""
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


@ps.nest
def ludcmp(A: ps.f64[n, n], b: ps.f64[n], x: ps.f64[n], y: ps.f64[n], n: ps.size):
    """A x = b by A = L U, L y = b and U x = y"""
    for i in range(n):
        for j in range(i):
            w = A[i, j]
            for k in range(j):
                w -= A[i, k] * A[k, j]
            A[i, j] = w / A[j, j]
        for j in range(i, n):
            w = A[i, j]
            for k in range(i):
                w -= A[i, k] * A[k, j]
            A[i, j] = w
    for i in range(n):
        w = b[i]
        for j in range(i):
            w -= A[i, j] * y[j]
        y[i] = w
    for i in range(n - 1, -1, -1):
        w = y[i]
        for j in range(i + 1, n):
            w -= A[i, j] * x[j]
        x[i] = w / A[i, i]


@ps.nest
def trisolv(L: ps.f64[n, n], x: ps.f64[n], b: ps.f64[n], n: ps.size):
    """L x = b for a lower triangular L"""
    for i in range(n):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] /= L[i, i]
