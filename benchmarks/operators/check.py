"""Whether a case is right: compiled for C and run, against NumPy.

Integers and bools are exact. Floats differ by at most 1e-5 of the sum of the magnitudes that they are the sum of, f16
by a few of its roundings, whatever the order of sums. Each case has a process of its own, and a time limit. Where
PyTorch is installed, what NumPy gives is held against it, too.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import ParamSpec, TypeVar

import numpy as np

import polysched as ps
from benchmarks.operators.cases import Case, shape_of
from benchmarks.operators.reference import magnitude, reference
from polysched.config.options import Target
from polysched.errors import PolyschedError

P = ParamSpec("P")
T = TypeVar("T")

_TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3}  # of the sum of magnitudes


@dataclass(frozen=True)
class Outcome:
    """Of one case: "right", "wrong", "refused", or "late" where the time limit was reached."""

    case: Case
    verdict: str
    compile_seconds: float = 0.0  # ours alone, without the C compiler
    run_seconds: float = 0.0
    why: str = ""
    stages: dict[str, float] = field(default_factory=dict)  # seconds of the compiler's steps
    rungs: dict[str, str] = field(default_factory=dict)
    is_held: bool = False  # the reference agrees with PyTorch


REORDERED = ps.Options(reorder_reductions=True)


def checked(case: Case, seconds: float, options: ps.Options = REORDERED, target: Target = "c") -> Outcome:
    """The case compiled, run and compared in a process of its own, within a time limit."""
    start = time.perf_counter()
    pytorch()  # once: to load it takes longer than most cases
    try:
        return within(seconds, compared, case, options, target)
    except TimeoutError as error:
        return Outcome(case, "late", time.perf_counter() - start, why=str(error))
    except EOFError as error:
        return Outcome(case, "wrong", why=str(error))


def within(seconds: float, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What the work gives, in a process of its own; TimeoutError past the limit, EOFError if the process dies."""
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=lambda: there.send(work(*args, **kwargs)))
    process.start()
    there.close()
    try:
        if not here.poll(seconds):
            raise TimeoutError("not done within the time limit")
        result: T = here.recv()
    except EOFError:
        raise EOFError("the process ended without a result") from None
    finally:
        process.kill()
        process.join()
    return result


def compared(case: Case, options: ps.Options = REORDERED, target: Target = "c") -> Outcome:
    """The case compiled, run and compared; CUDA on the CPU, where races and accesses out of bounds are wrong, too."""
    start = time.perf_counter()
    try:
        nest = case.function()
        done = ps.optimize(nest, target, options=options)
    except PolyschedError as error:
        return Outcome(case, "refused", time.perf_counter() - start, why=str(error))
    compiling = time.perf_counter() - start
    stages: dict[str, float] = {}
    for event in done.events:
        stages[event.name] = stages.get(event.name, 0.0) + event.seconds
    given = case.inputs(nest)
    out = np.full(shape_of(nest, "out"), 99, nest.array("out").dtype.numpy)
    try:
        run = done.program if target == "c" else done.check  # before the clock: the C compiler is not the program
        start = time.perf_counter()
        report = run(**given, out=out)
    except PolyschedError as error:
        return Outcome(case, "wrong", compiling, why=str(error), stages=stages, rungs=done.rungs)
    running = time.perf_counter() - start
    why = str(report.findings[0]) if report is not None and report.findings else difference(case, given, out)
    held = disagreement(case, given)
    why = why or held or ""
    return Outcome(case, "wrong" if why else "right", compiling, running, why, stages, done.rungs, held == "")


def difference(case: Case, given: dict[str, np.ndarray], out: np.ndarray) -> str:
    """How the result differs from the reference; empty where it is right."""
    wanted = reference(case.op, case.args, given)
    if out.dtype.kind != "f":
        return _unequal(out, wanted)
    most = np.maximum(magnitude(case.op, case.args, given), 1e-30)
    step = np.finfo(out.dtype).smallest_subnormal  # a product of f16 may be less, and zero
    return _unequal(out, wanted, _TOLERANCE[out.dtype.name] * most + step)


def disagreement(case: Case, given: dict[str, np.ndarray]) -> str | None:
    """How the reference differs from PyTorch; empty where it does not, None where there is no PyTorch for it."""
    theirs = pytorch()
    if theirs is None:
        return None
    try:
        wanted = theirs.torch_reference(case.op, case.args, given)
    except theirs.Missing:
        return None
    is_exact = all(array.dtype.kind != "f" for array in given.values())
    limit = 0.0 if is_exact else _TOLERANCE["float32"] * np.abs(wanted).max()  # places to read at are f32
    why = _unequal(reference(case.op, case.args, given), wanted, limit)
    return why and f"the reference differs from PyTorch: {why}"


@cache
def pytorch() -> ModuleType | None:
    """The operators in PyTorch; None where it is not installed."""
    try:
        from benchmarks.operators import pytorch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        return None
    return pytorch


def _unequal(actual: np.ndarray, wanted: np.ndarray, limit: np.ndarray | float = 0.0) -> str:
    if actual.size != wanted.size:
        return f"{actual.size} elements, and {wanted.size} are right"
    flat, right = actual.reshape(-1), wanted.reshape(-1)
    is_float = actual.dtype.kind == "f"
    wrong = ~(np.abs(flat - right) <= np.reshape(limit, -1)) if is_float else flat != right  # NaN is wrong, too
    if not wrong.any():
        return ""
    first = int(np.argmax(wrong))
    place = tuple(int(k) for k in np.unravel_index(first, actual.shape))
    return f"{wrong.sum()} of {actual.size} elements, first out{list(place)}: {flat[first]}, not {right[first]}"
