# mypy: ignore-errors
"""Schedules by hand: `python -m benchmarks.by_hand` holds a matrix product against the automatic one, and times edits.

The runs of both products take turns; the figure is the ratio of the medians. Each loop of the PolyBench kernels is put
on threads, tiled, reversed, peeled and distributed, which is made or refused. The exit status is 1 if one such edit
takes more than `MOST_SECONDS`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median

import numpy as np

import polysched as ps

KERNELS = Path(__file__).parent / "polybench" / "c"
MOST_SECONDS = 1.0
N, RUNS = 1024, 15


@ps.nest
def matmul(C: ps.f64["n", "n"], A: ps.f64["n", "n"], B: ps.f64["n", "n"], n: ps.size):
    for i in range(n):
        for j in range(n):
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]


def main() -> int:
    print(product())
    print(f"\n{'kernel':16}{'loops':>6}{'start':>8}{'edits':>7}{'median':>9}{'worst':>9}   milliseconds")
    worst = 0.0
    for file in sorted(KERNELS.glob("*.c")):
        for nest in ps.from_c(file):
            start = time.perf_counter()
            schedule = ps.Schedule(nest)
            first, times = time.perf_counter() - start, sorted(edits(schedule))
            row = f"{len(schedule.loops):6}{first * 1000:8.0f}{len(times):7}"
            print(f"{file.stem:16}{row}{median(times) * 1000:9.0f}{times[-1] * 1000:9.0f}", flush=True)
            worst = max(worst, times[-1])
    return int(worst > MOST_SECONDS)


def product() -> str:
    """In the blocks that the automatic schedule has on processors with vectors of 64 bytes."""
    schedule = (
        ps.Schedule(matmul)
        .tile("i", "j", "k", sizes=(64, 240, 256))
        .reorder("i_o", "k_o", "j_o")
        .tile("i", "j", sizes=(8, 24), names=("i_r", "j_r"))
        .reorder("j_r", "i_r", "k", "i", "j")
        .unroll("i")
        .vectorize("j")
        .parallel("i_o")
    )
    by_hand, automatic = ps.optimize(matmul, schedule=schedule), ps.optimize(matmul)
    rng = np.random.default_rng(0)
    arrays = {name: rng.random((N, N)) for name in "CAB"}
    times: dict[str, list[float]] = {"by hand": [], "automatic": []}
    for _ in range(RUNS + 1):
        for name, run in (("by hand", by_hand), ("automatic", automatic)):
            start = time.perf_counter()
            run(**arrays)
            times[name].append(time.perf_counter() - start)
    hand, auto = (median(times[name][1:]) for name in ("by hand", "automatic"))
    text = "the same C" if by_hand.source.text == automatic.source.text else "another C"
    return f"matmul, n = {N}: {hand * 1000:.0f} ms by hand, {auto * 1000:.0f} ms automatic: {auto / hand:.2f}x; {text}"


def edits(schedule: ps.Schedule) -> Iterator[float]:
    """Seconds of each edit of each loop."""
    for loop in schedule.loops:
        for edit, given in (
            (schedule.parallel, {}),
            (schedule.tile, {"sizes": (32,)}),
            (schedule.reverse, {}),
            (schedule.peel, {"first": 1}),
            (schedule.distribute, {}),
        ):
            start = time.perf_counter()
            with suppress(ps.PolyschedError):
                edit(loop, **given)
            yield time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
