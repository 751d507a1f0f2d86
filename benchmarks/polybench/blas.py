# mypy: ignore-errors
"""PolyBench's BLAS routines."""

from __future__ import annotations

import polysched as ps


@ps.nest
def gemm(
    C: ps.f64[ni, nj], A: ps.f64[ni, nk], B: ps.f64[nk, nj],
    alpha: ps.f64, beta: ps.f64, ni: ps.size, nj: ps.size, nk: ps.size,
):  # fmt: skip
    """C = alpha A B + beta C"""
    for i in range(ni):
        for j in range(nj):
            C[i, j] *= beta
        for k in range(nk):
            for j in range(nj):
                C[i, j] += alpha * A[i, k] * B[k, j]


@ps.nest
def gemver(
    A: ps.f64[n, n], u1: ps.f64[n], v1: ps.f64[n], u2: ps.f64[n], v2: ps.f64[n],
    w: ps.f64[n], x: ps.f64[n], y: ps.f64[n], z: ps.f64[n], alpha: ps.f64, beta: ps.f64, n: ps.size,
):  # fmt: skip
    """A += u1 v1' + u2 v2'; x += beta A' y + z; w += alpha A x"""
    for i in range(n):
        for j in range(n):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(n):
        for j in range(n):
            x[i] += beta * A[j, i] * y[j]
    for i in range(n):
        x[i] += z[i]
    for i in range(n):
        for j in range(n):
            w[i] += alpha * A[i, j] * x[j]


@ps.nest
def gesummv(
    A: ps.f64[n, n], B: ps.f64[n, n], tmp: ps.f64[n], x: ps.f64[n], y: ps.f64[n],
    alpha: ps.f64, beta: ps.f64, n: ps.size,
):  # fmt: skip
    """y = alpha A x + beta B x"""
    for i in range(n):
        tmp[i] = 0.0
        y[i] = 0.0
        for j in range(n):
            tmp[i] += A[i, j] * x[j]
            y[i] += B[i, j] * x[j]
        y[i] = alpha * tmp[i] + beta * y[i]


@ps.nest
def symm(
    C: ps.f64[m, n], A: ps.f64[m, m], B: ps.f64[m, n], alpha: ps.f64, beta: ps.f64, m: ps.size, n: ps.size
):
    """C = alpha A B + beta C for a symmetric A, of which the lower triangle is read"""
    for i in range(m):
        for j in range(n):
            acc = 0.0
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                acc += B[k, j] * A[i, k]
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * acc


@ps.nest
def syr2k(
    C: ps.f64[n, n], A: ps.f64[n, m], B: ps.f64[n, m], alpha: ps.f64, beta: ps.f64, m: ps.size, n: ps.size
):
    """C = alpha (A B' + B A') + beta C, its lower triangle"""
    for i in range(n):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += A[j, k] * alpha * B[i, k] + B[j, k] * alpha * A[i, k]


@ps.nest
def syrk(C: ps.f64[n, n], A: ps.f64[n, m], alpha: ps.f64, beta: ps.f64, m: ps.size, n: ps.size):
    """C = alpha A A' + beta C, its lower triangle"""
    for i in range(n):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]


@ps.nest
def trmm(B: ps.f64[m, n], A: ps.f64[m, m], alpha: ps.f64, m: ps.size, n: ps.size):
    """B = alpha A' B for a lower triangular A with ones on its diagonal"""
    for i in range(m):
        for j in range(n):
            for k in range(i + 1, m):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] *= alpha
