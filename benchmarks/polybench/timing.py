"""Ours against gcc: `python -m benchmarks.polybench --dataset large`.

Per kernel, in a process of its own, gcc -O3 -march=native of the C file, whose arrays are restrict, and ours on each
number of threads, in turns (contest.py): medians and minima of the samples, in milliseconds, and the speed-up, a ratio
of medians. `compile` is all of polysched, `gcc of it` is gcc on our text. Kernels that take gcc more than two seconds
get two samples. Arrays begin at pages, as PolyBench's allocator has it.

gcc knows the sizes, as in PolyBench's own build: it interchanges loops only where it knows the strides, which makes it
up to six times faster (2mm, 3mm, doitgen). Ours takes any sizes; with --symbolic, so does gcc's.

OpenMP's own settings (OMP_WAIT_POLICY, GOMP_SPINCOUNT) are left as they are: with libgomp a waiting thread spins for
about a millisecond, then sleeps.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import platform
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import polysched as ps
from benchmarks.polybench import KERNELS
from benchmarks.polybench.contest import Contest
from polysched.runtime.toolchain import find_compiler

LONG = 2.0  # seconds of gcc; kernels above get two samples
LARGE = 50e-3  # seconds of gcc from which a kernel counts in the second mean


@dataclass(frozen=True)
class Row:
    """What was measured of one kernel; all in seconds."""

    gcc: list[float]
    ours: dict[int, list[float]]  # by the number of threads
    compile: float
    build: float

    def speed_up(self, threads: int) -> float:
        return statistics.median(self.gcc) / statistics.median(self.ours[threads])


def time_all(
    names: Iterable[str],
    dataset: str,
    *,
    runs: int,
    threads: Sequence[int],
    options: ps.Options,
    origin: str = "python",
    symbolic: bool = False,
) -> bool:
    """Prints the table; are all results right?"""

    def measure(name: str) -> Row:
        return _in_a_process(time_kernel, name, dataset, options, origin, runs, threads, symbolic)

    print_machine(dataset, options)
    with empty_cache():
        return print_rows(names, measure, threads)


def print_rows(names: Iterable[str], measure: Callable[[str], Row], threads: Sequence[int]) -> bool:
    """Prints a line for each kernel and the geometric means; are all results right?"""
    columns = "".join(f"{f'ours, {count}':>11}{'min':>9}" for count in threads)
    ratios = "".join(f"{f'x, {count}':>8}" for count in threads)
    print(f"{'ms':15}{'gcc':>10}{'min':>9}{columns}{ratios}{'compile':>9}{'gcc of it':>10}", flush=True)
    rows, wrong = [], []
    for name in names:
        try:
            row = measure(name)
        except Exception as error:  # whatever is wrong with one kernel, the others are measured
            wrong.append(name)
            print(f"{name:15}WRONG: {type(error).__name__}: {error}", flush=True)
            continue
        rows.append(row)
        print(_line(name, row), flush=True)
    _print_means("all", rows, threads)
    large = [row for row in rows if statistics.median(row.gcc) >= LARGE]
    _print_means(f"gcc {1e3 * LARGE:.0f} ms or more", large, threads)
    if rows:
        seconds = [row.compile for row in rows]
        print(f"compile: median {1e3 * statistics.median(seconds):.0f} ms, worst {1e3 * max(seconds):.0f} ms")
    if wrong:
        print(f"WRONG: {', '.join(wrong)}")
    return not wrong


def time_kernel(
    name: str, dataset: str, options: ps.Options, origin: str, runs: int, threads: Sequence[int], symbolic: bool
) -> Row:
    """Measures one kernel; Wrong if ours computes something else than gcc's."""
    contest = Contest(name, dataset, options, origin=origin)
    contestants = [contest.gcc(symbolic=symbolic), *(contest.ours(count) for count in threads)]
    seconds = contest.first_calls(contestants)
    gcc, *ours = contest.in_turns(contestants, min(runs, 2) if seconds > LONG else runs)
    return Row(gcc, dict(zip(threads, ours, strict=True)), contest.compile_seconds, contest.build_seconds)


def _in_a_process(function: Callable[..., Row], *arguments: Any) -> Row:
    """The result of the call in a fresh process: libgomp's waiting and the heap remember the kernels before."""
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def print_machine(dataset: str, options: ps.Options) -> None:
    """The processor, the compiler, and which options are not the defaults."""
    own = {field.name: getattr(options, field.name) for field in fields(options)}
    changed = ", ".join(f"{name}={value}" for name, value in own.items() if value != getattr(ps.Options(), name))
    print(f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {find_compiler().version}")
    print(f"{dataset}; options: {changed or 'defaults'}")


@contextmanager
def empty_cache() -> Iterator[None]:
    """A cache of compiled programs of our own, so that gcc's time is measured; and all that only a first compilation
    does is done."""
    before = os.environ.get("POLYSCHED_CACHE")
    with tempfile.TemporaryDirectory(prefix="polysched-benchmark-") as folder:
        os.environ["POLYSCHED_CACHE"] = folder
        ps.optimize(KERNELS["mvt"].nest)
        try:
            yield
        finally:
            del os.environ["POLYSCHED_CACHE"]
            if before is not None:
                os.environ["POLYSCHED_CACHE"] = before


def _line(name: str, row: Row) -> str:
    columns = "".join(f"{1e3 * statistics.median(taken):11.3f}{1e3 * min(taken):9.3f}" for taken in row.ours.values())
    ratios = "".join(f"{row.speed_up(count):8.2f}" for count in row.ours)
    gcc = f"{1e3 * statistics.median(row.gcc):10.3f}{1e3 * min(row.gcc):9.3f}"
    return f"{name:15}{gcc}{columns}{ratios}{1e3 * row.compile:9.0f}{1e3 * row.build:10.0f}"


def _print_means(title: str, rows: Sequence[Row], threads: Sequence[int]) -> None:
    if rows:
        means = [math.exp(statistics.fmean(math.log(row.speed_up(count)) for row in rows)) for count in threads]
        texts = ", ".join(f"{mean:.2f} on {count}" for mean, count in zip(means, threads, strict=True))
        print(f"geometric mean, {title} ({len(rows)} kernels): {texts}")


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
