"""PolyBench's kernels: compiled, they compute what source order computes, and what their names promise."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from benchmarks.polybench import KERNELS, small_odd_sizes

SMALL_TILES = ps.Options(tile_sizes=(3, 5))  # so that small sizes have several tiles, full and partial ones
N = 37


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_gemm_is_the_product_of_numpy(rng):
    c, a, b = rng.random((3, N, N))
    expected = 2.0 * a @ b + 3.0 * c
    ps.optimize(KERNELS["gemm"].nest)(C=c, A=a, B=b, alpha=2.0, beta=3.0)
    np.testing.assert_allclose(c, expected)


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_verifies(name):
    done = ps.optimize(KERNELS[name].nest, options=SMALL_TILES)
    done.verify()
    done.verify(**small_odd_sizes(KERNELS[name]))


def test_every_kernel_has_sizes_for_every_data_set():
    assert len(KERNELS) == 30
    for kernel in KERNELS.values():
        assert list(kernel.sizes) == ["mini", "small", "medium", "large"]
        assert all(list(sizes) for sizes in kernel.sizes.values())
        assert all(set(sizes) == set(kernel.nest.function.sizes) for sizes in kernel.sizes.values())


# verify() feeds random arrays, of which some kernels make NaN, which equals NaN. Here they get what they are for.


def positive_definite(rng):
    a = rng.random((N, N))
    return a @ a.T + N * np.eye(N)


def run(name, **arguments):
    ps.optimize(KERNELS[name].nest, options=SMALL_TILES)(**arguments)


def test_cholesky(rng):
    a = positive_definite(rng)
    factor = a.copy()
    run("cholesky", A=factor)
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(a))


def test_lu(rng):
    a = positive_definite(rng)
    factors = a.copy()
    run("lu", A=factors)
    np.testing.assert_allclose((np.tril(factors, -1) + np.eye(N)) @ np.triu(factors), a)


def test_ludcmp(rng):
    a, b = positive_definite(rng), rng.random(N)
    x, y = np.zeros((2, N))
    run("ludcmp", A=a.copy(), b=b, x=x, y=y)
    np.testing.assert_allclose(a @ x, b)


def test_trisolv(rng):
    lower, b, x = np.tril(positive_definite(rng)), rng.random(N), np.zeros(N)
    run("trisolv", L=lower, x=x, b=b)
    np.testing.assert_allclose(lower @ x, b)


def test_gramschmidt(rng):
    a = rng.random((N + 4, N)) + np.eye(N + 4, N)
    q, r = np.zeros_like(a), np.zeros((N, N))
    run("gramschmidt", A=a.copy(), R=r, Q=q)
    np.testing.assert_allclose(q @ r, a)
    np.testing.assert_allclose(q.T @ q, np.eye(N), atol=1e-10)


def test_durbin(rng):
    r = 0.5 ** np.arange(1, N + 1) * rng.random(N)
    column = np.concatenate(([1.0], r[:-1]))
    toeplitz = column[abs(np.subtract.outer(np.arange(N), np.arange(N)))]
    y, z = np.zeros((2, N))
    run("durbin", r=r, y=y, z=z)
    np.testing.assert_allclose(toeplitz @ y, -r, atol=1e-12)


def test_correlation_and_covariance(rng):
    table = rng.random((N + 6, N))
    corr, cov, mean, stddev = np.zeros((N, N)), np.zeros((N, N)), np.zeros(N), np.zeros(N)
    run("correlation", data=table.copy(), corr=corr, mean=mean, stddev=stddev)
    run("covariance", data=table.copy(), cov=cov, mean=mean)
    np.testing.assert_allclose(corr, np.corrcoef(table.T), atol=1e-12)
    np.testing.assert_allclose(cov, np.cov(table.T), atol=1e-12)


def test_nussinov_pairs_a_folded_strand():
    strand = np.array([0, 1, 0, 1, 1, 2, 3, 2, 3], np.int8)  # A C A C C, and what pairs with it, inside out
    table = np.zeros((9, 9), np.int32)
    run("nussinov", seq=strand, table=table)
    assert table[0, 8] == 4
