# mypy: ignore-errors
"""Stencils over time, which count neighbours in a scalar, against their own text in source order."""

from __future__ import annotations

import numpy as np

import polysched as ps
from benchmarks.pipelines.turns import fastest
from polysched.codegen.emit.c import emit_c
from polysched.codegen.memory.linearize import linearize
from polysched.runtime.cpu import load

STEPS, CELLS = 10, 1000


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


def timed(nest, runs: int) -> tuple[float, float]:
    """Milliseconds of the source and of the kernel, by the same compiler with the same flags, which give the same."""
    fn = nest.function
    start = (np.random.default_rng(0).random((2, CELLS, CELLS)) < 0.3).astype(np.int32)
    g, results = start.copy(), []  # one array for both: which pages it has makes 10 %
    programs = (load(emit_c(linearize(fn)), fn), ps.optimize(nest))

    def call(run):
        run(g=g, T=STEPS, n=CELLS)
        results.append(g.copy())

    calls = [lambda run=run: call(run) for run in programs]
    source, kernel = fastest(calls, runs, before=lambda: np.copyto(g, start))
    assert all(np.array_equal(result, results[0]) for result in results), fn.name
    return source, kernel
