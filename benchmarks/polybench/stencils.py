# mypy: ignore-errors
"""PolyBench's stencils; jacobi_2d and seidel_2d are among polysched's own examples."""

from __future__ import annotations

import polysched as ps


@ps.nest
def adi(
    u: ps.f64[n, n], v: ps.f64[n, n], p: ps.f64[n, n], q: ps.f64[n, n], tsteps: ps.size, n: ps.size
):
    """Heat in the plane by alternating directions: every half step is implicit along one axis"""
    dx = 1.0 / n
    dt = 1.0 / tsteps
    mul1 = 2.0 * dt / (dx * dx)
    mul2 = dt / (dx * dx)
    a = -mul1 / 2.0
    b = 1.0 + mul1
    d = -mul2 / 2.0
    e = 1.0 + mul2
    for t in range(tsteps):
        for i in range(1, n - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in range(1, n - 1):
                p[i, j] = -a / (a * p[i, j - 1] + b)
                q[i, j] = (
                    -d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i] - d * u[j, i + 1] - a * q[i, j - 1]
                ) / (a * p[i, j - 1] + b)  # fmt: skip
            v[n - 1, i] = 1.0
            for j in range(n - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, n - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in range(1, n - 1):
                p[i, j] = -d / (d * p[i, j - 1] + e)
                q[i, j] = (
                    -a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - a * v[i + 1, j] - d * q[i, j - 1]
                ) / (d * p[i, j - 1] + e)  # fmt: skip
            u[i, n - 1] = 1.0
            for j in range(n - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]


@ps.nest
def fdtd_2d(
    ex: ps.f64[nx, ny], ey: ps.f64[nx, ny], hz: ps.f64[nx, ny], source: ps.f64[tmax],
    tmax: ps.size, nx: ps.size, ny: ps.size,
):  # fmt: skip
    """Electric and magnetic fields in the plane by finite differences in time, with a source on one edge"""
    for t in range(tmax):
        for j in range(ny):
            ey[0, j] = source[t]
        for i in range(1, nx):
            for j in range(ny):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(nx):
            for j in range(1, ny):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(nx - 1):
            for j in range(ny - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


@ps.nest
def heat_3d(A: ps.f64[n, n, n], B: ps.f64[n, n, n], tsteps: ps.size, n: ps.size):
    """Heat in space: explicit steps from A to B and back"""
    for t in range(tsteps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    B[i, j, k] = (
                        0.125 * (A[i + 1, j, k] - 2.0 * A[i, j, k] + A[i - 1, j, k])
                        + 0.125 * (A[i, j + 1, k] - 2.0 * A[i, j, k] + A[i, j - 1, k])
                        + 0.125 * (A[i, j, k + 1] - 2.0 * A[i, j, k] + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    A[i, j, k] = (
                        0.125 * (B[i + 1, j, k] - 2.0 * B[i, j, k] + B[i - 1, j, k])
                        + 0.125 * (B[i, j + 1, k] - 2.0 * B[i, j, k] + B[i, j - 1, k])
                        + 0.125 * (B[i, j, k + 1] - 2.0 * B[i, j, k] + B[i, j, k - 1])
                        + B[i, j, k]
                    )


@ps.nest
def jacobi_1d(A: ps.f64[n], B: ps.f64[n], tsteps: ps.size, n: ps.size):
    """Means of three neighbours, from A to B and back"""
    for t in range(tsteps):
        for i in range(1, n - 1):
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1])
        for i in range(1, n - 1):
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1])
