# mypy: ignore-errors
"""Nests that PolyBench has not, for what is measured on GPUs: products of matrices and a convolution."""

from __future__ import annotations

import polysched as ps


@ps.nest
def product_f64(
    C: ps.f64[n, m], A: ps.f64[n, k], B: ps.f64[k, m], n: ps.size, m: ps.size, k: ps.size
):  # fmt: skip
    """C = A B"""
    for i in range(n):
        for j in range(m):
            C[i, j] = 0.0
            for p in range(k):
                C[i, j] += A[i, p] * B[p, j]


@ps.nest
def product_f32(
    C: ps.f32[n, m], A: ps.f32[n, k], B: ps.f32[k, m], n: ps.size, m: ps.size, k: ps.size
):  # fmt: skip
    """C = A B"""
    for i in range(n):
        for j in range(m):
            C[i, j] = ps.f32(0.0)
            for p in range(k):
                C[i, j] += A[i, p] * B[p, j]


@ps.nest
def product_f16(
    C: ps.f32[n, m], A: ps.f16[n, k], B: ps.f16[k, m], n: ps.size, m: ps.size, k: ps.size
):  # fmt: skip
    """C = A B, added up in f32"""
    for i in range(n):
        for j in range(m):
            C[i, j] = ps.f32(0.0)
            for p in range(k):
                C[i, j] += ps.f32(A[i, p]) * ps.f32(B[p, j])


@ps.nest
def product_i8(
    C: ps.i32[n, m], A: ps.i8[n, k], B: ps.i8[m, k], n: ps.size, m: ps.size, k: ps.size
):  # fmt: skip
    """C = A B^T, added up in i32"""
    for i in range(n):
        for j in range(m):
            C[i, j] = ps.i32(0)
            for p in range(k):
                C[i, j] += ps.i32(A[i, p]) * ps.i32(B[j, p])


@ps.nest
def conv2d_f16(out: ps.f32[32, 56, 56, 128], data: ps.f16[32, 58, 58, 128], weight: ps.f16[3, 3, 128, 128]):
    """Batch, rows, columns, channels; the data is padded by one all around; added up in f32."""
    for b in range(32):
        for y in range(56):
            for x in range(56):
                for o in range(128):
                    out[b, y, x, o] = ps.f32(0.0)
                    for r in range(3):
                        for s in range(3):
                            for c in range(128):
                                out[b, y, x, o] += ps.f32(data[b, y + r, x + s, c]) * ps.f32(weight[r, s, c, o])


@ps.nest
def conv2d(out: ps.f32[8, 64, 56, 56], data: ps.f32[8, 64, 58, 58], weight: ps.f32[64, 64, 3, 3]):
    """Batch, channels, rows, columns; the data is padded by one all around."""
    for b in range(8):
        for o in range(64):
            for y in range(56):
                for x in range(56):
                    out[b, o, y, x] = ps.f32(0.0)
                    for c in range(64):
                        for r in range(3):
                            for s in range(3):
                                out[b, o, y, x] += data[b, c, y + r, x + s] * weight[o, c, r, s]
