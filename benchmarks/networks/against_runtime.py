"""Whole networks against ONNX Runtime: `python -m benchmarks.networks [MODEL ...] [--threads N]`; needs onnxruntime.

MODEL is a model by its name in `models.py`, or a file; open dimensions of files are 1. Each side has a process of its
own, and they run in turns, so that neither's idle threads stand in the other's way. Outputs are compared first: the
greatest difference, by the greatest output if that is above one. The ratio is ONNX Runtime's time by ours: above one,
ours is faster.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import polysched as ps
from benchmarks.networks.models import LIGHT, REAL, light

_ROUNDS, _CALLS = 15, 3
_WITHIN = 1e-4
_SMALL = 200  # integers that inputs hold, as bytes or words of a vocabulary


@dataclass(frozen=True)
class Model:
    """A file, and what it leaves open."""

    name: str
    path: str
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    constants: Mapping[str, int] = field(default_factory=dict)


def ours(model: Model, threads: int) -> tuple[Callable[[dict[str, np.ndarray]], Any], str]:
    start = time.perf_counter()
    options = ps.Options(reorder_reductions=True, fast_math=True, parallel=threads > 1)
    net = ps.network(model.path, model.shapes, constants=_constants(model), options=options)
    said, taken = net.report().splitlines()[:2], {value.name for value in net.plan.inputs}
    return lambda x: net(
        **{name: x[name] for name in taken}
    ), f"built in {time.perf_counter() - start:.1f} s; " + "; ".join(said)


def theirs(model: Model, threads: int) -> tuple[Callable[[dict[str, np.ndarray]], Any], str]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = onnxruntime.InferenceSession(model.path, options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, x), f"ONNX Runtime {onnxruntime.__version__}"


def _serve(side: str, model: Model, threads: int, connection: Connection) -> None:
    run, said = (ours if side == "ours" else theirs)(model, threads)
    inputs = connection.recv()
    connection.send((said, [np.asarray(each) for each in run(inputs)]))
    while connection.recv():
        run(inputs)
        samples = []
        for _ in range(_CALLS):
            start = time.perf_counter()
            run(inputs)
            samples.append(1e3 * (time.perf_counter() - start))
        connection.send(min(samples))


def compared(model: Model, threads: int) -> float:
    """Prints a line of the table, and gives the ratio."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    spawn, ends = multiprocessing.get_context("spawn"), {}
    for side in ("ours", "theirs"):
        ends[side], other = spawn.Pipe()
        spawn.Process(target=_serve, args=(side, model, threads, other), daemon=False).start()
    inputs = _inputs(model)
    for end in ends.values():
        end.send(inputs)
    (said, results), (_, right) = (end.recv() for end in ends.values())
    error = max(float(np.abs(a - b).max() / max(1.0, np.abs(b).max())) for a, b in zip(results, right, strict=True))
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(_ROUNDS):
        for side, end in ends.items():
            end.send(True)
            times[side].append(end.recv())
    for end in ends.values():
        end.send(False)
    mine, other_time = (statistics.median(times[side]) for side in ("ours", "theirs"))
    wrong = "" if error <= _WITHIN else "  WRONG"
    ratio = other_time / mine
    print(
        f"{model.name:14} {threads} threads: {mine:8.2f} ms, ONNX Runtime {other_time:8.2f} ms, ratio {ratio:.2f}, ",
        end="",
    )
    print(f"error {error:.1e}{wrong}")
    print(f"{'':14} {said}", flush=True)
    return ratio


def _inputs(model: Model) -> dict[str, np.ndarray]:
    proto, random = onnx.load(model.path), np.random.default_rng(2)
    given = {each.name for each in proto.graph.initializer}
    found: dict[str, np.ndarray] = dict(_constants(model))
    for each in proto.graph.input:
        if each.name not in given and each.name not in found:
            shape = model.shapes.get(each.name) or [dim.dim_value or 1 for dim in each.type.tensor_type.shape.dim]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type)
            is_float = np.issubdtype(dtype, np.floating)
            content = random.standard_normal(shape) if is_float else random.integers(0, _SMALL, shape)
            found[each.name] = content.astype(dtype)
    return found


def _constants(model: Model) -> dict[str, np.ndarray]:
    return {name: np.array(number) for name, number in model.constants.items()}


def _model(name: str, folder: str) -> Model:
    if name in REAL:
        real = REAL[name]
        return Model(name, str(real.path()), real.shapes, real.constants)
    if name not in LIGHT:
        return Model(Path(name).stem, name)
    path = str(Path(folder) / f"{name}.onnx")
    onnx.save(light(name), path)
    return Model(name, path)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.networks", description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        names = given.models or (*LIGHT[:4], *REAL)
        ratios = [compared(_model(name, folder), given.threads) for name in names]
    print(f"geometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}")
    return 0
