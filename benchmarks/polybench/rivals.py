"""Ours against numpy's OpenBLAS and numba's prange: `python -m benchmarks.polybench --rivals [--threads 2]`.

All on the same number of threads, in turns (contest.py). Each rival gets its best form: numpy multiplies in place where
it can, numba's functions are compiled before they are timed. `ours / rival` is ours as a share of the rival's speed.

Threads of OpenBLAS spin for tens of milliseconds after a call: every sample begins with a pause, so that none of them
shares the cores with the next contestant.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import polysched as ps
from benchmarks.polybench.contest import Contest, Contestant, Wrong
from benchmarks.polybench.timing import empty_cache, print_machine
from polysched.errors import PolyschedError

PAUSE = 0.1  # seconds
_THREADS = ("OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS")


def time_rivals(names: Iterable[str], dataset: str, *, runs: int, threads: int, options: ps.Options) -> bool:
    """Prints a line for each kernel and rival; are all results right?

    Libraries read their number of threads when they are loaded, so that the work is done by a process of its own.
    """
    if any(os.environ.get(name) != str(threads) for name in _THREADS):
        environment = {**os.environ, **dict.fromkeys(_THREADS, str(threads))}
        command = [sys.executable, "-m", "benchmarks.polybench", *sys.argv[1:]]
        return subprocess.run(command, env=environment).returncode == 0
    numba = _numba_functions()
    print_machine(dataset, options)
    if not numba:
        print("numba is not installed: pip install numba")
    print(f"{'ms':15}{'gcc':>10}{f'ours, {threads}':>10}{'numpy':>10}{'numba':>10}   ours / numpy   ours / numba")
    right = True
    with empty_cache():
        for name in names:
            rivals = {"numpy": _NUMPY.get(name), "numba": numba.get(name)}
            present = {label: function for label, function in rivals.items() if function}
            if not present:
                continue
            try:
                print(_line(name, Contest(name, dataset, options), present, runs, threads), flush=True)
            except (Wrong, PolyschedError) as error:
                right = False
                print(f"{name:15}WRONG: {error}", flush=True)
    return right


def _line(
    name: str, contest: Contest, rivals: dict[str, Callable[..., None]], runs: int, threads: int
) -> str:
    contestants = [contest.gcc(), contest.ours(threads)]
    contestants = [Contestant(each.label, each.run, _paused(each.prepare)) for each in contestants]
    contestants += [contest.rival(label, function, _paused(lambda: None)) for label, function in rivals.items()]
    contest.first_calls(contestants)
    samples = contest.in_turns(contestants, runs)
    gcc, ours, *others = (statistics.median(taken) for taken in samples)
    seconds = dict(zip(rivals, others, strict=True))
    known = ("numpy", "numba")
    columns = "".join(f"{1e3 * seconds[label]:10.2f}" if label in seconds else f"{'':10}" for label in known)
    shares = "".join(f"{seconds[label] / ours:15.2f}" if label in seconds else f"{'':15}" for label in known)
    return f"{name:15}{1e3 * gcc:10.2f}{1e3 * ours:10.2f}{columns}{shares}"


def _paused(prepare: Callable[[], None]) -> Callable[[], None]:
    def pause() -> None:
        prepare()
        time.sleep(PAUSE)

    return pause


def _gemm(C: Any, A: Any, B: Any, alpha: float, beta: float, **sizes: int) -> None:
    C *= beta
    C += (alpha * A) @ B


def _two_mm(tmp: Any, A: Any, B: Any, C: Any, D: Any, alpha: float, beta: float, **sizes: int) -> None:
    np.matmul(alpha * A, B, out=tmp)
    D *= beta
    D += tmp @ C


def _three_mm(E: Any, A: Any, B: Any, F: Any, C: Any, D: Any, G: Any, **sizes: int) -> None:
    np.matmul(A, B, out=E)
    np.matmul(C, D, out=F)
    np.matmul(E, F, out=G)


_NUMPY: dict[str, Callable[..., None]] = {"gemm": _gemm, "2mm": _two_mm, "3mm": _three_mm}


def _numba_functions() -> dict[str, Callable[..., None]]:
    """The nests as numba is meant to be written, their outer loops parallel; {} where it is not installed."""
    try:
        from numba import njit, prange  # type: ignore[import-not-found]
    except ImportError:
        return {}
    parallel = njit(parallel=True, fastmath=False)

    @parallel
    def gemm(C, A, B, alpha, beta, ni, nj, nk):  # type: ignore[no-untyped-def]
        for i in prange(ni):
            for j in range(nj):
                C[i, j] *= beta
            for k in range(nk):
                for j in range(nj):
                    C[i, j] += alpha * A[i, k] * B[k, j]

    @parallel
    def jacobi_2d(A, B, tsteps, n):  # type: ignore[no-untyped-def]
        for _ in range(tsteps):
            for i in prange(1, n - 1):
                for j in range(1, n - 1):
                    B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
            for i in prange(1, n - 1):
                for j in range(1, n - 1):
                    A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])

    @parallel
    def covariance(data, cov, mean, m, n):  # type: ignore[no-untyped-def]
        for j in prange(m):
            mean[j] = 0.0
            for i in range(n):
                mean[j] += data[i, j]
            mean[j] /= n
        for i in prange(n):
            for j in range(m):
                data[i, j] -= mean[j]
        for i in prange(m):
            for j in range(i, m):
                cov[i, j] = 0.0
                for k in range(n):
                    cov[i, j] += data[k, i] * data[k, j]
                cov[i, j] /= n - 1
                cov[j, i] = cov[i, j]

    return {"gemm": gemm, "jacobi-2d": jacobi_2d, "covariance": covariance}
