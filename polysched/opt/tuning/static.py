"""Kernels for a GPU that is not there, judged by counts: a static objective, and no measurement.

    cycles of a kernel = its launches * (what a launch takes + waves of blocks * cycles of a wave)

A wave is as many blocks as all multiprocessors hold, by registers and shared memory; it takes as long as the schedulers
take to issue the instructions of its warps, or as one thread waits for its accesses and barriers, if that is longer.
Instructions are those of nvcc's SASS that a thread executes at the sizes. What caches hold, and how accesses of a warp
fall into sectors and banks, is not in it. So ratios tell which kernel is worth a run on a device, not how fast it is:
they are kept as `static`, of no machine, and `optimize` never takes them.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import ceil, prod

from polysched.config.heuristics.tuning import (
    BARRIER_WAIT,
    DEPENDENT,
    GLOBAL_WAIT,
    LAUNCH,
    SCHEDULERS,
    SHARED_WAIT,
)
from polysched.config.machine import Gpu, machine
from polysched.config.options import Options
from polysched.counts.sass.counts import Counts
from polysched.counts.sass.launches import Execution
from polysched.counts.sass.occupancy import Occupancy
from polysched.errors import InputError
from polysched.opt.tuning.build import Candidate, Job, digest, job_of, place, placed_at
from polysched.opt.tuning.crew import BUILDING, MEMORY, PLACING, without_known
from polysched.opt.tuning.measure import failed
from polysched.opt.tuning.pool import Pool
from polysched.opt.tuning.ratio import Ratio
from polysched.pipeline import optimize
from polysched.results.tuned.database import Measurement
from polysched.results.tuned.task import Place
from polysched.schedule.space import Point
from polysched.support.version import __version__

_WARP = 32


@dataclass(frozen=True)
class Estimate:
    """Of a kernel's text, what is counted."""

    text: str  # a digest
    cycles: float
    seconds: float  # that it took to generate, compile and count


def estimate(job: bytes, point: Point | None) -> Estimate:
    """Of the point, or of the default; ToolchainError without nvcc, InputError where data decides what is run."""
    start = time.perf_counter()
    of = job_of(job)
    schedule = placed_at(job, point).schedule if point is not None else None
    done = optimize(of.nest, of.target, schedule=schedule, options=None if schedule else of.options)
    report = done.inspect()
    found = done.count_instructions(report, **of.sizes)
    cycles = sum(_cycles(each, report[name].occupancy, of.options.gpu) for name, each in found.items())
    if not cycles:
        raise InputError("at these sizes, nothing runs on the device")
    return Estimate(digest(done.source.text), cycles, time.perf_counter() - start)


def _cycles(run: Execution, held: Occupancy | None, gpu: Gpu) -> float:
    """Of all launches of a kernel, as if each were as the largest."""
    if held is None:
        raise InputError(f"nothing is known of the multiprocessors of {gpu.arch}, or of the threads of a block")
    if not held.blocks:
        raise InputError("a multiprocessor does not hold one block")
    resident = min(held.blocks, ceil(run.blocks / gpu.multiprocessors))
    warps = resident * ceil(prod(run.largest.threads) / _WARP)
    waves = ceil(run.blocks / (resident * gpu.multiprocessors))
    issued = warps * run.counts.total / SCHEDULERS
    return run.launches * (LAUNCH + waves * max(issued, _alone(run.counts)))


def _alone(counts: Counts) -> float:
    """Cycles of a thread that waits for what it needs."""
    waits = GLOBAL_WAIT * (counts["global"] + counts["copy"] + counts["local"]) + SHARED_WAIT * counts["shared"]
    return DEPENDENT * counts.total + waits + BARRIER_WAIT * counts["barrier"]


def nowhere(options: Options) -> Place:
    """What estimates are kept for, in place of a machine."""
    return Place(f"no device: {_objective(options.gpu)}", "nvcc", __version__)


def _objective(gpu: Gpu) -> str:
    return f"static estimate for {gpu.arch}, {gpu.multiprocessors} multiprocessors"


class Static:
    """A crew that counts in place of timing."""

    noise: Ratio | None = None

    def __init__(self, job: Job):
        self._pickled = pickle.dumps(job)
        self.objective = f"{_objective(job.options.gpu)}; nothing was measured"

    def __enter__(self) -> Static:
        with ExitStack() as stack:
            self._pool = stack.enter_context(Pool(machine().cores, MEMORY))
            (default,) = self._pool.map(BUILDING, estimate, [(self._pickled, None)])
            if not isinstance(default, Estimate):
                raise default
            self.default, self.seconds, self._cycles = default.text, 0.0, default.cycles
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def placed(self, points: Sequence[Point]) -> list[Candidate | Exception]:
        return self._pool.map(PLACING, place, [(self._pickled, point) for point in points])

    def tried(self, chosen: Sequence[Candidate], known: Set[str]) -> Iterator[tuple[Candidate, Measurement | None]]:
        made = self._pool.map(BUILDING, estimate, [(self._pickled, each.point) for each in chosen])
        for candidate, found in without_known(chosen, made, known):
            yield candidate, found and self._kept(found)

    def confirmed(self, point: Point) -> Measurement:
        """Nothing is gained by counting twice."""
        raise NotImplementedError

    def _kept(self, found: Estimate | Exception) -> Measurement:
        if not isinstance(found, Estimate):
            return failed(found)
        ratio = self._cycles / found.cycles
        counted = Measurement(answers=(), state="static", ratio=ratio, low=ratio, high=ratio, kernel=found.text)
        note = f"static estimate: {found.cycles:.3g} cycles, the default {self._cycles:.3g}"
        return replace(counted, note=note, build_seconds=round(found.seconds, 3))
