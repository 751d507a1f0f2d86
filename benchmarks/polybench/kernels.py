# mypy: ignore-errors
"""PolyBench's linear algebra kernels: products of matrices and vectors, combined."""

from __future__ import annotations

import polysched as ps


@ps.nest
def two_mm(
    tmp: ps.f64[ni, nj], A: ps.f64[ni, nk], B: ps.f64[nk, nj], C: ps.f64[nj, nl], D: ps.f64[ni, nl],
    alpha: ps.f64, beta: ps.f64, ni: ps.size, nj: ps.size, nk: ps.size, nl: ps.size,
):  # fmt: skip
    """D = alpha A B C + beta D"""
    for i in range(ni):
        for j in range(nj):
            tmp[i, j] = 0.0
            for k in range(nk):
                tmp[i, j] += alpha * A[i, k] * B[k, j]
    for i in range(ni):
        for j in range(nl):
            D[i, j] *= beta
            for k in range(nj):
                D[i, j] += tmp[i, k] * C[k, j]


@ps.nest
def three_mm(
    E: ps.f64[ni, nj], A: ps.f64[ni, nk], B: ps.f64[nk, nj], F: ps.f64[nj, nl],
    C: ps.f64[nj, nm], D: ps.f64[nm, nl], G: ps.f64[ni, nl],
    ni: ps.size, nj: ps.size, nk: ps.size, nl: ps.size, nm: ps.size,
):  # fmt: skip
    """G = (A B) (C D)"""
    for i in range(ni):
        for j in range(nj):
            E[i, j] = 0.0
            for k in range(nk):
                E[i, j] += A[i, k] * B[k, j]
    for i in range(nj):
        for j in range(nl):
            F[i, j] = 0.0
            for k in range(nm):
                F[i, j] += C[i, k] * D[k, j]
    for i in range(ni):
        for j in range(nl):
            G[i, j] = 0.0
            for k in range(nj):
                G[i, j] += E[i, k] * F[k, j]


@ps.nest
def atax(A: ps.f64[m, n], x: ps.f64[n], y: ps.f64[n], tmp: ps.f64[m], m: ps.size, n: ps.size):
    """y = A' (A x)"""
    for i in range(n):
        y[i] = 0.0
    for i in range(m):
        tmp[i] = 0.0
        for j in range(n):
            tmp[i] += A[i, j] * x[j]
        for j in range(n):
            y[j] += A[i, j] * tmp[i]


@ps.nest
def bicg(
    A: ps.f64[n, m], s: ps.f64[m], q: ps.f64[n], p: ps.f64[m], r: ps.f64[n], m: ps.size, n: ps.size
):
    """s = A' r; q = A p"""
    for j in range(m):
        s[j] = 0.0
    for i in range(n):
        q[i] = 0.0
        for j in range(m):
            s[j] += r[i] * A[i, j]
            q[i] += A[i, j] * p[j]


@ps.nest
def doitgen(
    A: ps.f64[nr, nq, np], C4: ps.f64[np, np], row: ps.f64[np], nq: ps.size, nr: ps.size, np: ps.size
):
    """A[r, q, :] = A[r, q, :] C4 for all r and q"""
    for r in range(nr):
        for q in range(nq):
            for p in range(np):
                row[p] = 0.0
                for s in range(np):
                    row[p] += A[r, q, s] * C4[s, p]
            for p in range(np):
                A[r, q, p] = row[p]


@ps.nest
def mvt(A: ps.f64[n, n], x1: ps.f64[n], x2: ps.f64[n], y1: ps.f64[n], y2: ps.f64[n], n: ps.size):
    """x1 += A y1; x2 += A' y2"""
    for i in range(n):
        for j in range(n):
            x1[i] += A[i, j] * y1[j]
    for i in range(n):
        for j in range(n):
            x2[i] += A[j, i] * y2[j]
