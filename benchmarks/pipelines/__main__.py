"""Stencils: pipelines of stages, and stencils over time with a window in a scalar.

    python -m benchmarks.pipelines [NAME ...]
    python -m benchmarks.pipelines --halide          against Halide's autoschedulers; pip install halide

Pipelines have results of `N` x `N` elements. `fresh` is with fresh memory for each call, `kept` with that of the last
one. Runs take turns; figures are milliseconds of processor time of the fastest, on one thread, or by the clock on as
many as OMP_NUM_THREADS says. A ratio is the better autoscheduler by ours, with kept memory. The exit status is 1 if
the results of the two differ, or a stencil is below `LEAST` of the speed of its source.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from importlib.metadata import version

THREADS = int(os.environ.setdefault("OMP_NUM_THREADS", "1"))  # OpenMP reads it when it is loaded
os.environ["HL_NUM_THREADS"] = str(THREADS)

import numpy as np  # noqa: E402

import polysched as ps  # noqa: E402
from benchmarks.pipelines import ours, stencils, theirs  # noqa: E402
from benchmarks.pipelines.stages import ALL, Pipeline  # noqa: E402
from benchmarks.pipelines.turns import fastest  # noqa: E402

N, RUNS = 3072, 15
LEAST = 0.95


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pipelines", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    names = [pipeline.name for pipeline in ALL]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some pipelines only: {', '.join(names)}")
    parser.add_argument("--halide", action="store_true", help="time Halide's autoschedulers, too")
    parser.add_argument("--size", type=int, default=N, help="rows and columns of results")
    args = parser.parse_args()
    if unknown := sorted({*args.names} - {*names}):
        parser.error(f"there is no pipeline '{unknown[0]}'; there are: {', '.join(names)}")
    chosen = [pipeline for pipeline in ALL if not args.names or pipeline.name in args.names]
    if args.halide:
        return int(not time_against_halide(chosen, args.size))
    time_alone(chosen, args.size)
    return int(not (args.names or time_stencils()))


def time_alone(pipelines: list[Pipeline], size: int) -> None:
    print(f"{'pipeline':12}{'stages':>7}{'fresh':>9}{'kept':>9}   milliseconds")
    for pipeline in pipelines:
        done, data = ps.optimize(ours.function(pipeline)), ours.data(pipeline, size)
        (kept,) = fastest([lambda run=done, data=data: run(**data)], RUNS)
        (fresh,) = fastest([lambda run=done, data=data: run(**data)], RUNS, before=done.release)
        print(f"{pipeline.name:12}{len(pipeline.stages):7}{fresh:9.2f}{kept:9.2f}", flush=True)


def time_against_halide(pipelines: list[Pipeline], size: int) -> bool:
    """Prints the table; are all results the same but for roundings?"""
    halide = theirs.load()
    print(f"Halide {version('halide')}, {THREADS} threads; milliseconds, and seconds to compile")
    columns = "".join(f"{name:>15}{'s':>6}" for name in theirs.SCHEDULERS)
    print(f"{'pipeline':12}{'ours':>9}{'s':>6}{columns}{'ratio':>8}")
    ratios, right = [], True
    for pipeline in pipelines:
        data = ours.data(pipeline, size)
        start = time.perf_counter()
        done = ps.optimize(ours.function(pipeline))
        done.program  # noqa: B018  (compiles it)
        seconds = [time.perf_counter() - start]
        calls, results = [lambda run=done, data=data: run(**data)], [data["out"]]
        for scheduler in theirs.SCHEDULERS:
            own = {**data, "out": np.zeros_like(data["out"])}
            start = time.perf_counter()
            calls.append(theirs.scheduled(halide, pipeline, scheduler, own, THREADS))
            calls[-1]()  # compiles it
            seconds.append(time.perf_counter() - start)
            results.append(own["out"])
        times = fastest(calls, RUNS)
        same = all(np.allclose(results[0], result, rtol=1e-4, atol=1e-4) for result in results)
        ratios.append(min(times[1:]) / times[0])
        figures = "".join(f"{t:{width}.2f}{s:6.1f}" for t, s, width in zip(times, seconds, (9, 15, 15), strict=True))
        print(f"{pipeline.name:12}{figures}{ratios[-1]:8.2f}{'' if same else '  DIFFERENT'}", flush=True)
        right = right and same
    print(f"geometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}")
    return right


def time_stencils() -> bool:
    """Prints the table; is none slower than its source?"""
    print(f"\n{'stencil':12}{'source':>9}{'kernel':>9}{'speed':>8}   milliseconds")
    worst = LEAST
    for nest in (stencils.life, stencils.neighbours):
        source, kernel = stencils.timed(nest, RUNS)
        print(f"{nest.name:12}{source:9.2f}{kernel:9.2f}{source / kernel:8.2f}", flush=True)
        worst = min(worst, source / kernel)
    return worst >= LEAST


if __name__ == "__main__":
    raise SystemExit(main())
