"""Ours against PyTorch on the CPU, at two threads: `python -m benchmarks.operators --pytorch`.

Each case has three processes: ours, and PyTorch with oneDNN off and on. They are timed in turns, five rounds of some
0.05 s each, and sleep while another is; each turn begins with a call that is not timed, for threads and caches. Ratios
are of medians: how many times as long as ours PyTorch takes.

Both are called as a user does, which checks arguments each time; PyTorch makes its result, ours has it given. PyTorch
adds in any order, and multiplies and adds in one step: so may ours. What ours computes is compared with the reference
before it is timed.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import polysched as ps
from benchmarks.operators.cases import Case, shape_of
from benchmarks.operators.check import difference, pytorch
from polysched.errors import PolyschedError

OPERATORS = ("conv2d_nchw", "depthwise_conv2d", "conv3d_transpose_ncdhw", "dense")  # what is timed by default
OURS, OFF, ON = "ours", "oneDNN off", "oneDNN on"

OPTIONS = {"reorder_reductions": True, "fast_math": True, "contract_floats": True}
_THREADS = 2
_ROUNDS = 5
_TURN = 0.05  # seconds of samples
_PAUSE = 0.005  # seconds, in which threads of OpenMP cease to spin
_INSTALL = "pip install torch --index-url https://download.pytorch.org/whl/cpu"


@dataclass(frozen=True)
class Timed:
    """Median seconds of a call of ours, and of PyTorch with oneDNN off and on; none where they are unknown."""

    case: Case
    seconds: dict[str, float] = field(default_factory=dict)
    why: str = ""  # they are unknown

    def __str__(self) -> str:
        figures = [f"{way} {1e3 * seconds:.3f} ms" for way, seconds in self.seconds.items()]
        ratios = [f"{self.ratio(way):.2f}" for way in (OFF, ON) if self.seconds]
        return f"{self.case}: {', '.join(figures)}{self.why}{': ' * bool(ratios)}{', '.join(ratios)}"

    def ratio(self, way: str) -> float:
        return self.seconds[way] / self.seconds[OURS]


def contest(groups: Mapping[str, Sequence[Case]], args: argparse.Namespace) -> bool:
    """Prints the table, and adds a line of JSON for each case to the file; are all cases right, and timed?

    SystemExit without PyTorch, which says how to install it.
    """
    theirs = pytorch()
    if theirs is None:
        raise SystemExit(f"--pytorch needs PyTorch, which is not installed: {_INSTALL}")
    print(f"PyTorch {theirs.VERSION} on the CPU; {_THREADS} threads; ours with {', '.join(OPTIONS)}")
    print(HEADER)
    every: list[Timed] = []
    for op, cases in groups.items():
        found = []
        for case in cases:
            found.append(timed(case, args.seconds))
            if args.verbose or not found[-1].seconds:
                print(found[-1], flush=True)
            if args.json:
                with args.json.open("a") as lines:
                    entry = {"pytorch": theirs.VERSION, "threads": _THREADS, **asdict(found[-1])}
                    lines.write(json.dumps(entry) + "\n")
        print(row(op, found), flush=True)
        every += found
    print(row("all", every))
    print(summary(every))
    return all(each.seconds for each in every)


def timed(case: Case, seconds: float) -> Timed:
    """The case in all three ways; each may take so many seconds until it is ready."""
    with _processes(case) as processes:
        try:
            for process in processes.values():
                if why := process.answer(seconds):
                    return Timed(case, why=why)
            samples: dict[str, list[float]] = {way: [] for way in processes}
            for _ in range(_ROUNDS):
                for way, process in processes.items():
                    process.pipe.send("your turn")
                    samples[way] += process.answer(seconds)
                    time.sleep(_PAUSE)
        except (TimeoutError, EOFError) as error:
            return Timed(case, why=str(error))
    return Timed(case, {way: statistics.median(taken) for way, taken in samples.items()})


HEADER = f"""{"PyTorch's time / ours":36}{OFF:>27}{ON:>27}
{"operator":29}  cases{"     mean  in total    worst" * 2}"""


def row(op: str, cases: Sequence[Timed]) -> str:
    """A line of the table: geometric means, ratios of all time, and the least ratio; dashes where nothing is timed."""
    known = [each for each in cases if each.seconds]
    columns = ""
    for way in (OFF, ON):
        ratios = [each.ratio(way) for each in known]
        figures: list[float] = []
        if known:
            total = sum(each.seconds[way] for each in known) / sum(each.seconds[OURS] for each in known)
            figures = [statistics.geometric_mean(ratios), total, min(ratios)]
        texts = [f"{figure:.2f}" for figure in figures] or ["-"] * 3
        columns += "".join(f"{text:>{width}}" for text, width in zip(texts, (9, 10, 9), strict=True))
    return f"{op:29}{len(cases):7}{columns}"


def summary(cases: Sequence[Timed]) -> str:
    """In how many cases ours is at least as fast, and the three where it is slowest."""
    lines = []
    for way in (OFF, ON):
        known = sorted((each.ratio(way), str(each.case)) for each in cases if each.seconds)
        fast = sum(ratio >= 1 for ratio, _ in known)
        lines.append(f"at least as fast as PyTorch with {way}: {fast} of {len(cases)} cases")
        lines += [f"    {ratio:.2f}: {case}" for ratio, case in known[:3]]
    return "\n".join(lines)


@dataclass(frozen=True)
class _Process:
    """A process that sleeps until it is its turn."""

    process: Any
    pipe: Connection

    def answer(self, seconds: float) -> Any:
        """What it says next; TimeoutError past the limit, EOFError if the process has ended."""
        if not self.pipe.poll(seconds):
            raise TimeoutError("not done within the time limit")
        try:
            return self.pipe.recv()
        except EOFError:
            raise EOFError("a process ended without a result") from None


@contextmanager
def _processes(case: Case) -> Iterator[dict[str, _Process]]:
    """One for each way. They start anew, since PyTorch's OpenMP is not the one that ours is to run on."""
    context = multiprocessing.get_context("spawn")
    started = {}
    try:
        for way in _WAYS:
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, way, case), daemon=True)
            process.start()
            there.close()
            started[way] = _Process(process, here)
        yield started
    finally:
        for each in started.values():
            each.process.kill()
            each.process.join()


