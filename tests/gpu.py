"""Random programs on a real GPU, against the interpreter: `python -m tests.gpu --count 1000`.

Nests and NumPy programs as CUDA, at several sizes, zero among them. Each array lies between two bands of bytes that
must stay as they are. What is wrong is printed with its kind and seed; the exit status is 1 then, 2 without a GPU.
Programs that leave their arrays, or round what does not fit, are invalid; those that time is up for, late.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import polysched as ps
from polysched.errors import LaunchError, PolyschedError
from polysched.frontend.op.op import parse_op
from polysched.ir.nodes import Function
from polysched.runtime.gpu.cuda_driver import on_gpu
from tests.fake_cuda import DeviceArray
from tests.nests import arguments_for, outcome, random_nest
from tests.op_programs import random_program

_BAND = 4096  # bytes before and after an array
_FILL = 0xA5


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="how many programs of each kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--kinds", default=",".join(KINDS), help="some of them; default: %(default)s")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no more are started")
    given = parser.parse_args()
    try:
        with on_gpu("cuda", {}):
            pass
    except LaunchError as error:
        print(error, file=sys.stderr)
        return 2
    until, counts = time.time() + given.seconds, Counter[tuple[str, str]]()
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        seeds = range(given.first, given.first + given.count)
        tasks = [pool.submit(_ended, kind, seed, until) for seed, kind in product(seeds, given.kinds.split(","))]
        for task in as_completed(tasks):
            kind, how, fault = task.result()
            counts[kind, how] += 1
            if fault:
                print(fault, flush=True)
    for (kind, how), times in sorted(counts.items()):
        print(f"{kind:8} {how:8} {times:6}")
    return int(any(how == "wrong" for _, how in counts))


def _ended(kind: str, seed: int, until: float) -> tuple[str, str, str]:
    """The kind, how the program ended, and what is wrong."""
    if time.time() > until:
        return kind, "late", ""
    try:
        KINDS[kind](seed)
    except (IndexError, OverflowError):
        return kind, "invalid", ""  # where the interpreter runs it
    except (AssertionError, PolyschedError) as error:
        return kind, "wrong", f"wrong: {kind} {seed}\n{type(error).__name__}: {error}"
    return kind, "right", ""


def check_nest(seed: int) -> None:
    rng = random.Random(seed)
    _check(random_nest(rng), rng, (0, 1, 2, 5, 33))


def check_numpy(seed: int) -> None:
    rng = random.Random(seed)
    _check(parse_op(random_program(rng)[0], "program.py").nest, rng, (4, 5, 33), tolerance=1e-5)


KINDS: dict[str, Callable[[int], None]] = {"nest": check_nest, "numpy": check_numpy}


def _check(fn: Function, rng: random.Random, sizes: Sequence[int], tolerance: float = 0.0) -> None:
    """The same values as the interpreter's; floats to the tolerance where functions or orders of sums may differ."""
    options = ps.Options(
        fusion=rng.choice(("smart", "max", "none")), reorder_reductions=rng.random() < 0.3, contract_floats=False
    )
    if options.reorder_reductions:
        tolerance = max(tolerance, 1e-9)
    done = ps.optimize(fn, "cuda", options=options)
    for n in sizes:
        given = arguments_for(fn, rng, n)
        expected = outcome(fn, given)
        found = on_device(done, given)
        for name, array in expected.items():
            atol = tolerance if array.dtype.kind == "f" else 0.0
            is_same = np.allclose(found[name], array, rtol=atol, atol=atol, equal_nan=True)
            assert is_same, f"n = {n}, {options}: {name} is\n{found[name]}\nnot\n{array}"


def on_device(done: ps.Compiled, arguments: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The arrays after a run on copies in the GPU's memory; AssertionError if a byte beside them changed."""
    arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    with ExitStack() as stack:
        there = {name: stack.enter_context(_between_bands(name, array)) for name, array in arrays.items()}
        done(**{**arguments, **there})
        return {name: array.get() for name, array in there.items()}


@contextmanager
def _between_bands(name: str, array: np.ndarray) -> Iterator[DeviceArray]:
    whole = np.full(array.nbytes + 2 * _BAND, _FILL, np.uint8)
    whole[_BAND : _BAND + array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)
    with on_gpu("cuda", {}) as gpu:
        at = gpu.allocate(whole.nbytes)
        gpu.copy_in(at, whole)
        yield DeviceArray(array, at + _BAND, {})
        gpu.copy_out(whole, at)
        gpu.release(at)
    bands = np.concatenate((whole[:_BAND], whole[_BAND + array.nbytes :]))
    assert (bands == _FILL).all(), f"{name} was stored to outside of its bounds"


if __name__ == "__main__":
    sys.exit(main())
