"""Products of matrices: `dense`, `batch_matmul`."""

from __future__ import annotations

from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.frontend.tensor import Value
from polysched.ir.dtypes import f32
from polysched.ir.nodes import Function
from polysched.operators.parameters import operator


@operator()
def dense(*, batch: int, in_dim: int, out_dim: int, use_bias: bool = False) -> Function:
    """out[i, j] = sum over k of data[i, k] * weight[j, k], with `use_bias` + bias[j]."""
    data = te.placeholder((batch, in_dim), f32, "data")
    weight = te.placeholder((out_dim, in_dim), f32, "weight")
    bias = te.placeholder((out_dim,), f32, "bias")
    k = te.reduce_axis(in_dim, "k")

    def element(i: Value, j: Value) -> Value:
        total = te.sum(data[i, k] * weight[j, k], axis=k)
        return total + bias[j] if use_bias else total

    out = te.compute((batch, out_dim), element, "out")
    return te.function("dense", [data, weight, *([bias] if use_bias else [])], [out])


@operator()
def batch_matmul(*, x_batch: int, y_batch: int, M: int, N: int, K: int) -> Function:
    """out[b, i, j] = sum over k of x[b, i, k] * y[b, j, k]; a batch of one is used for all of the other.

    InputError for two batches of different sizes, none of which is one.
    """
    if x_batch != y_batch and 1 not in (x_batch, y_batch):
        raise InputError(f"batches of {x_batch} and {y_batch} do not match, and none of them is 1")
    x = te.placeholder((x_batch, M, K), f32, "x")
    y = te.placeholder((y_batch, N, K), f32, "y")
    k = te.reduce_axis(K, "k")

    def element(b: Value, i: Value, j: Value) -> Value:
        left, right = (b if batch > 1 else 0 for batch in (x_batch, y_batch))
        return te.sum(x[left, i, k] * y[right, j, k], axis=k)

    out = te.compute((max(x_batch, y_batch), M, N), element, "out")
    return te.function("batch_matmul", [x, y], [out])
