"""E6: a shared stage is loaded by the whole block, between barriers; a stage without a scope is each thread's own."""

# mypy: ignore-errors
# ruff: noqa: F821, UP037

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import polysched as ps
from polysched.runtime.emulated.check import check


@ps.nest
def smooth(b: ps.f32["n"], a: ps.f32["n"], n: ps.size):
    for i in range(1, n - 1):
        b[i] = a[i - 1] + a[i] + a[i + 1]


@ps.nest
def product(C: ps.f32["n", "m"], A: ps.f32["n", "p"], B: ps.f32["p", "m"], n: ps.size, m: ps.size, p: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(p):
                C[i, j] += A[i, k] * B[k, j]


def on_threads() -> ps.Schedule:
    return ps.Schedule(smooth).tile("i", sizes=(64,)).bind("i_o", "blockIdx.x").bind("i", "threadIdx.x")


def staged() -> ps.Schedule:
    return on_threads().cache_read("a", at="i_o", scope="shared").bind("a0", "threadIdx.x", threads=64)


BARRIER = {"cuda": "__syncthreads();", "opencl": "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"}
SHARED = {"cuda": "__shared__ __align__(16) float a_c[66];", "opencl": "__local float a_c[66];"}


@pytest.mark.parametrize("target", BARRIER)
def test_E6_a_shared_stage_is_loaded_by_the_whole_block(target):
    done = ps.optimize(smooth, target, schedule=staged())
    text = done.source.device
    assert SHARED[target] in text
    before, load, use = text[text.index(SHARED[target]) :].split(BARRIER[target])
    assert "a_c" not in before.replace(SHARED[target], "")
    assert re.search(r"for \(.*; c2 \+= 64\) \{\s+a_c\[.*\] = a\[c2\];", load)
    assert re.search(r"b\[c3\] = a_c\[.*\] \+ a_c\[.*\] \+ a_c\[.*\];", use)
    done.verify()


def test_E6_a_stage_without_a_scope_belongs_to_a_thread():
    done = ps.optimize(smooth, "cuda", schedule=on_threads().cache_read("a", at="i"))
    assert "        float a_c[3];\n" in done.source.device and BARRIER["cuda"] not in done.source.device
    done.verify()


def two_stages() -> ps.Schedule:
    s = ps.Schedule(product).tile("i", "j", "k", sizes=(16, 16, 16)).reorder("i_o", "j_o", "k_o", "i", "j", "k")
    s = s.cache_read("A", at="k_o", scope="shared").cache_read("B", at="k_o", scope="shared").cache_write("C", at="j_o")
    s = s.bind("i_o", "blockIdx.y").bind("j_o", "blockIdx.x")
    return s.bind(("i", "A0", "B0", "C0*"), "threadIdx.y").bind(("j", "A1", "B1", "C1*"), "threadIdx.x")


@pytest.mark.slow
def test_E6_two_stages_and_sums_of_each_thread_in_a_product():
    done = ps.optimize(product, "cuda", schedule=two_stages())
    assert done.source.kernels[0].block == (16, 16, 1)
    assert done.source.device.count(BARRIER["cuda"]) == 2
    done.verify(n=20, m=20, p=40)


@pytest.mark.parametrize("barrier", [0, 1])
def test_E6_without_one_of_its_barriers_it_is_a_race(barrier):
    done = ps.optimize(product, "cuda", schedule=two_stages())
    parts = done.source.text.split(BARRIER["cuda"])
    text = BARRIER["cuda"].join(parts[: barrier + 1]) + BARRIER["cuda"].join(parts[barrier + 1 :])
    n = 20
    arrays = {name: np.ones((n, n), "f4") for name in "ABC"}
    report = check(replace(done.source, text=text), done.nest)(**arrays, n=n, m=n, p=n)
    assert "race" in {finding.kind for finding in report.findings}
