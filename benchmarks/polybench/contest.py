"""Several programs that compute the same kernel, timed in turns on the same arrays.

    contest = Contest("gemm", "large", options)
    gcc, ours, numpy = contest.gcc(), contest.ours(2), contest.rival("numpy", function)
    contest.first_calls([gcc, ours, numpy])                  compares results; Wrong
    contest.in_turns([gcc, ours, numpy], runs=5)             seconds a call: A B C A B C ...

Turns let what else the machine does fall on all alike. The arrays are filled anew before each call; only the call is
timed. A sample lasts 20 ms or more: shorter calls are repeated, and their mean is the sample.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polysched as ps
from benchmarks.polybench import KERNELS
from benchmarks.polybench.baseline import BASELINE, c_nest, load_c, load_c_for_sizes, load_rewritten
from benchmarks.polybench.data import copy, difference, initial_data, restore
from polysched.runtime.arguments import Binder

SAMPLE_NS = 20_000_000


class Wrong(Exception):
    """A contestant's result differs from the first one's."""


@dataclass(frozen=True)
class Contestant:
    """A program that runs in place on the contest's arrays."""

    label: str
    run: Callable[[], None]
    prepare: Callable[[], None] = lambda: None  # before each sample, untimed


class Contest:
    """A kernel, compiled by polysched and by gcc, and its data."""

    def __init__(self, name: str, dataset: str, options: ps.Options, *, origin: str = "python"):
        """`origin`: ours starts from the "python" nest or from the "c" file, or is that file as `polysched opt`
        rewrites it ("opt"), compiled by gcc with the flags of the baseline and -fopenmp."""
        self.name, self.dataset = name, dataset
        start = time.perf_counter()
        self.done = done = ps.optimize(KERNELS[name].nest if origin == "python" else c_nest(name), options=options)
        self.compile_seconds = time.perf_counter() - start  # dependences, schedule and code generation
        start = time.perf_counter()
        self.rewritten = load_rewritten(name, options, (*BASELINE, "-fopenmp")) if origin == "opt" else None
        self.program: Any = None if self.rewritten else done.program
        self.build_seconds = time.perf_counter() - start  # gcc, of our text
        fn = KERNELS[name].nest.function
        self.fresh = initial_data(name, KERNELS[name].sizes[dataset])
        self.work = copy(self.fresh)
        self.outputs = Binder(fn).written

    def gcc(self, *, symbolic: bool = False) -> Contestant:
        """The C file by gcc -O3 -march=native, which knows the sizes, unlike ours, unless `symbolic`."""
        if symbolic:
            kernel = load_c([self.name], BASELINE)[self.name]
        else:
            kernel = load_c_for_sizes(self.name, KERNELS[self.name].sizes[self.dataset], BASELINE)
        return Contestant("gcc", kernel.bind(self.work))

    def ours(self, threads: int) -> Contestant:
        """Ours on that many threads; a serial program is linked with no OpenMP, and runs on one."""
        if self.rewritten:
            kernel, library = self.rewritten
            call = kernel.bind(self.work)
        else:
            values = Binder(self.done.nest, self.done.scop.valid_sizes)(self.work).in_order
            library = self.program.library
            call = partial(self.program.entry, *values)
        can_set = hasattr(library, "omp_set_num_threads")
        return Contestant(
            f"ours on {threads} threads",
            call,
            lambda: library.omp_set_num_threads(threads) if can_set else None,
        )

    def rival(self, label: str, function: Callable[..., None], prepare: Callable[[], None]) -> Contestant:
        """A function that takes the kernel's arguments by name and runs in place."""
        return Contestant(label, lambda: function(**self.work), prepare)

    def refill(self) -> None:
        restore(self.work, self.fresh, self.outputs)

    def first_calls(self, contestants: Sequence[Contestant]) -> float:
        """The seconds of the first one's call; Wrong if another computes something else."""
        seconds = self._call(contestants[0])
        expected = copy(self.work)
        for contestant in contestants[1:]:
            self._call(contestant)
            if different := difference(self.name, self.work, expected):
                raise Wrong(f"{contestant.label}: {different}")
        return seconds

    def in_turns(self, contestants: Sequence[Contestant], runs: int) -> list[list[float]]:
        """For each contestant its samples, in seconds a call."""
        samples: list[list[float]] = [[] for _ in contestants]
        gc.collect()
        gc.disable()
        try:
            for _ in range(runs):
                for contestant, taken in zip(contestants, samples, strict=True):
                    taken.append(self._sample(contestant))
        finally:
            gc.enable()
        return samples

    def _sample(self, contestant: Contestant) -> float:
        contestant.prepare()
        total = calls = 0
        while total < SAMPLE_NS:
            self.refill()
            start = time.perf_counter_ns()
            contestant.run()
            total += time.perf_counter_ns() - start
            calls += 1
        return total * 1e-9 / calls

    def _call(self, contestant: Contestant) -> float:
        contestant.prepare()
        self.refill()
        start = time.perf_counter()
        contestant.run()
        return time.perf_counter() - start
