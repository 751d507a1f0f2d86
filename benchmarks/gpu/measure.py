"""One nest on the GPU, in a process of its own: checked against the C target, then timed, in several variants.

The process sends "ready" when it needs the GPU, and goes on when it is answered; then a Measured for each variant.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import polysched as ps
from benchmarks.operators import nests
from benchmarks.polybench import KERNELS, data
from benchmarks.rows import OPERATORS
from polysched.errors import PolyschedError
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Function
from polysched.plan.prepare import function_of
from polysched.runtime.arguments import Binder
from polysched.runtime.gpu.cuda import build

_SAMPLED = 500.0  # milliseconds to spend on samples
_TOLERANCE = {64: 1e-8, 32: 1e-4, 16: 1e-2}  # of the largest value: how far sums in another order may differ
_CUT = 2.0**-9  # the same for products of floats cut to tf32


@dataclass(frozen=True)
class Job:
    """A nest and its variants, by name: options beside the defaults, and decisions, whose keys have a dot."""

    name: str  # of a PolyBench kernel, of a nest in benchmarks/operators/nests.py, or of an operator along rows
    sizes: dict[str, int]
    variants: dict[str, dict[str, Any]] = field(default_factory=lambda: {"ours": {}})

    @property
    def function(self) -> Function:
        if self.name in OPERATORS:
            return function_of(OPERATORS[self.name][0])
        nest = KERNELS[self.name].nest if self.name in KERNELS else getattr(nests, self.name)
        return nest.function


@dataclass(frozen=True)
class Measured:
    """What became of one variant; times in milliseconds."""

    name: str
    variant: str
    median: float = 0.0
    fastest: float = 0.0
    runs: int = 0
    compile: float = 0.0  # of all that is done before the first launch
    fault: str = ""  # why there is no time


def measure(job: Job, arch: str, pipe: Connection) -> None:
    """Sends what the variants take; compiles all before it asks for the GPU."""
    fn, given = job.function, arguments(job)
    expected = data.copy(given)
    ps.optimize(fn, options=_options({}))(**expected)
    compiled = list(_compiled(job, arch))
    pipe.send("ready")
    pipe.recv()
    for variant, (done, seconds) in compiled:
        if isinstance(done, str):
            pipe.send(Measured(job.name, variant, compile=1e3 * seconds, fault=done))
            continue
        found = data.copy(given)
        done(**found)
        fault = difference(job, found, expected, is_cut=job.variants[variant].get("tensor") == "fast")
        samples = done.time(runs=1, **given).samples
        if samples[0] < _SAMPLED:
            samples = done.time(runs=int(min(20, max(3, _SAMPLED / max(samples[0], 1e-3)))), **given).samples
        median = float(np.median(samples))
        pipe.send(Measured(job.name, variant, median, min(samples), len(samples), 1e3 * seconds, fault))


def dry(job: Job, arch: str, pipe: Connection) -> None:
    """The same without a GPU: generates and compiles, and sends what that takes."""
    for variant, (done, seconds) in _compiled(job, arch):
        fault = done if isinstance(done, str) else ""
        pipe.send(Measured(job.name, variant, compile=1e3 * seconds, fault=fault))


def _compiled(job: Job, arch: str) -> Iterator[tuple[str, tuple[ps.Compiled | str, float]]]:
    """Each variant compiled, or why it is not, and seconds."""
    for variant, changes in job.variants.items():
        start = time.perf_counter()
        try:
            done: ps.Compiled | str = _optimized(job, changes)
            build(done.source, arch, contract=True)
        except PolyschedError as error:
            done = f"{type(error).__name__}: {error}"
        yield variant, (done, time.perf_counter() - start)


def _optimized(job: Job, changes: dict[str, Any]) -> ps.Compiled:
    decided = {key: value for key, value in changes.items() if "." in key}
    done = ps.optimize(job.function, "cuda", options=_options({k: v for k, v in changes.items() if k not in decided}))
    for key, value in decided.items():
        done = ps.optimize(job.function, "cuda", schedule=done.schedule.decide(key, value))
    return done


def _options(changes: dict[str, Any]) -> ps.Options:
    """As on the CPU, a * b + c may be rounded once."""
    return ps.Options(**{"contract_floats": True, **changes})


def arguments(job: Job) -> dict[str, Any]:
    """What the nest runs on."""
    if job.name in KERNELS:
        return data.initial_data(job.name, job.sizes)
    rng, given = np.random.default_rng(0), dict[str, Any](job.sizes)
    for array in job.function.arrays:
        shape = tuple(int(evaluate(extent, dict(job.sizes))) for extent in array.shape)
        values = rng.integers(-100, 101, shape) if array.dtype.is_integer else rng.random(shape)
        given[array.name] = values.astype(array.dtype.numpy)
    return given


def difference(job: Job, found: dict[str, Any], expected: dict[str, Any], *, is_cut: bool = False) -> str:
    """Where results differ by more than rounding explains, or ""."""
    if job.name in KERNELS:
        return data.difference(job.name, found, expected)
    for array in job.function.arrays:
        if array.name in Binder(job.function).written:
            scale = np.max(np.abs(expected[array.name]))
            error = np.max(np.abs(found[array.name] - expected[array.name]))
            allowed = 0.0 if array.dtype.is_integer else _CUT if is_cut else _TOLERANCE[array.dtype.bits]
            if not error <= allowed * scale:
                return f"{array.name} differs by {error:.1e} where the largest value is {scale:.1e}"
    return ""
