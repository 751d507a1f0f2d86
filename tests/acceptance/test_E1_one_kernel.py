"""E1: convolution, batch normalisation and ReLU in one kernel, without an intermediate in global memory."""

from __future__ import annotations

import numpy as np

import polysched as ps
from polysched.frontend import tensor as te
from polysched.frontend.tensor import Value
from polysched.ir.dtypes import f32
from polysched.ir.nodes import Function

N, C, F, S = 2, 5, 9, 12


def normalised_convolution() -> Function:
    data, weight = te.placeholder((N, C, S + 2, S + 2), f32, "data"), te.placeholder((F, C, 3, 3), f32, "weight")
    mean, var, gamma, beta = (te.placeholder((F,), f32, name) for name in ("mean", "var", "gamma", "beta"))
    c, r, s = (te.reduce_axis(extent, name) for extent, name in ((C, "c"), (3, "r"), (3, "s")))
    shape = (N, F, S, S)
    conv = te.compute(
        shape, lambda n, f, y, x: te.sum(data[n, c, y + r, x + s] * weight[f, c, r, s], axis=(c, r, s)), "conv"
    )

    def scale(f: Value) -> Value:
        return gamma[f] / te.sqrt(var[f] + 1e-5)

    norm = te.compute(shape, lambda n, f, y, x: (conv[n, f, y, x] - mean[f]) * scale(f) + beta[f], "norm")
    out = te.compute(shape, lambda n, f, y, x: te.maximum(norm[n, f, y, x], 0), "out")
    return te.function("normalised_convolution", [data, weight, mean, var, gamma, beta], [out])


def test_one_kernel_computes_all_of_it_and_stores_the_result_once():
    done = ps.optimize(normalised_convolution(), "cuda")
    (kernel,) = done.source.kernels
    assert "data, weight copied to shared memory" in kernel.note and "elements of out in registers" in kernel.note
    text = done.source.text
    assert "polysched_malloc" not in text[text.index("_k0(") :]
    assert text.count(" out[") == 1 and "out_0[" in text

    rng = np.random.default_rng(1)
    shapes = {"data": (N, C, S + 2, S + 2), "weight": (F, C, 3, 3)}
    shapes |= dict.fromkeys(("mean", "var", "gamma", "beta"), (F,))
    given = {name: rng.random(shape, "f4") for name, shape in shapes.items()}
    out = np.full((N, F, S, S), np.nan, "f4")
    assert done.check(**given, out=out).is_silent
    windows = np.lib.stride_tricks.sliding_window_view(given["data"], (3, 3), axis=(2, 3))
    conv = np.einsum("ncyxrs,fcrs->nfyx", windows, given["weight"])
    mean, var, gamma, beta = (given[name][:, None, None] for name in ("mean", "var", "gamma", "beta"))
    np.testing.assert_allclose(out, np.maximum((conv - mean) * gamma / np.sqrt(var + 1e-5) + beta, 0), rtol=1e-4)
