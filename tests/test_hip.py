"""HIP: CUDA's text in its own words, checked on the CPU as that is."""

from __future__ import annotations

import random
import re

import nests
import numpy as np
import pytest

import polysched as ps
from polysched.cli import main
from polysched.operators.examples import gemm, jacobi_2d


@ps.nest
def halves(y: ps.f16["n"], x: ps.f16["n"], n: ps.size):
    for i in range(n):
        y[i] = x[i] * x[i] + y[i]


@ps.nest
def sums(total: ps.f64[1], x: ps.f64["n"], n: ps.size):
    for i in range(n):
        total[0] += x[i]


@pytest.mark.parametrize("nest", [gemm, jacobi_2d, halves])
def test_a_text_has_no_word_of_cuda_and_does_what_the_nest_does(nest):
    done = ps.optimize(nest, "hip")
    assert "#include <hip/hip_runtime.h>" in done.source.text
    assert re.findall(r"(?i)cuda\w*|nvcc", done.source.text + done.source.device + done.source.host) == []
    done.verify(seconds=20)


def test_threads_of_a_warp_do_not_read_each_others_registers():
    """Warps have 32 or 64 lanes."""
    done = ps.optimize(sums, "hip", options=ps.Options(reorder_reductions=True))
    assert "__shfl" not in done.source.text and "__syncthreads" in done.source.text
    done.verify(n=1000)


def test_a_launch_has_at_most_as_many_threads_as_32_bits_count():
    text = ps.optimize(gemm, "hip").source.text
    grid, threads = re.search(r"grid_of\(.*, (\d+)\),\s*dim3\((\d+)", text).groups()
    assert int(grid) * int(threads) < 1 << 32 <= (int(grid) + 1) * int(threads) or int(threads) == 1


def test_names_of_hip_are_not_given_to_arrays():
    def shadowed(hipMalloc: ps.f64["n"], n: ps.size):
        for i in range(n):
            hipMalloc[i] = 1.0

    text = ps.optimize(ps.nest(shadowed), "hip").source.text
    assert re.search(r"double \*__restrict__ (\w+)", text)[1] != "hipMalloc"


def test_it_is_not_launched_from_python():
    with pytest.raises(ps.LaunchError, match=r"gemm: HIP is not launched .* hipcc; verify\(\) runs it on the CPU"):
        ps.optimize(gemm, "hip")(A=np.ones((2, 2)), B=np.ones((2, 2)), C=np.ones((2, 2)))
    with pytest.raises(ps.LaunchError, match="only CUDA has launchers, and this is HIP"):
        ps.optimize(gemm, "hip").launcher()


def test_opt_writes_one_file_for_hipcc_or_two(tmp_path, capsys):
    source = tmp_path / "scale.c"
    source.write_text(
        "void scale(int n, double *a)\n{\n#pragma scop\n    for (int i = 0; i < n; i++)\n        a[i] = 2.0 * a[i];\n"
        "#pragma endscop\n}\n"
    )
    assert main(["opt", str(source), "--target", "hip", "-o", str(tmp_path / "one.hip")]) == 0
    assert "hipMemcpy" in (tmp_path / "one.hip").read_text()
    assert main(["opt", str(source), "--target", "hip", "-o", str(tmp_path / "two.c")]) == 0
    assert "hipMemcpy" in (tmp_path / "two_kernels.hip").read_text()
    assert main(["opt", str(source), "--target", "hip"]) == 2
    assert "hint: name the first: -o OUT.c, or one: -o OUT.hip" in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(4))
def test_random_nests(seed):
    ps.optimize(nests.random_nest(random.Random(seed)), "hip").verify(seconds=20)


def test_only_our_own_words_are_spelled_as_hip_has_them():
    def nvcc(CUDA: ps.f64[64], NVRTC: ps.f64[64], z: ps.i64):
        for x in range(64):
            CUDA[x] = NVRTC[x] + z

    done = ps.optimize(ps.nest(nvcc), "hip")
    assert "int64_t z, int64_t most)" in done.source.text.partition("grid_of")[2].partition("\n")[0]
    done.verify()
