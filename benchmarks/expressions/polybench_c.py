"""Generated PolyBench kernels in C, with the stage and without: instructions by callgrind, and times.

Instructions are those of one thread at the small sizes, of a binary for x86-64-v3, which valgrind can run. Times are on
this machine's own processor at the medium sizes, in turns, one thread.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np

import polysched as ps
from benchmarks.polybench import KERNELS
from benchmarks.polybench.data import initial_data
from polysched.errors import ToolchainError
from polysched.ir.nodes import Function
from polysched.runtime.cpu import load
from polysched.runtime.toolchain import EXACT, find_compiler

_FLAGS = ("-std=gnu11", "-O3", "-march=x86-64-v3", "-fopenmp", *EXACT)
_TURNS = 15
SLOWER = 1.02  # times as long with the stage as without is too long
_OPTIONS = ps.Options(machine=ps.Machine())


def polybench_c(args: argparse.Namespace) -> bool:
    """Prints the table; is no kernel slower with the stage?"""
    print("one thread; instructions at small sizes; milliseconds at medium sizes, the fastest of 15 in turns")
    print(f"{'kernel':15}{'off':>14}{'all':>14}{'off/all':>9}{'off ms':>10}{'all ms':>10}{'off/all':>9}   text")
    right = True
    ratios = []
    for name in args.kernel:
        off, stage = (_generated(name, mode) for mode in ("off", "all"))
        counts = [count_instructions(done, initial_data(name, _sizes(name, "small"))) for done in (off, stage)]
        times = _in_turns(name, off, stage)
        ratios.append((counts[0] / counts[1], times[0] / times[1]))
        same = "the same" if off.source.text == stage.source.text else ""
        print(
            f"{name:15}{counts[0]:14}{counts[1]:14}{ratios[-1][0]:9.3f}"
            f"{times[0]:10.3f}{times[1]:10.3f}{ratios[-1][1]:9.3f}   {same}",
            flush=True,
        )
        right &= times[1] <= SLOWER * times[0]
    means = [exp(sum(map(log, column)) / len(column)) for column in zip(*ratios, strict=True)]
    print(f"{'geometric mean':43}{means[0]:9.3f}{means[1]:29.3f}")
    return right


def _generated(name: str, mode: Any) -> ps.Compiled:
    return ps.optimize(KERNELS[name].nest, "c", options=replace(_OPTIONS, expressions=mode))


def _sizes(name: str, dataset: str) -> dict[str, int]:
    return KERNELS[name].sizes[dataset]


def _in_turns(name: str, *versions: ps.Compiled) -> list[float]:
    """The fastest of each, in milliseconds: whatever else runs here only adds."""
    data = initial_data(name, _sizes(name, "medium"))
    programs = [load(done.source, done.nest, done.scop.valid_sizes, threads=1) for done in versions]
    samples: list[list[float]] = [[] for _ in programs]
    for _ in range(_TURNS):
        for program, mine in zip(programs, samples, strict=True):
            mine.append(program.time(data, 1).min)
    return [min(mine) for mine in samples]


def count_instructions(done: ps.Compiled, arguments: dict[str, Any]) -> int:
    """The instructions that a call executes, by callgrind; ToolchainError if there is no valgrind."""
    if shutil.which("valgrind") is None:
        raise ToolchainError(
            "there is no valgrind, which counts the instructions; install it, as in apt install valgrind"
        )
    with tempfile.TemporaryDirectory(prefix="polysched-") as folder:
        for array in done.nest.arrays:
            arguments[array.name].tofile(Path(folder, array.name))
        Path(folder, "kernel.c").write_text(done.source.text)
        Path(folder, "main.c").write_text(_main(done, arguments))
        build = (*find_compiler().command, *_FLAGS, "kernel.c", "main.c", "-o", "program", "-lm")
        subprocess.run(build, cwd=folder, check=True, capture_output=True, text=True)
        collect = f"--toggle-collect={done.source.entry}"
        said = subprocess.run(
            ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", collect, "./program"),
            cwd=folder, check=True, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    return int(re.findall(r"Collected : (\d+)", said.stderr)[0])


_TYPES = {"f64": "double", "f32": "float", "i64": "long long", "i32": "int"}


def _main(done: ps.Compiled, arguments: dict[str, Any]) -> str:
    """A program that reads the arrays from files of their names, and calls the entry once."""
    nest: Function = done.nest
    arrays = {array.name: array for array in nest.arrays}
    dtypes = {scalar.name: _TYPES[scalar.dtype.name] for scalar in nest.scalars}
    types = [("void *" if name in arrays else dtypes.get(name, "long long")) for name in done.source.parameters]
    lines = ["#include <stdio.h>", "#include <stdlib.h>", f"void {done.source.entry}({', '.join(types)});", ""]
    lines += ["static void *of(const char *name, size_t bytes)", "{"]
    lines += ["    void *data = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);"]
    lines += [
        '    FILE *file = fopen(name, "rb");',
        "    if (fread(data, 1, bytes, file) != bytes)",
        "        exit(1);",
    ]
    lines += ["    fclose(file);", "    return data;", "}", ""]
    values = [
        f'of("{name}", {arguments[name].nbytes})' if isinstance(arguments[name], np.ndarray) else str(arguments[name])
        for name in done.source.parameters
    ]
    return "\n".join([*lines, f"int main(void)\n{{\n    {done.source.entry}({', '.join(values)});\n}}\n"])
