"""Operators that work row by row, ours against PyTorch's on the CPU: `python -m benchmarks.rows [--threads N]`.

Each has two processes that are timed in turns, 25 rounds of 50 calls each, and sleep while the other is; a call that
is not timed begins each turn. PyTorch makes its result, ours has it given. Ours with `reorder_reductions`, `fast_math`
and `contract_floats`; what it computes is first held against NumPy in f64.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import polysched as ps
from benchmarks.operators.against_pytorch import OPTIONS

_ROUNDS, _CALLS, _PAUSE = 25, 50, 0.005
_EPSILON = 1e-5


@ps.op
def softmax(x: ps.f32["n", "d"]) -> ps.f32["n", "d"]:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


@ps.op
def log_softmax(x: ps.f32["n", "d"]) -> ps.f32["n", "d"]:
    y = x - np.max(x, axis=1, keepdims=True)
    return y - np.log(np.sum(np.exp(y), axis=1, keepdims=True))


@ps.op
def layer_norm(x: ps.f32["n", "d"], g: ps.f32["d"], b: ps.f32["d"]) -> ps.f32["n", "d"]:
    c = x - np.mean(x, axis=1, keepdims=True)
    return c / np.sqrt(np.mean(c * c, axis=1, keepdims=True) + 1e-5) * g + b


@ps.op
def rms_norm(x: ps.f32["n", "d"], g: ps.f32["d"]) -> ps.f32["n", "d"]:
    return x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-5) * g


@ps.op
def gelu(x: ps.f32["n", "d"]) -> ps.f32["n", "d"]:
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


@ps.op
def batch_norm(x: ps.f32["n", "c", "s"], g: ps.f32["c"], b: ps.f32["c"]) -> ps.f32["n", "c", "s"]:
    y = x - np.mean(x, axis=(0, 2), keepdims=True)
    return y / np.sqrt(np.mean(y * y, axis=(0, 2), keepdims=True) + 1e-5) * g[:, None] + b[:, None]


OPERATORS: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "softmax": (softmax, ((512, 1000),)),
    "log_softmax": (log_softmax, ((512, 1000),)),
    "layer_norm": (layer_norm, ((512, 768), (768,), (768,))),
    "rms_norm": (rms_norm, ((512, 768), (768,))),
    "gelu": (gelu, ((512, 1000),)),
    "batch_norm": (batch_norm, ((16, 64, 784), (64,), (64,))),
}


def _arguments(shapes: tuple[tuple[int, ...], ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def _ours(name: str) -> Callable[[], object]:
    op, shapes = OPERATORS[name]
    given = _arguments(shapes)
    done = ps.optimize(op, options=ps.Options(**OPTIONS))
    named = {array.name: value for array, value in zip(done.nest.arrays, given, strict=False)}
    out = np.empty_like(given[0])
    result = next(array.name for array in done.nest.arrays if array.name not in named)

    def call() -> None:
        done.program(**named, **{result: out})

    call()
    np.testing.assert_allclose(out, op(*(each.astype(np.float64) for each in given)), rtol=1e-4, atol=1e-5)
    return call


def _theirs(name: str) -> Callable[[], object]:
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.set_grad_enabled(False)
    call = pytorch(name)
    given = [torch.from_numpy(each) for each in _arguments(OPERATORS[name][1])]
    return lambda: call(*given)


def pytorch(name: str) -> Callable[..., Any]:
    """PyTorch's function for the operator, on the same arguments."""
    import torch.nn.functional as functions

    calls: dict[str, Callable[..., Any]] = {
        "softmax": lambda x: functions.softmax(x, 1),
        "log_softmax": lambda x: functions.log_softmax(x, 1),
        "layer_norm": lambda x, g, b: functions.layer_norm(x, x.shape[1:], g, b, _EPSILON),
        "rms_norm": lambda x, g: functions.rms_norm(x, x.shape[1:], g, _EPSILON),
        "gelu": lambda x: functions.gelu(x, approximate="tanh"),
        "batch_norm": lambda x, g, b: functions.batch_norm(x, None, None, g, b, training=True, eps=_EPSILON),
    }
    return calls[name]


def _serve(pipe: Connection, way: str, name: str) -> None:
    call = {"ours": _ours, "PyTorch": _theirs}[way](name)
    pipe.send([])
    while pipe.recv():
        call()
        taken = []
        for _ in range(_CALLS):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
        pipe.send(taken)


def _timed(name: str) -> dict[str, list[float]]:
    """The seconds of all calls, by who was called."""
    context = multiprocessing.get_context("spawn")
    pipes, samples = {}, {"ours": [], "PyTorch": []}  # type: ignore[var-annotated]
    for way in samples:
        pipes[way], there = context.Pipe()
        context.Process(target=_serve, args=(there, way, name), daemon=True).start()
        pipes[way].recv()
    for _ in range(_ROUNDS):
        for way, pipe in pipes.items():
            pipe.send("your turn")
            samples[way] += pipe.recv()
            time.sleep(_PAUSE)
    for pipe in pipes.values():
        pipe.send("")
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rows", description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--op", action="append", choices=sorted(OPERATORS), help="only this operator; may be repeated")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)  # OpenMP reads it when it is loaded
    print(f"{args.threads} threads; ms: median, least; PyTorch's time / ours")
    for name in args.op or OPERATORS:
        samples = _timed(name)
        median, least = ({w: 1e3 * f(s) for w, s in samples.items()} for f in (statistics.median, min))
        figures = [f"{w} {median[w]:.3f} {least[w]:.3f}" for w in samples]
        ratios = [f"{each['PyTorch'] / each['ours']:.2f}" for each in (median, least)]
        print(f"{name:12} {', '.join(figures)}: {', '.join(ratios)}", flush=True)


if __name__ == "__main__":
    main()
