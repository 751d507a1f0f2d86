"""polysched/counts/sass/inspect.py and report.py on what nvcc makes of hand-written texts."""

from __future__ import annotations

import shutil

import pytest

from polysched.counts.sass.inspect import inspect
from polysched.errors import InputError, ToolchainError

pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compile the CUDA texts with")

PRODUCTS = """\
// A block's 64 x 64 part of C = A B in shared memory and registers, for sizes that are multiples of 64.
#define TILE 64
#define STEP 16
__global__ void __launch_bounds__(256) product(float *__restrict__ C, const float *__restrict__ A,
                                               const float *__restrict__ B, int n)
{
    __shared__ __align__(16) float a[STEP][TILE + 4], b[STEP][TILE + 4];
    float sum[4][4] = {};
    const int x = threadIdx.x % 16 * 4, y = threadIdx.x / 16 * 4, row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    for (int k = 0; k < n; k += STEP) {
        #pragma unroll
        for (int part = 0; part < 4; part++) {
            const int e = part * 256 + threadIdx.x;
            a[e % STEP][e / STEP] = A[(row + e / STEP) * n + k + e % STEP];
            b[e / TILE][e % TILE] = B[(k + e / TILE) * n + column + e % TILE];
        }
        __syncthreads();
        #pragma unroll
        for (int s = 0; s < STEP; s++)
            #pragma unroll
            for (int i = 0; i < 4; i++)
                #pragma unroll
                for (int j = 0; j < 4; j++)
                    sum[i][j] += a[s][y + i] * b[s][x + j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            C[(row + y + i) * n + column + x + j] = sum[i][j];
}

__global__ void dot(double *A, double *B, double *C, long n)
{
    const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n)
        for (long k = 0; k < n; k++)
            C[i] += A[i * n + k] * B[k * n + i];
}
"""


@pytest.fixture(scope="module")
def report():
    return inspect(PRODUCTS, "products.cu")


def test_a_good_product_of_matrices(report):
    """The figures that hand-written kernels have: nearly only multiply-adds, operands from shared memory by four."""
    kernel = report["product"]
    hottest = kernel.hottest
    assert hottest.counts["fma"] == 16 * 16
    assert hottest.counts.fma_share > 0.75
    assert hottest.counts.per_fma("integer") < 0.1
    assert hottest.branches == 0
    assert hottest.counts.shared_loads == 32 and hottest.counts.accesses["LDS", 128] == 32
    assert hottest.counts["barrier"] == 2
    assert hottest.lines[0] >= 10 and hottest.lines[1] <= 25


def test_a_poor_one(report):
    """Without registers, and pointers that may alias: two loads and a store for each multiply-add."""
    hottest = report["dot"].hottest
    assert hottest.counts["fma"] > 0 and hottest.counts.fma_share < 0.2
    assert hottest.counts.per_fma("integer") > 1
    assert hottest.counts.accesses["LDG", 64] >= 2 * hottest.counts["fma"]


def test_resources(report):
    kernel = report["product"]
    assert kernel.resources.shared == 2 * 16 * 68 * 4
    assert 32 <= kernel.resources.registers <= 128
    assert (kernel.resources.spill_stores, kernel.resources.spill_loads) == (0, 0)
    assert kernel.threads == 256 and 0 < kernel.occupancy.share <= 1
    assert report["dot"].threads is None and report["dot"].occupancy is None
    assert inspect(PRODUCTS, "products.cu", threads=128)["dot"].occupancy.share > 0.5


def test_spills_are_seen():
    eight_blocks = PRODUCTS.replace("__launch_bounds__(256)", "__launch_bounds__(256, 8)")
    spilling = inspect(eight_blocks, "products.cu")["product"]
    assert spilling.resources.spill_stores > 0 and spilling.resources.spill_loads > 0
    assert spilling.resources.registers <= 32 and spilling.occupancy.share > 0.7
    assert "bytes stored and" in str(spilling)


def test_flags_reach_nvcc():
    apart = inspect(PRODUCTS, "products.cu", flags=("-fmad=false",))["product"].hottest.counts
    assert apart["fma"] == 0 and apart["float"] == 2 * 16 * 16 and apart.per_fma("integer") is None


def test_the_table(report):
    heading, product, dot = str(report).split("\n\n")
    assert heading == "nvcc -arch=sm_90"
    first, titles, *rows = product.splitlines()
    assert first.startswith("product, line ") and "no spills, 8704 bytes of shared memory; 256 threads a block" in first
    assert titles.split()[:4] == ["lines", "depth", "all", "FMA"]
    (hottest,) = (row for row in rows if row.startswith("  *"))
    assert "LDS.128 x32" in hottest and " 256 " in hottest
    assert str(report["dot"]) == dot


def test_a_kernel_that_is_not_there(report):
    with pytest.raises(InputError, match=r"there is no kernel 'dott'\nhint: there are: product, dot"):
        report["dott"]
    assert str(inspect("int x;\n")) == "no kernels"


def test_what_nvcc_refuses():
    with pytest.raises(ToolchainError) as error:
        inspect("__global__ void f(int *p)\n{\n    *p = wrong;\n}\n", "bad file.cu")
    message = str(error.value)
    assert "the compiler failed: " in message and 'identifier "wrong" is undefined' in message
    assert message.endswith("line 3 of bad_file.cu: *p = wrong;")


@pytest.mark.slow
def test_headers_beside_the_text(tmp_path):
    (tmp_path / "size.h").write_text("#define SIZE 3\n")
    text = '#include "size.h"\n__global__ void f(float *p) { for (int i = 0; i < SIZE; i++) p[i] = p[i] * 2 + 1; }\n'
    assert inspect(text, "f.cu", include=tmp_path)["f"].counts["fma"] == 3
    (tmp_path / "size.h").write_text("#define SIZE 5\n")
    assert inspect(text, "f.cu", include=tmp_path)["f"].counts["fma"] == 5


def test_divisions_do_not_make_a_loop_hot():
    """A f64 division is eight multiply-adds of nvcc's and a call; the inner loop is the program's."""
    text = """__global__ void solve(double *x, const double *__restrict__ L, int n)
    {
        for (int i = 0; i < n; i++) {
            double sum = x[i];
            #pragma unroll 1
            for (int j = 0; j < i; j++)
                sum -= L[i * n + j] * x[j];
            x[i] = sum / L[i * n + i];
        }
    }"""
    kernel = inspect(text)["solve"]
    assert kernel.hottest.loop.is_innermost and kernel.hottest.counts["fma"] == 1
    (outer,) = (loop for loop in kernel.loops if not loop.loop.is_innermost)
    assert outer.counts["fma"] >= 8 and outer.counts.calls == 1
    assert outer.counts.total < len(outer.loop.body)  # without what is inside
