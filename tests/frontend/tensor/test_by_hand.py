"""Tensor expressions are nests: schedules by hand, C, CUDA and its checker apply to them."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from polysched.ir.interp import evaluate
from polysched.ir.text import show

n = ps.var("n")
CONV_BN_RELU = {"n": 1, "c": 2, "h": 5, "w": 6, "f": 3}


def convolution(name: str, *, folded: bool):
    """3 x 3, with batch normalization and ReLU after it, or folded into weights and bias before it."""
    batch, c, h, w, f = (ps.var(size) for size in "nchwf")
    data = ps.placeholder((batch, c, h + 2, w + 2), ps.f32, "data")
    weight = ps.placeholder((f, c, 3, 3), ps.f32, "weight")
    bias, mean, var, gamma, beta = (ps.placeholder((f,), ps.f32, x) for x in ("bias", "mean", "var", "gamma", "beta"))
    k, r, s = ps.reduce_axis(c, "k"), ps.reduce_axis(3, "r"), ps.reduce_axis(3, "s")
    scale = ps.compute((f,), lambda o: gamma[o] / ps.sqrt(var[o] + 1e-5), "scale", inline=not folded or None)
    if folded:
        weights = ps.compute((f, c, 3, 3), lambda o, k, r, s: weight[o, k, r, s] * scale[o], "weights")
        shifts = ps.compute((f,), lambda o: (bias[o] - mean[o]) * scale[o] + beta[o], "shifts")
        sums = ps.compute(
            (batch, f, h, w),
            lambda i, o, y, x: ps.sum(data[i, k, y + r, x + s] * weights[o, k, r, s], axis=(k, r, s)) + shifts[o],
            "sums",
        )
        normal = sums
    else:
        sums = ps.compute(
            (batch, f, h, w),
            lambda i, o, y, x: ps.sum(data[i, k, y + r, x + s] * weight[o, k, r, s], axis=(k, r, s)) + bias[o],
            "sums",
        )
        normal = ps.compute(
            (batch, f, h, w), lambda i, o, y, x: (sums[i, o, y, x] - mean[o]) * scale[o] + beta[o], "normal"
        )
    out = ps.compute((batch, f, h, w), lambda i, o, y, x: ps.maximum(normal[i, o, y, x], 0), "out")
    return ps.function(name, [data, weight, bias, mean, var, gamma, beta], [out])


def on_a_grid(function) -> ps.Schedule:
    schedule = ps.Schedule(function).bind("i", "blockIdx.z").bind("o", "blockIdx.y").bind("y", "blockIdx.x")
    return schedule.bind("x", "threadIdx.x", 32)


@pytest.mark.slow
def test_convolution_normalization_and_relu_are_one_kernel_without_an_array_between():
    function = convolution("conv_bn_relu", folded=False)
    assert show(function.body).endswith("""\
                out[i, o, y, x] = 0.0f32
                for k in 0..c:
                    for r in 0..3:
                        for s in 0..3:
                            out[i, o, y, x] = out[i, o, y, x] + data[i, k, y + r, x + s] * weight[o, k, r, s]
                out[i, o, y, x] = max((out[i, o, y, x] + bias[o] - mean[o]) * (gamma[o] / sqrt(var[o] + 1e-05f32)) \
+ beta[o], 0.0f32)""")
    done = ps.optimize(function, "cuda", schedule=on_a_grid(function))
    assert len(done.source.kernels) == 1
    assert "cudaMalloc" not in done.source.text
    done.verify(**CONV_BN_RELU)


def test_folded_into_the_weights_it_computes_the_same():
    arguments = {}
    rng = np.random.default_rng(0)
    for array in convolution("plain", folded=False).arrays:
        shape = [int(evaluate(extent, CONV_BN_RELU)) for extent in array.shape]
        arguments[array.name] = rng.uniform(0.5, 1.5, shape).astype(np.float32)
    results = []
    for folded in (False, True):
        given = {name: array.copy() for name, array in arguments.items()}
        ps.interpret(convolution("both", folded=folded), {**CONV_BN_RELU, **given})
        results.append(given["out"])
    np.testing.assert_allclose(*results, rtol=1e-5)
    assert results[0].max() > 1


def vectors() -> ps.Schedule:
    a, b = ps.placeholder((n,), ps.f32, "A"), ps.placeholder((n,), ps.f32, "B")
    function = ps.function("add", [a, b], [ps.compute((n,), lambda i: a[i] + b[i], "C")])
    return ps.Schedule(function).split("i", 32, tail="guard", names=("xo", "xi"))


def test_a_split_by_32_guards_the_last_block():
    schedule = vectors()
    assert (
        show(ps.optimize(schedule.nest, schedule=schedule).kernel)
        == """\
