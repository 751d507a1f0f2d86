# mypy: ignore-errors
"""Stencils: `python -m benchmarks.pipelines` times pipelines of stages, and stencils with a window in a scalar.

Pipelines run on `N` x `N` floats, with the memory of their intermediates kept from call to call, and with fresh memory
for each call; stencils over time against their own text in source order, by the same compiler with the same flags.
Runs take turns; figures are milliseconds of processor time of the fastest, on one thread unless OMP_NUM_THREADS says
otherwise. The exit status is 1 if a stencil is below `LEAST` of the speed of its source.
"""

from __future__ import annotations

import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # OpenMP reads it when it is loaded

import numpy as np

import polysched as ps
from polysched.codegen.emit.c import emit_c
from polysched.codegen.memory.linearize import linearize
from polysched.runtime.cpu import load

N, STEPS, CELLS, RUNS = 3072, 10, 1000, 15
LEAST = 0.95


@ps.nest
def life(g: ps.i32[2, "n", "n"], T: ps.size, n: ps.size):
    for t in range(T):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                s = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            s += g[t % 2, i + di, j + dj]
                if s == 3 or (s == 2 and g[t % 2, i, j] == 1):
                    g[(t + 1) % 2, i, j] = 1
                else:
                    g[(t + 1) % 2, i, j] = 0


@ps.nest
def neighbours(g: ps.i32[2, "n", "n"], T: ps.size, n: ps.size):
    for t in range(T):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                s = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            s += g[t % 2, i + di, j + dj]
                g[(t + 1) % 2, i, j] = s


def main() -> int:
    print(f"{'pipeline':14}{'stages':>7}{'fresh':>9}{'kept':>9}   milliseconds")
    for fn, stages in ((blur(), 2), (chain(3), 3), (chain(10), 10), (harris(), 6)):
        fresh, kept = pipeline(fn)
        print(f"{fn.name:14}{stages:7}{fresh:9.1f}{kept:9.1f}", flush=True)
    print(f"\n{'stencil':14}{'source':>9}{'kernel':>9}{'speed':>8}   milliseconds")
    worst = LEAST
    for nest in (life, neighbours):
        source, kernel = stencil(nest)
        print(f"{nest.name:14}{source:9.2f}{kernel:9.2f}{source / kernel:8.2f}", flush=True)
        worst = min(worst, source / kernel)
    return int(worst < LEAST)


def pipeline(fn) -> tuple[float, float]:
    """Milliseconds with fresh memory, and with kept."""
    done = ps.optimize(fn)
    rows, cols = (extent.right.value + N for extent in fn.arrays[0].shape)
    arrays = {
        fn.arrays[0].name: np.random.default_rng(0).random((rows, cols), np.float32),
        fn.arrays[-1].name: np.zeros((N, N), np.float32),
    }
    times: dict[str, list[float]] = {"fresh": [], "kept": []}
    for _ in range(RUNS):
        for name, samples in times.items():
            if name == "fresh":
                done.release()
            samples.append(milliseconds(lambda: done(**arrays)))
    return min(times["fresh"]), min(times["kept"])


def stencil(nest) -> tuple[float, float]:
    """Milliseconds of the source and of the kernel, which give the same."""
    fn = nest.function
    programs = {"source": load(emit_c(linearize(fn)), fn), "kernel": ps.optimize(nest)}
    start = (np.random.default_rng(0).random((2, CELLS, CELLS)) < 0.3).astype(np.int32)
    g, results = start.copy(), {}  # one array for both: which pages it has makes 10 %
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(RUNS):
        for name, run in programs.items():
            g[:] = start
            times[name].append(milliseconds(lambda run=run: run(g=g, T=STEPS, n=CELLS)))
            results[name] = g.copy()
        assert np.array_equal(results["source"], results["kernel"]), nest.name
    return min(times["source"]), min(times["kernel"])


def milliseconds(run) -> float:
    start = time.process_time()
    run()
    return 1e3 * (time.process_time() - start)


# --- the pipelines


def blur():
    n, m = ps.var("n"), ps.var("m")
    a = ps.placeholder((n + 2, m + 2), ps.f32, "a")
    across = ps.compute((n + 2, m), lambda y, x: (a[y, x] + a[y, x + 1] + a[y, x + 2]) * 0.33, "across", inline=False)
    down = ps.compute((n, m), lambda y, x: (across[y, x] + across[y + 1, x] + across[y + 2, x]) * 0.33, "down")
    return ps.function("blur", [a], [down])


def chain(stages: int):
    """Five-point stencils, one after another."""
    n, m = ps.var("n"), ps.var("m")
    last = first = ps.placeholder((n + 2 * stages, m + 2 * stages), ps.f32, "a")
    for k in range(stages):
        more = 2 * (stages - 1 - k)
        shape, name = ((n + more, m + more), f"s{k}") if more else ((n, m), "out")
        last = ps.compute(shape, five_points(last), name, inline=False)
    return ps.function(f"chain{stages}", [first], [last])


def five_points(a):
    return lambda y, x: (a[y + 1, x + 1] + a[y, x + 1] + a[y + 2, x + 1] + a[y + 1, x] + a[y + 1, x + 2]) * 0.2


def harris():
    """Corners: two gradients, three sums of their products over windows, and the response."""
    n, m = ps.var("n"), ps.var("m")
    a = ps.placeholder((n + 4, m + 4), ps.f32, "a")

    def stage(name, size, element):
        return ps.compute((n + size, m + size) if size else (n, m), element, name, inline=False)

    def box(name, p, q):
        window = [(dy, dx) for dy in range(3) for dx in range(3)]
        return stage(name, 0, lambda y, x: total(p[y + dy, x + dx] * q[y + dy, x + dx] for dy, dx in window))

    def line(at, y, x):
        return at(y, x, 0) + 2.0 * at(y, x, 1) + at(y, x, 2)

    def down(at):
        return lambda y, x, k: a[y + k, x + at]

    def across(at):
        return lambda y, x, k: a[y + at, x + k]

    gx = stage("gx", 2, lambda y, x: (line(down(2), y, x) - line(down(0), y, x)) * 0.0833)
    gy = stage("gy", 2, lambda y, x: (line(across(2), y, x) - line(across(0), y, x)) * 0.0833)
    xx, yy, xy = box("xx", gx, gx), box("yy", gy, gy), box("xy", gx, gy)

    def response(y, x):
        trace = xx[y, x] + yy[y, x]
        return xx[y, x] * yy[y, x] - xy[y, x] * xy[y, x] - 0.04 * trace * trace

    return ps.function("harris", [a], [ps.compute((n, m), response, "out")])


def total(terms):
    first, *rest = terms
    for term in rest:
        first = first + term
    return first


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
