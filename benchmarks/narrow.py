"""Products of matrices of bytes beside oneDNN's, on one thread: both are functions in C that pack their operands in the
call, and add to C.

    python -m benchmarks.narrow --onednn lib/libdnnl.so      of the package onednn-cpu-gomp, installed anywhere

For sizes n: GOP/s of n x n products, medians of turns, and oneDNN's time over ours, the median of its quotients.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before any library starts threads

import numpy as np

import polysched as ps
from polysched.config.machine import machine
from polysched.runtime.cpu import CpuProgram, load

SIZES = (256, 512, 1024, 2048)
TYPES = {"u8": (np.uint8, "unsigned char"), "s8": (np.int8, "signed char")}  # of the left factor; the right one is s8
_SOURCE = """\
void product(int C[{n}][{n}], const {type} A[{n}][{n}], const signed char B[{n}][{n}])
{{
#pragma scop
    for (int i = 0; i < {n}; i++)
        for (int j = 0; j < {n}; j++)
            for (int k = 0; k < {n}; k++)
                C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}}
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.narrow", description=__doc__.partition("\n")[0])
    parser.add_argument("--onednn", type=Path, required=True, help="libdnnl.so, as of the package onednn-cpu-gomp")
    parser.add_argument("--turns", type=int, default=15, help="of both, for each size and type")
    given = parser.parse_args()
    library = ctypes.CDLL(str(given.onednn))
    print(f"{'':12}{'ours':>8}{'oneDNN':>8}   GOP/s, and oneDNN's time over ours")
    for size in SIZES:
        for left in TYPES:
            ours, theirs = _times(size, left, library, given.turns)
            rates = (2e-9 * size**3 / statistics.median(each) for each in (ours, theirs))
            quotient = statistics.median(their / our for our, their in zip(ours, theirs, strict=True))
            print(f"{size:6} {left:5}" + "".join(f"{rate:8.0f}" for rate in rates) + f"   {quotient:.2f}", flush=True)


def _times(size: int, left: str, library: ctypes.CDLL, turns: int) -> tuple[list[float], list[float]]:
    """Seconds of ours and of theirs, in turns; AssertionError if they do not agree."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(*_range(dtype), (size, size), dtype, endpoint=True) for dtype in (TYPES[left][0], np.int8))
    c, d = (np.zeros((size, size), np.int32) for _ in range(2))
    done = _compiled(size, TYPES[left][1])
    pointers = [ctypes.c_void_p(each.ctypes.data) for each in (c, a, b)]
    calls = (lambda: done.entry(*pointers), _onednn(library, left, a, b, d))
    times: tuple[list[float], list[float]] = ([], [])
    for call in calls:
        call()
    assert (c == d).all(), "the results differ"
    for _ in range(turns):
        for call, seconds in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
    return times


def _range(dtype: type) -> tuple[int, int]:
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def _compiled(size: int, left: str) -> CpuProgram:
    with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
        file.write(_SOURCE.format(n=size, type=left))
        file.flush()
        (nest,) = ps.from_c(file.name)
    done = ps.optimize(nest, options=ps.Options(machine=replace(machine(), cores=1)))
    return load(done.source, nest)


def _onednn(library: ctypes.CDLL, left: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Callable[[], None]:
    """C += A B by dnnl_gemm_u8s8s32 or dnnl_gemm_s8s8s32, with no offsets."""
    function = library[f"dnnl_gemm_{left}s8s32"]
    size, one, no, flag = ctypes.c_int64(len(c)), ctypes.c_float(1), ctypes.c_int32(0), ctypes.c_char
    pa, pb, pc = (ctypes.c_void_p(each.ctypes.data) for each in (a, b, c))
    offset = (ctypes.c_uint8 if left == "u8" else ctypes.c_int8)(0)
    shape = (flag(b"N"), flag(b"N"), flag(b"F"), size, size, size, one)

    def call() -> None:
        status = function(*shape, pa, size, offset, pb, size, ctypes.c_int8(0), one, pc, size, ctypes.byref(no))
        assert status == 0, f"oneDNN returned {status}"

    return call


if __name__ == "__main__":
    main()