class _NotTimed(Exception):
    """The case is wrong, or is not there."""


def _serve(pipe: Connection, way: str, case: Case) -> None:
    """Says when the case is ready, or why it will not be; then gives samples, as often as it is asked."""
    try:
        call = _WAYS[way](case)
    except (PolyschedError, _NotTimed) as error:
        pipe.send(f"{way}: {error}")
        return
    pipe.send("")
    while pipe.recv():
        pipe.send(_samples(call))


def _samples(call: Callable[[], object]) -> list[float]:
    call()
    taken = [_seconds(call)]
    return taken + [_seconds(call) for _ in range(min(50, math.ceil(_TURN / taken[0]) - 1))]


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _ours(case: Case) -> Callable[[], object]:
    os.environ["OMP_NUM_THREADS"] = str(_THREADS)  # OpenMP reads it when it is loaded, with the program
    nest = case.function()
    done = ps.optimize(nest, options=ps.Options(**OPTIONS))
    given = case.inputs(nest)
    out = np.empty(shape_of(nest, "out"), nest.array("out").dtype.numpy)
    call = partial(done.program, **given, out=out)
    call()
    if why := difference(case, given, out):
        raise _NotTimed(f"wrong: {why}")
    return call


def _theirs(case: Case, *, onednn: bool) -> Callable[[], object]:
    theirs = pytorch()
    assert theirs is not None, "the contest has looked for it"
    try:
        call = theirs.rival(case.op, case.args, case.inputs(case.function()), threads=_THREADS, onednn=onednn)
        call()
    except theirs.Missing as error:
        raise _NotTimed(str(error)) from None
    return call


_WAYS: dict[str, Callable[[Case], Callable[[], object]]] = {
    OURS: _ours,
    OFF: partial(_theirs, onednn=False),
    ON: partial(_theirs, onednn=True),
}
