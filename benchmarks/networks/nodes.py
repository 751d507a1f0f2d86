"""The node tests of ONNX: `python -m benchmarks.networks.nodes [WORDS ...] [--list]`.

Each case is read, compiled and run as a user's network is, in a process that is given 60 s, and held against its data:
floats within 1e-3, halves within 4e-3, bfloat16 within 1.6e-2, or the case's own tolerance. An input that decides a
shape is given as a constant, which is counted apart, as are cases that consist of constants alone. What is refused is
counted by the reason. WORDS choose cases.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from queue import SimpleQueue
from typing import Any

import numpy as np

import polysched as ps
from polysched.errors import BudgetExceeded
from polysched.networks.narrow import kind_of
from polysched.support.worker import Worker

_SECONDS = 60.0
_RELATIVE, _ABSOLUTE = 1e-3, 1e-6
# Four units in the last place: the reference rounds after each node.
_OF_SHORT = {"float16": 4e-3, "bfloat16": 1.6e-2}
_FEW = 64  # elements of an input that may decide a shape
OPTIONS = ps.Options(reorder_reductions=True, fast_math=True, parallel=False)


@dataclass(frozen=True)
class Outcome:
    name: str
    status: str  # passed, specialized, folded, refused, wrong, late
    reason: str = ""
    seconds: float = 0.0


@cache
def cases() -> dict[str, Any]:
    """The cases by name; making them takes some seconds."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in collect_testcases(None)}


def run(name: str) -> Outcome:
    case, start = cases()[name], time.perf_counter()
    try:
        status, reason = _run(case)
    except ps.PolyschedError as error:
        status, reason = "refused", re.sub(r"^.*?\): ", "", str(error).partition("\n")[0])
    except Exception as error:
        status, reason = "wrong", f"{type(error).__name__}: {error}".partition("\n")[0]
    return Outcome(name, status, reason, time.perf_counter() - start)


def _run(case: Any) -> tuple[str, str]:
    names = [each.name for each in case.model.graph.input]
    given, wanted = case.data_sets[0]
    inputs = dict(zip(names, given, strict=False))
    inputs = {each: _array(value) for each, value in inputs.items()}
    net, constants = _specialized(case, inputs)
    status = "specialized" if constants else "passed"
    if all(net.plan.root(value.name) in net.constants for _, value in net.plan.results):
        status = "folded"
    results = net(**{value.name: inputs[value.name] for value in net.plan.inputs})
    return _compared(case, results, wanted) or (status, "")


def _array(value: Any) -> np.ndarray:
    from onnx import TensorProto, numpy_helper

    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    if not isinstance(value, np.ndarray | np.generic):
        raise ps.InputError(f"an input is {type(value).__name__}")
    return np.asarray(value)


def _specialized(case: Any, inputs: dict[str, np.ndarray]) -> tuple[ps.Network, dict[str, np.ndarray]]:
    """The network, and which inputs it takes as constants: none, small ones but the first, or all small ones."""
    small = {name: value for name, value in inputs.items() if value.size <= _FEW and _decides(value)}
    first = next(iter(inputs), "")
    tried = [{}, {name: value for name, value in small.items() if name != first}, small]
    for constants in tried[:-1]:
        try:
            return _network(case, inputs, constants), constants
        except ps.InputError as error:
            if "decides the shape" not in str(error):
                raise
    return _network(case, inputs, tried[-1]), tried[-1]


def _decides(value: np.ndarray) -> bool:
    return value.dtype.kind in "iub" or value.ndim <= 1


def _network(case: Any, inputs: dict[str, np.ndarray], constants: dict[str, np.ndarray]) -> ps.Network:
    shapes = {name: value.shape for name, value in inputs.items() if name not in constants}
    return ps.network(case.model, shapes, constants=constants, options=OPTIONS)


def _compared(case: Any, results: tuple[np.ndarray, ...], wanted: Any) -> tuple[str, str] | None:
    """What is wrong; None if nothing is."""
    for result, right in zip(results, map(_array, wanted), strict=True):
        if result.shape != right.shape or result.dtype != right.dtype:
            return "wrong", f"{result.dtype}{result.shape} for {right.dtype}{right.shape}"
        relative = _OF_SHORT.get(right.dtype.name, _RELATIVE)
        within = {"rtol": max(case.rtol, relative), "atol": max(case.atol or 0, _ABSOLUTE)}
        result, right = (each.astype(np.float32) if kind_of(each.dtype) else each for each in (result, right))
        if not np.allclose(result, right, equal_nan=True, **within):
            return "wrong", "values"
    return None


def outcomes(names: list[str]) -> list[Outcome]:
    """All cases, a process on each core."""
    cases()
    idle: SimpleQueue[Worker] = SimpleQueue()
    workers = [Worker() for _ in range(os.cpu_count() or 1)]
    for worker in workers:
        idle.put(worker)

    def one(name: str) -> Outcome:
        worker = idle.get()
        try:
            found: Outcome = worker.call(_SECONDS, run, name)
        except BudgetExceeded as error:
            found = Outcome(name, "late", str(error))
        finally:
            idle.put(worker)
        return found

    with ThreadPoolExecutor(len(workers)) as pool:
        found = list(pool.map(one, names))
    for worker in workers:
        worker.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.networks.nodes", description=__doc__)
    parser.add_argument("words", nargs="*", help="parts of names of cases")
    parser.add_argument("--list", action="store_true", help="name each case that does not pass")
    given = parser.parse_args()
    start = time.perf_counter()
    names = [name for name in cases() if not given.words or any(word in name for word in given.words)]
    found = outcomes(names)
    for title, some in (
        ("plain", [each for each in found if "_expanded" not in each.name]),
        ("expanded", [each for each in found if "_expanded" in each.name]),
    ):
        counts = Counter(each.status for each in some)
        good = sum(counts[status] for status in ("passed", "specialized", "folded"))
        print(f"{title}: {good} of {len(some)} right, {dict(counts)}")
    for reason, count in Counter(each.reason for each in found if each.status == "refused").most_common():
        print(f"{count:5} refused: {reason}")
    for each in found:
        if each.status in ("wrong", "late") or (given.list and each.status == "refused"):
            print(f"{each.status}: {each.name}: {each.reason}")
    slowest = max(found, key=lambda each: each.seconds, default=None)
    print(f"{time.perf_counter() - start:.0f} s; the slowest: {slowest and (slowest.name, round(slowest.seconds, 1))}")
    return 1 if any(each.status == "wrong" for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
