"""Compile time: `python -m benchmarks.compile_time` prints milliseconds per stage, medians over runs in one process.

The stages up to the loops (dependences, schedule, AST) are what docs and RESULTS.md compare between versions.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

import polysched as ps
from polysched.operators.examples import gemm, jacobi_2d, seidel_2d

RUNS = 7
STAGES = {
    "dependences": ("dependences",),
    "schedule": ("schedule", "legality"),
    "mapping": (
        *("strides", "tile", "wavefront", "register tile", "interleave", "vectorize", "parallel"),
        "legality of the mapping",
    ),
    "AST": ("lower",),
    "expressions and printing": ("expand", "extract", "contract", "linearize", "simplify", "normalize", "licm", "emit"),
}


def main() -> None:
    print(f"import polysched: {_import_seconds():.2f} s (median of 5 processes)")
    print(f"{'nest':12}" + "".join(f"{stage:>26}" for stage in STAGES) + f"{'deps+schedule+AST':>20}   ms")
    for nest in (gemm, jacobi_2d, seidel_2d):
        runs = [_run(nest) for _ in range(RUNS)]
        medians = {stage: statistics.median(run[stage] for run in runs) for stage in STAGES}
        core = statistics.median(run["dependences"] + run["schedule"] + run["AST"] for run in runs)
        print(f"{nest.name:12}" + "".join(f"{1e3 * t:26.1f}" for t in medians.values()) + f"{1e3 * core:20.1f}")


def _run(nest: ps.Nest) -> dict[str, float]:
    done = ps.optimize(nest)
    seconds = {event.name: 0.0 for event in done.events}
    for event in done.events:
        seconds[event.name] += event.seconds
    return {stage: sum(seconds.get(name, 0.0) for name in names) for stage, names in STAGES.items()}


def _import_seconds() -> float:
    timed = "import time; t = time.perf_counter(); import polysched; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", timed]
    return statistics.median(float(subprocess.run(command, capture_output=True, text=True).stdout) for _ in range(5))


if __name__ == "__main__":
    main()
