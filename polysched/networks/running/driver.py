"""All calls of a network as one function in C, so that between two kernels there is nothing but the call.

void run(void *const *f, void *const *p)
{
    ((void (*)(void *, void *))f[0])(p[0], p[1]);       kernel by kernel: its address, and those of its arrays
    ((void (*)(void *))f[1])(p[2]);
}
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np

from polysched.errors import ZeroDivisorError
from polysched.runtime import forked
from polysched.runtime.cpu import CpuProgram, open_library
from polysched.runtime.toolchain import compile_shared

_ENTRY = "run"
_FLAGS = ("-O1",)  # there is nothing to be made faster


def driver(programs: Sequence[CpuProgram], arrays: Sequence[Sequence[np.ndarray]]) -> Callable[[], None]:
    """A function that runs the programs in order, each on its arrays, which must stay where they are.

    ZeroDivisorError, when all have run, if one has divided an integer by zero.
    """
    text = _text([len(each) for each in arrays])
    library = open_library(str(compile_shared(text, _ENTRY, flags=_FLAGS)))
    functions = _table([ctypes.cast(each.entry, ctypes.c_void_p).value or 0 for each in programs])
    places = _table([array.ctypes.data for each in arrays for array in each])
    run, told = library[_ENTRY], {each.fn.name: flag for each in programs if (flag := each.zero_divisor) is not None}
    run.restype = None

    def call() -> None:
        for flag in told.values():
            flag.value = 0
        forked.call(run, functions, places)
        for name, flag in told.items():
            if flag.value:
                raise ZeroDivisorError(f"{name} divides an integer by zero")

    return call


def _table(addresses: Sequence[int]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(addresses))(*addresses)


def _text(counts: Sequence[int]) -> str:
    """A call for each count of arrays."""
    lines = []
    for number, (count, end) in enumerate(zip(counts, accumulate(counts), strict=True)):
        types = ", ".join(["void *"] * count)
        given = ", ".join(f"p[{k}]" for k in range(end - count, end))
        lines.append(f"    ((void (*)({types}))f[{number}])({given});\n")
    return f"void {_ENTRY}(void *const *f, void *const *p)\n{{\n{''.join(lines)}}}\n"
