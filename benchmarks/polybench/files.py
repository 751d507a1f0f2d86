"""PolyBench/C's own files against what `polysched opt` makes of them: `python -m benchmarks.polybench --files DIR`.

DIR is PolyBench/C 4.2.1 as it is published, which has a `utilities` folder. Both programs are built as its README
says, by gcc -O3 -march=native, ours with -fopenmp too, and report the time of the kernel function themselves. They run
in turns, a process a sample, after both have dumped the arrays that they compute: the dumps, of builds that round
a * b + c twice, are to be equal byte for byte.

`--layout` says how arrays are passed and where they lie:

    default    double A[1000 + 0][1200 + 0], on the heap: constant extents, bounds of loops in n and m
    c99        double A[n + 0][m + 0], on the heap
    stack      as default, but in the frame of main

By default, as in PolyBench's, no array is restrict; `--restrict` defines POLYBENCH_USE_RESTRICT for both programs.
"""

from __future__ import annotations

import filecmp
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polysched as ps
from benchmarks.polybench.baseline import BASELINE
from benchmarks.polybench.contest import Wrong
from benchmarks.polybench.timing import LONG, Row, empty_cache, print_machine, print_rows
from polysched.runtime.toolchain import find_compiler

LAYOUTS = {"default": (), "c99": ("POLYBENCH_USE_C99_PROTO",), "stack": ("POLYBENCH_STACK_ARRAYS",)}
ROUNDED = "-ffp-contract=off"  # one rounding per operation, so that results can be bit-equal


def time_files(
    folder: Path,
    names: Iterable[str],
    dataset: str,
    *,
    layouts: Sequence[str],
    restrict: bool,
    runs: int,
    threads: Sequence[int],
) -> bool:
    """Prints a table for each layout; are all dumps equal?"""
    right = True
    for layout in layouts:
        print_machine(dataset, ps.Options())
        macros = (f"{dataset.upper()}_DATASET", *LAYOUTS[layout], *(["POLYBENCH_USE_RESTRICT"] if restrict else []))
        print(f"{', '.join(macros)}: `polysched opt` on PolyBench's files")
        with empty_cache():
            right &= print_rows(names, partial(time_file, folder, macros, runs, threads), threads)
    return right


def time_file(folder: Path, macros: tuple[str, ...], runs: int, threads: Sequence[int], name: str) -> Row:
    """Measures one kernel; Wrong if `opt` leaves it as it is, or the dumps differ."""
    (source,) = folder.glob(f"**/{name}/{name}.c")
    with tempfile.TemporaryDirectory(prefix="polysched-benchmark-") as place:
        build = _Build(folder / "utilities", source.parent, macros, Path(place))
        ours, compile_seconds = _timed(lambda: build.rewritten(source))
        gcc = build.program(source, "-DPOLYBENCH_TIME")
        program, build_seconds = _timed(lambda: build.program(ours, "-DPOLYBENCH_TIME", "-fopenmp"))
        expected, found = build.dump(source), build.dump(ours, "-fopenmp", threads=max(threads))
        if not filecmp.cmp(expected, found, shallow=False):
            raise Wrong("the dumps differ")
        theirs: list[float] = []
        samples: dict[int, list[float]] = {count: [] for count in threads}
        while len(theirs) < (min(runs, 2) if theirs and theirs[0] > LONG else runs):
            theirs.append(_seconds(gcc, 1))
            for count, taken in samples.items():
                taken.append(_seconds(program, count))
    return Row(theirs, samples, compile_seconds, build_seconds)


@dataclass(frozen=True)
class _Build:
    """Programs of one kernel, which are put in `place`."""

    utilities: Path
    headers: Path
    macros: tuple[str, ...]
    place: Path

    def rewritten(self, source: Path) -> Path:
        """The file as `polysched opt` makes it."""
        out = self.place / f"{source.stem}.opt.c"
        command = [sys.executable, "-m", "polysched", "opt", str(source), "-o", str(out), "--no-keep-going"]
        _run([*command, *self.options()])
        return out

    def program(self, source: Path, *flags: str) -> Path:
        out = self.place / f"{source.stem}{len(list(self.place.iterdir()))}"
        command = [*find_compiler().command, *BASELINE, *self.options(), *flags, str(source)]
        _run([*command, str(self.utilities / "polybench.c"), "-o", str(out), "-lm"])
        return out

    def dump(self, source: Path, *flags: str, threads: int = 1) -> Path:
        """What a build of the file prints of its arrays."""
        program = self.program(source, "-DPOLYBENCH_DUMP_ARRAYS", ROUNDED, *flags)
        out = program.with_suffix(".dump")
        with out.open("wb") as stream:
            _start(program, threads, stderr=stream)
        return out

    def options(self) -> list[str]:
        return [f"-I{self.utilities}", f"-I{self.headers}", *(f"-D{macro}" for macro in self.macros)]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Wrong(done.stderr.strip().splitlines()[0] if done.stderr.strip() else " ".join(command))


def _seconds(program: Path, threads: int) -> float:
    """What the program prints of its kernel's time."""
    return float(_start(program, threads, stderr=subprocess.DEVNULL))


def _start(program: Path, threads: int, *, stderr: Any) -> bytes:
    """What the program prints; Wrong if it fails. Its stack is as large as may be: `stack` has its arrays there."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run([program], env=environment, stdout=subprocess.PIPE, stderr=stderr, preexec_fn=_large_stack)
    if done.returncode:
        raise Wrong(f"{program.name} ends with {done.returncode}")
    return done.stdout


def _large_stack() -> None:
    most = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (most, most))


def _timed(work: Callable[[], Path]) -> tuple[Path, float]:
    start = time.perf_counter()
    return work(), time.perf_counter() - start