def add(A: f32[n], B: f32[n], C: f32[n], n: size):
    for c0 in 0..floordiv(n - 1, 32) + 1:
        t0 = c0 * 32
        for c1 in 0..32:
            if t0 + c1 < n:
                C[t0 + c1] = A[t0 + c1] + B[t0 + c1]"""
    )


def test_on_blocks_and_threads_the_index_is_made_of_theirs():
    schedule = vectors().bind("xo", "blockIdx.x").bind("xi", "threadIdx.x")
    done = ps.optimize(schedule.nest, "cuda", schedule=schedule)
    for line in (
        "for (index_t c0 = (index_t)blockIdx.x;",
        "const index_t c1 = (index_t)threadIdx.x;",
        "if (c1 < n - c0 * 32) {",
        "C[c0 * 32 + c1] = A[c0 * 32 + c1] + B[c0 * 32 + c1];",
    ):
        assert line in done.source.text
    done.verify(n=70)


def stages() -> ps.Schedule:
    a = ps.placeholder((n + 2,), ps.f32, "A")
    square = ps.compute((n + 2,), lambda p: a[p] * a[p], "P", inline=False)
    blurred = ps.compute((n,), lambda i: square[i] + square[i + 1] + square[i + 2], "C")
    return ps.Schedule(ps.function("blur", [a], [blurred])).split("i", 32, tail="guard", names=("xo", "xi"))


def test_a_stage_in_shared_memory_is_filled_by_the_block_between_barriers():
    schedule = stages().compute_at("P", at="xo", scope="shared")
    schedule = schedule.bind("xo", "blockIdx.x").bind("xi", "threadIdx.x").bind("p", "threadIdx.x", 32)
    done = ps.optimize(schedule.nest, "cuda", schedule=schedule)
    kernel = done.source.text[done.source.text.index("__shared__") :]
    order = ["__shared__", "P_at[34];", "__syncthreads", "P_at[c2 - t0] = A[c2] * A[c2];", "__syncthreads", "C[c0 * 32"]
    places = [kernel.index(order[0])]
    for text in order[1:]:
        places.append(kernel.index(text, places[-1] + 1))
    done.verify(n=70)


def test_a_stage_without_a_scope_belongs_to_its_thread():
    schedule = stages().compute_at("P", at="xi").bind("xo", "blockIdx.x").bind("xi", "threadIdx.x")
    done = ps.optimize(schedule.nest, "cuda", schedule=schedule)
    assert "float P_at[3];" in done.source.text
    assert "__shared__" not in done.source.text
    done.verify(n=70)


def test_an_edit_that_breaks_a_dependence_of_a_scan_is_refused():
    a = ps.placeholder((n,), ps.f32, "A")
    total = ps.scan((n,), lambda S, i: ps.select(i > 0, S[i - 1], 0) + a[i], ps.f32, "S")
    with pytest.raises(ps.IllegalSchedule) as error:
        ps.Schedule(ps.function("cumsum", [a], [total])).parallel("i")
    assert str(error.value).startswith("parallel(i)")
