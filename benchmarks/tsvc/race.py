"""Programs of TSVC's loops: built by gcc, checked against each other, and timed in turns.

Results are compared bit by bit, in builds in which gcc does not contract a * b + c; those that are timed have gcc's
defaults. On one thread, time is the processor's, medians count, and the ratio is that of neighbours, one of each
program: a process is fast or slow by where its pages lie, and by what else runs on the core. On more threads, time is
the clock's, and the least counts: a thread that waits for another one that does not run is not the program's fault.
"""

from __future__ import annotations

import os
import statistics
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from polysched.runtime.toolchain import find_compiler

FLAGS = ("-O3", "-march=native", "-falign-functions=64")  # or a loop that is the same in both differs by its place
_EXACT = ("-ffp-contract=off",)
_CHECK_RUNS = 3
_SAMPLE = 10e-3  # seconds


@dataclass(frozen=True)
class Programs:
    """The loops as they were, and as they became: to time, and to compare results."""

    source: Path
    ours: Path
    source_exact: Path
    ours_exact: Path


@dataclass(frozen=True)
class Row:
    """In seconds a run."""

    loop: str
    source: float
    ours: float
    ratio: float


def build(folder: Path, ours: Path) -> Programs:
    """`marked.c` of the folder and the file that it became, compiled."""
    made = Programs(*(folder / name for name in ("source", "ours", "source_exact", "ours_exact")))
    jobs = [
        (folder / "marked.c", made.source, ()),
        (ours, made.ours, ("-fopenmp",)),
        (folder / "marked.c", made.source_exact, _EXACT),
        (ours, made.ours_exact, ("-fopenmp", *_EXACT)),
    ]
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(lambda job: _compile(folder, *job), jobs))
    return made


def _compile(folder: Path, text: Path, program: Path, flags: Sequence[str]) -> None:
    command = [*find_compiler().command, *FLAGS, *flags, "-w", f"-I{folder}"]
    others = [str(folder / name) for name in ("harness.c", "common.c", "dummy.c")]
    subprocess.run([*command, str(text), *others, "-o", str(program), "-lm"], check=True)


def is_equal(programs: Programs, loop: str, threads: int) -> bool:
    """Have both the same results, on that many threads?"""
    _, expected = _run(programs.source_exact, loop, _CHECK_RUNS, 1)
    _, found = _run(programs.ours_exact, loop, _CHECK_RUNS, threads)
    return expected == found


def in_turns(programs: Programs, loop: str, threads: int, samples: int) -> Row:
    """A B A B ...: each sample is a process of its own, of some 10 ms."""
    first, _ = _run(programs.source, loop, 5, threads)
    runs = max(3, int(_SAMPLE / max(first, 1e-9)))
    both = programs.source, programs.ours
    taken = [[_run(program, loop, runs, threads)[0] for program in both] for _ in range(samples)]
    source, ours = map(statistics.median if threads == 1 else min, zip(*taken, strict=True))
    ratio = statistics.median(one / other for one, other in taken) if threads == 1 else source / ours
    return Row(loop, source, ours, ratio)


def _run(program: Path, loop: str, runs: int, threads: int) -> tuple[float, str]:
    """Seconds a run, and what tells the results."""
    clock = "cpu" if threads == 1 else "wall"
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    command = [str(program), loop, str(runs), clock]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    *_, seconds, results = out.split()  # after what TSVC prints itself
    return float(seconds), results
