"""polysched/counts/sass/launches.py: what would be launched at given sizes, and what a thread then does."""

from __future__ import annotations

import shutil

import pytest

import polysched as ps
from polysched.counts.sass.launches import find_launches
from polysched.errors import InputError
from polysched.operators.examples import gemm, jacobi_2d


def test_time_steps_are_launches():
    done = ps.optimize(jacobi_2d, "cuda", schedule=ps.Schedule.auto(jacobi_2d, "cuda").without("time_steps.t"))
    launches = find_launches(done.source, done.nest, {"tsteps": 7, "n": 100})
    kernels = {kernel.name: kernel for kernel in done.source.kernels}
    assert len(launches) == 14 and {launch.kernel for launch in launches} <= set(kernels)
    for launch in launches:
        kernel = kernels[launch.kernel]
        assert launch.threads == kernel.block and len(launch.arguments) == len(kernel.parameters)
        named = dict(zip(kernel.parameters, launch.arguments, strict=True))
        assert named["n"] == 100 and named["A"] != named["B"]


def test_time_tiles_are_launches_between_two_copies():
    done = ps.optimize(jacobi_2d, "cuda")
    steps = ps.Schedule.auto(jacobi_2d, "cuda").decision("time_steps.t").value
    counts = {t: len(find_launches(done.source, done.nest, {"tsteps": t, "n": 100})) for t in (0, 1, 7, 100)}
    assert counts == {t: -(-t // steps) + 2 if t else 0 for t in counts}


def test_sizes_are_checked():
    done = ps.optimize(jacobi_2d, "cuda")
    with pytest.raises(InputError, match="jacobi_2d needs a value for tsteps"):
        find_launches(done.source, done.nest, {"n": 5})
    with pytest.raises(InputError, match="jacobi_2d has no size m; it has tsteps, n"):
        find_launches(done.source, done.nest, {"n": 5, "m": 5, "tsteps": 5})


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compile CUDA texts with")
def test_a_product_multiplies_as_often_as_it_must():
    """Of all threads together: every block here is whole, so none does more than its part."""
    done = ps.optimize(gemm, "cuda", options=ps.Options(contract_floats=True, tensor="off"))
    n = 256
    found = done.count_instructions(n=n)
    (hot,) = (one for one in found.values() if one.counts["fma"])
    assert hot.launches == 1
    assert hot.counts["fma"] * hot.threads == n**3
    assert str(hot).startswith(f"{hot.largest.kernel}, launched once, ")
    with pytest.raises(InputError, match="inspect reads CUDA, and this is C"):
        ps.optimize(gemm).count_instructions(n=n)


@pytest.mark.slow
@pytest.mark.parametrize(("gpu", "products"), [(ps.H100, 16 * 8 * 8), (ps.A100, 8 * 8 * 4)])
def test_tensor_instructions_multiply_as_often_as_they_must(gpu, products):
    """A warp's instruction counts for each of its 32 lanes."""
    n = 128
    found = ps.optimize(gemm, "cuda", options=ps.Options(gpu=gpu)).count_instructions(n=n)
    (hot,) = (one for one in found.values() if one.counts["mma"])
    assert hot.counts["mma"] * hot.threads * products == 32 * n**3
