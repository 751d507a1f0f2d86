# mypy: ignore-errors
"""PolyBench's data mining: statistics of the columns of a table of n observations of m attributes."""

from __future__ import annotations

import math

import polysched as ps


@ps.nest
def correlation(data: ps.f64[n, m], corr: ps.f64[m, m], mean: ps.f64[m], stddev: ps.f64[m], m: ps.size, n: ps.size):
    """Pearson's coefficients of every two columns; `data` becomes centred and scaled."""
    for j in range(m):
        mean[j] = 0.0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= n
    for j in range(m):
        stddev[j] = 0.0
        for i in range(n):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        stddev[j] = math.sqrt(stddev[j] / n)
        if stddev[j] <= 0.1:  # a nearly constant column
            stddev[j] = 1.0
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
            data[i, j] /= math.sqrt(n) * stddev[j]
    for i in range(m - 1):
        corr[i, i] = 1.0
        for j in range(i + 1, m):
            corr[i, j] = 0.0
            for k in range(n):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[m - 1, m - 1] = 1.0


@ps.nest
def covariance(data: ps.f64[n, m], cov: ps.f64[m, m], mean: ps.f64[m], m: ps.size, n: ps.size):
    """Covariances of every two columns; `data` becomes centred."""
    for j in range(m):
        mean[j] = 0.0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= n
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
    for i in range(m):
        for j in range(i, m):
            cov[i, j] = 0.0
            for k in range(n):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= n - 1
            cov[j, i] = cov[i, j]
