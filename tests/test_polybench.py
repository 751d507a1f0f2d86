"""PolyBench's kernels: compiled, they compute what source order and the C files do, and what their names promise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polysched as ps
from benchmarks.polybench import KERNELS, small_odd_sizes
from benchmarks.polybench.baseline import BASELINE, ROUNDED, c_nest, load_c, load_c_for_sizes
from benchmarks.polybench.contest import Contest, Wrong
from benchmarks.polybench.data import copy, difference, initial_data
from benchmarks.polybench.race import find_race
from polysched.errors import PolyschedError

EXACT = ps.Options(contract_floats=False)
SMALL_TILES = replace(EXACT, tile_sizes=(3, 5))  # so that small sizes have several tiles, full and partial ones
AROUND_TILES = (1, 2, 3, 4, 5, 6)  # nothing inside a border, one point, a tile and one more or less of either size
N = 37


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_gemm_is_the_product_of_numpy(rng):
    c, a, b = rng.random((3, N, N))
    expected = 2.0 * a @ b + 3.0 * c
    ps.optimize(KERNELS["gemm"].nest)(C=c, A=a, B=b, alpha=2.0, beta=3.0)
    np.testing.assert_allclose(c, expected)


@cache
def small_tiles(name):
    return ps.optimize(KERNELS[name].nest, options=SMALL_TILES)


@pytest.fixture(scope="module")
def c_kernels():
    """The C files, rounded as the nests say, so that results can be compared bit for bit."""
    return load_c(KERNELS, ROUNDED)


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_verifies(name):
    done = small_tiles(name)
    done.verify()
    done.verify(**small_odd_sizes(KERNELS[name]))


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_computes_what_its_c_file_does_at_sizes_around_tiles(name, c_kernels):
    for size in AROUND_TILES:
        agree(small_tiles(name), c_kernels[name], name, dict.fromkeys(KERNELS[name].sizes["mini"], size))


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_read_from_c_computes_what_its_c_file_does(name, c_kernels):
    pytest.importorskip("clang", reason="needs libclang")
    done = ps.optimize(c_nest(name), options=EXACT)
    agree(done, c_kernels[name], name, KERNELS[name].sizes["mini"])
    agree(done, c_kernels[name], name, small_odd_sizes(KERNELS[name]))


def agree(done, c_kernel, name, sizes):
    ours, theirs = initial_data(name, sizes), initial_data(name, sizes)
    done(**ours)
    c_kernel.bind(theirs)()
    for array in KERNELS[name].nest.function.arrays:
        what = f"{array.name} at {sizes}"
        np.testing.assert_array_equal(ours[array.name], theirs[array.name], err_msg=what)


@pytest.mark.parametrize("name", KERNELS)
def test_the_data_make_no_nan_infinity_or_denormal_number(name, c_kernels):
    data = initial_data(name, KERNELS[name].sizes["small"])
    c_kernels[name].bind(data)()
    for array in KERNELS[name].nest.function.arrays:
        if array.dtype.is_float:
            sizes = np.abs(data[array.name])
            assert np.all((sizes == 0) | ((sizes > 1e-290) & (sizes < 1e290))), array.name


def test_results_differ_where_rounding_does_not_explain_it():
    expected = initial_data("gemm", KERNELS["gemm"].sizes["mini"])
    found = copy(expected)
    found["C"][0, 0] += 1e-12
    assert difference("gemm", found, expected) == ""
    found["C"][0, 0] += 1e-3
    assert difference("gemm", found, expected).startswith("C differs by 1.0e-03")
    found["C"][0, 0] = np.nan
    assert difference("gemm", found, expected).startswith("C differs by nan")


def test_integers_differ_by_any_amount():
    expected = initial_data("floyd-warshall", {"n": 4})
    found = copy(expected)
    found["path"][1, 2] += 1
    assert difference("floyd-warshall", found, expected) == "path differs in 1 of 16 integers"


def test_a_contest_refuses_a_wrong_result():
    contest = Contest("mvt", "mini", ps.Options())
    gcc, ours = contest.gcc(), contest.ours(2)
    samples = contest.in_turns([gcc, ours], runs=1)
    assert contest.first_calls([gcc, ours]) > 0
    assert [len(taken) for taken in samples] == [1, 1]
    with pytest.raises(Wrong, match="nothing: x1 differs by"):
        contest.first_calls([gcc, replace(ours, label="nothing", run=lambda: None)])


def test_a_baseline_that_knows_the_sizes_computes_the_same():
    sizes = KERNELS["gemm"].sizes["mini"]
    known, unknown = initial_data("gemm", sizes), initial_data("gemm", sizes)
    load_c_for_sizes("gemm", sizes, BASELINE).bind(known)()
    load_c(["gemm"], BASELINE)["gemm"].bind(unknown)()
    assert difference("gemm", known, unknown) == ""


@pytest.mark.parametrize("name", ["jacobi-1d", "gramschmidt", "doitgen"])  # a wavefront, scalars, a temporary row
def test_generated_loops_have_no_races(name):
    done = small_tiles(name)
    found = find_race(done.source, done.nest, initial_data(name, KERNELS[name].sizes["mini"]))
    assert found.race == ""
    assert found.regions > 0
    assert found.widest > 1


@pytest.mark.parametrize("clause", ["", "schedule(dynamic)", "if(n > 1000)"])
def test_a_planted_race_is_found_though_the_result_is_right(clause):
    found = planted(f"#pragma omp parallel for {clause}")
    assert found.regions == 1
    assert found.race == "x[0] is written by iteration 0, and accessed by iteration 1, of parallel region 1"


def test_barriers_are_not_checked_for_races():
    with pytest.raises(PolyschedError, match="uses more of OpenMP than race"):
        planted("#pragma omp parallel for ordered")


def planted(pragma):
    """The race check of a triangular solver whose outer loop, which carries dependences, is said to be parallel."""
    done = ps.optimize(KERNELS["trisolv"].nest, options=ps.Options(scheduler="source", tile=False, parallel=False))
    text = done.source.text.replace("    for (", f"    {pragma}\n    for (", 1)
    return find_race(replace(done.source, text=text), done.nest, initial_data("trisolv", {"n": 7}))


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
