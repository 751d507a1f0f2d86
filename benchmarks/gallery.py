"""The nests of the gallery against their own text in source order: `python -m benchmarks.gallery [--runs 5]`.

gcc -O3 -march=native compiles both; the text in source order is serial, ours runs on each number of threads. They take
turns on the same arrays (polybench/contest.py), each nest in a process of its own; a figure is the median of the
samples. Written to docs/site_parts/gallery_times.json, from which the site has its figures, unless --nest chooses some.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shlex
import statistics
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import polysched as ps
from benchmarks.polybench.baseline import BASELINE
from benchmarks.polybench.contest import Contest, Contestant, Wrong
from benchmarks.polybench.data import Data, copy
from benchmarks.polybench.timing import processor
from docs.site_parts.gallery_nests import EXHIBITS, Exhibit
from polysched.codegen.emit.c import emit_c
from polysched.codegen.memory.linearize import linearize
from polysched.ir.interp import evaluate
from polysched.runtime.arguments import Binder
from polysched.runtime.cpu import c_function, open_library
from polysched.runtime.toolchain import compile_shared, find_compiler

FILE = Path(__file__).parents[1] / "docs" / "site_parts" / "gallery_times.json"
NESTS = {exhibit.name: exhibit for exhibit in EXHIBITS}
TOLERANCE = {"float32": 1e-4, "float64": 1e-8}  # of the largest value


class NestContest(Contest):
    """A nest of the gallery, compiled by polysched and, in source order, by gcc, and its data."""

    def __init__(self, exhibit: Exhibit):
        self.name, self.rewritten = exhibit.name, None
        self.done = ps.optimize(exhibit.nest, options=ps.Options(reorder_reductions=exhibit.reorder_reductions))
        self.program = self.done.program
        self.fresh = copy(initial_data(exhibit))
        self.work = copy(self.fresh)
        self.outputs = Binder(self.done.nest).written

    def in_source_order(self) -> Contestant:
        fn = self.done.nest
        source = emit_c(linearize(fn))
        library = open_library(str(compile_shared(source.text, self.name, flags=BASELINE)))
        entry = c_function(library, source, fn)
        return Contestant("gcc", partial(entry, *Binder(fn, self.done.scop.valid_sizes)(self.work).in_order))

    def require_same(self, contestants: Sequence[Contestant]) -> None:
        """Wrong if one computes something else than the first."""
        self._call(contestants[0])
        expected = copy(self.work)
        for contestant in contestants[1:]:
            self._call(contestant)
            for name in self.outputs:
                ours, theirs = self.work[name], expected[name]
                if np.max(np.abs(ours - theirs)) > TOLERANCE.get(str(ours.dtype), 0) * np.max(np.abs(theirs)):
                    raise Wrong(f"{contestant.label}: {name} differs")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gallery", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--nest", choices=list(NESTS), nargs="+", metavar="NAME", help="only these, without the file")
    parser.add_argument("--runs", type=int, default=5, help="samples of each contestant")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="ours, on these numbers of threads")
    args = parser.parse_args()
    machine = f"{processor()}, {os.cpu_count()} cores"
    print(f"{machine}, load {os.getloadavg()[0]:.1f}; {find_compiler().version}")
    print(f"{'ms':16}{'gcc':>10}" + "".join(f"{f'ours, {count}':>11}{'x':>8}" for count in args.threads), flush=True)
    measured = {name: measured_alone(name, args.runs, args.threads) for name in args.nest or NESTS}
    if not args.nest:
        command = shlex.join(["python", "-m", "benchmarks.gallery", *sys.argv[1:]])
        about = {"date": time.strftime("%Y-%m-%d"), "machine": machine, "compiler": find_compiler().version}
        FILE.write_text(json.dumps({**about, "command": command, "nests": measured}, indent=1) + "\n")


def measured_alone(name: str, runs: int, threads: Sequence[int]) -> dict[str, Any]:
    """Milliseconds of a nest, in a fresh process; prints them."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(measure, (name, runs, threads))
    columns = "".join(f"{ms:11.3f}{found['gcc'] / ms:8.2f}" for ms in found["ours"].values())
    print(f"{name:16}{found['gcc']:10.3f}{columns}", flush=True)
    return found


def measure(name: str, runs: int, threads: Sequence[int]) -> dict[str, Any]:
    contest = NestContest(NESTS[name])
    contestants = [contest.in_source_order(), *(contest.ours(count) for count in threads)]
    contest.require_same(contestants)
    gcc, *ours = (round(1e3 * statistics.median(taken), 3) for taken in contest.in_turns(contestants, runs))
    return {"sizes": dict(NESTS[name].timed), "gcc": gcc, "ours": dict(zip(map(str, threads), ours, strict=True))}


def initial_data(exhibit: Exhibit) -> Data:
    """Random fractions, or whole numbers; what is factored has a large diagonal."""
    rng, fn = np.random.default_rng(0), exhibit.nest.function
    data: Data = dict(exhibit.timed)
    for array in fn.arrays:
        shape = tuple(int(evaluate(extent, dict(exhibit.timed))) for extent in array.shape)
        values = rng.random(shape) if array.dtype.is_float else rng.integers(1, 1000, shape)
        data[array.name] = values.astype(array.dtype.numpy)
    for name in exhibit.dominant:
        data[name][np.diag_indices(data["n"])] += data["n"]
    return data


if __name__ == "__main__":
    main()
