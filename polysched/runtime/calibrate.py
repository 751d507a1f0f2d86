"""The rates of this machine, measured once and kept on disk: `polysched calibrate`.

    calibrate(machine())          Machine(..., megahertz=3391, l2_rate=96, l3_rate=61, memory_rate=17)
    calibrated(machine())         the same in another process; what it was given, if nothing has been measured

One thread adds a multiple of an array to another, both in the second cache, in the third, and in memory. Other work on
the machine makes it look slower: time is that of the processor, of the fastest of several runs.
"""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from polysched.config.machine import Machine
from polysched.runtime.cache import remember, remembered
from polysched.runtime.toolchain import compile_shared, processor

_TEXT = Path(__file__).with_name("rates.c")
_RUNS = 7
_SECONDS = 0.02  # of a run
_RATES = ("megahertz", "l2_rate", "l3_rate", "memory_rate")
_SHARE, _MOST = 8 << 20, 256 << 20  # bytes that we get of a third cache, whatever its size, and that none holds for us
_MOVED = 24  # bytes for each pair of elements: two are read, and one goes back


def calibrate(machine: Machine) -> Machine:
    """The machine with the rates that are measured now, and kept; ToolchainError without a C compiler."""
    library = ctypes.CDLL(str(compile_shared(_TEXT.read_text(), "rates", flags=("-O3", "-march=native"))))
    rates = dict(zip(_RATES, _measured(library, machine), strict=True))
    rounded: dict[str, Any] = {name: max(1, round(rate)) for name, rate in rates.items()}
    found = replace(machine, **rounded)
    remember(_what(machine), ".json", json.dumps({name: getattr(found, name) for name in _RATES}).encode())
    return found


def calibrated(machine: Machine) -> Machine:
    """The machine with the rates that were measured for it here; as it is, if none were, or it has its own."""
    usual = all(getattr(machine, name) == getattr(Machine, name) for name in _RATES)
    content = remembered(_what(machine), ".json") if usual else None
    return replace(machine, **json.loads(content)) if content else machine


def _what(machine: Machine) -> tuple[str, ...]:
    alike: dict[str, Any] = {**dict.fromkeys(("cores", *_RATES), 1), "instructions": ()}
    return "rates", processor(), repr(replace(machine, **alike))


def _measured(library: Any, machine: Machine) -> Iterator[float]:
    """In the order of `_RATES`."""
    yield _rate(library.count) * 1e-6
    in_third = max(2 * machine.l2, min(machine.l3 // 4, _SHARE))
    for bytes_of_both in (machine.l2 // 2, in_third, min(4 * machine.l3, _MOST)):
        x, y = (np.ones(bytes_of_both // 16) for _ in range(2))
        pointers = (each.ctypes.data_as(ctypes.c_void_p) for each in (x, y))
        yield _rate(partial(library.update, ctypes.c_long(len(x))), *pointers) * _MOVED * len(x) * 1e-9


def _rate(run: Callable[..., Any], *arrays: Any) -> float:
    """How often in a second, in the fastest run."""

    def taken() -> float:
        start = time.thread_time()
        run(ctypes.c_long(times), *arrays)
        return time.thread_time() - start

    times = 1
    while taken() < _SECONDS:
        times *= 2
    return times / min(taken() for _ in range(_RUNS))
