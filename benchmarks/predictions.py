"""The cost model against measured times, on one thread: `python -m benchmarks.predictions [NAME ...]`.

Of PolyBench's kernels at their large sizes and of the pipelines, as polysched compiles them and in source order with
SIMD alone. Processor time, least of three runs, and what is predicted with the rates that `polysched calibrate` has
measured. At the end: how far the one is from the other, and how often the faster of two is told.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from statistics import geometric_mean, median
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # which OpenMP reads when it is loaded

import polysched as ps
from benchmarks.pipelines import ours
from benchmarks.pipelines.stages import ALL
from benchmarks.pipelines.turns import fastest
from benchmarks.polybench import KERNELS
from benchmarks.polybench.data import copy, initial_data
from polysched.ir.nodes import Function

RUNS = 3
APART = 1.1  # times that one takes longer than the other, to be told apart
AS_IT_IS = ps.Options(scheduler="source", parallel=False, tile=False, register_tiles=False, wavefront=False)
OURS = ps.Options(parallel=False)


def main(names: list[str]) -> None:
    print(f"{'ms':16}{'ours':>10}{'predicted':>10}{'source':>10}{'predicted':>10}{'ratio':>8}{'predicted':>10}")
    errors, pairs = [], []
    for name, nest, data in _cases(names):
        measured, predicted = zip(*(_times(nest, data, options) for options in (OURS, AS_IT_IS)), strict=True)
        errors += [of / real for of, real in zip(predicted, measured, strict=True)]
        pairs.append((measured[1] / measured[0], predicted[1] / predicted[0]))
        times = "".join(f"{real:10.2f}{of:10.2f}" for real, of in zip(measured, predicted, strict=True))
        print(f"{name:16}{times}{pairs[-1][0]:8.2f}{pairs[-1][1]:10.2f}", flush=True)
    factors = [max(error, 1 / error) for error in errors]
    within = ", ".join(f"{sum(each <= most for each in factors) / len(factors):.0%} within {most}" for most in (1.5, 2))
    middle = f"geometric mean {geometric_mean(errors):.2f}; median factor {median(factors):.2f}"
    print(f"predicted / measured: {middle}, {within}")
    told = [(real, of) for real, of in pairs if abs(math.log(real)) > math.log(APART)]
    print(f"the faster one is told in {sum((real > 1) == (of > 1) for real, of in told)} of {len(told)} pairs")


def _cases(names: list[str]) -> Iterator[tuple[str, ps.Nest | Function, dict[str, Any]]]:
    for name, kernel in KERNELS.items():
        if not names or name in names:
            yield name, kernel.nest, initial_data(name, kernel.sizes["large"])
    for pipeline in ALL:
        if not names or pipeline.name in names:
            yield pipeline.name, ours.function(pipeline), ours.data(pipeline, 3072)


def _times(nest: ps.Nest | Function, data: dict[str, Any], options: ps.Options) -> tuple[float, float]:
    """Milliseconds, measured and predicted."""
    done = ps.optimize(nest, options=options)
    fresh: dict[str, Any] = {}
    (least,) = fastest([lambda: done(**fresh)], RUNS, before=lambda: fresh.update(copy(data)))
    done.release()
    bound = {name: _size(done.nest, name, data) for name in done.nest.sizes}
    return least, 1e3 * done.predict(threads=1, **bound).seconds


def _size(nest: Function, name: str, data: dict[str, Any]) -> int:
    """As given, or as the result of a pipeline has it."""
    return int(data[name]) if name in data else data["out"].shape[("n", "m").index(name)]


if __name__ == "__main__":
    main(sys.argv[1:])
