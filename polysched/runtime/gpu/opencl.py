"""Runs an OpenCL Source on this machine's device, or on its CPU by PoCL: numpy arrays are copied there and back.

    run = load_opencl(emit_opencl(linearize(fn)), fn)
    run(A=a, n=4)

The text is C that has its kernels built itself: it is compiled like a C Source, and finds OpenCL's functions in the
library that pyopencl comes with, of the extra [opencl], or else in the system's.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from polysched.codegen.emit.opencl import HEADERS
from polysched.codegen.emit.source import Source
from polysched.errors import LaunchError
from polysched.ir.nodes import Function
from polysched.runtime.cpu import HostProgram, c_function, open_library
from polysched.runtime.forked import require_own
from polysched.runtime.gpu.cuda_driver import INSTEAD
from polysched.runtime.toolchain import EXACT, compile_shared
from polysched.support import isl

_FLAGS = ("-std=gnu11", "-O2", *EXACT, f"-I{HEADERS}")


@dataclass(frozen=True)
class OpenclProgram(HostProgram):
    """A loaded program in OpenCL."""

    fn: Function
    entry: Callable[..., int]  # the C function; 0 if it has run
    valid_sizes: isl.Set | None = None

    def __repr__(self) -> str:
        return f"OpenclProgram({self.fn.name})"

    def _run(self, values: list[Any]) -> None:
        require_own("OpenCL")
        if status := self.entry(*values):
            raise LaunchError(f"{self.fn.name} cannot run: OpenCL's error {status}; {INSTEAD}")


def load_opencl(source: Source, fn: Function, valid_sizes: isl.Set | None = None) -> OpenclProgram:
    """`source` compiled and loaded; `fn` is the function as the user calls it, before `linearize`.

    LaunchError if this machine has no OpenCL.
    """
    require_own("OpenCL")
    ctypes.CDLL(opencl_library(), ctypes.RTLD_GLOBAL)  # where the program finds what it calls
    library = open_library(str(compile_shared(source.text, source.entry, flags=_FLAGS)))
    entry = c_function(library, source, fn)
    entry.restype = ctypes.c_int
    return OpenclProgram(fn, entry, valid_sizes)


@cache
def opencl_library() -> str:
    """The path of the library that finds this machine's devices; LaunchError if there is none, or no device."""
    try:
        pyopencl = import_module("pyopencl")
    except ImportError as error:
        if path := ctypes.util.find_library("OpenCL"):
            return path
        message = f'OpenCL is missing ({error}): pip install "polysched[opencl]"; or {INSTEAD}'
        raise LaunchError(message) from error
    try:
        platforms = pyopencl.get_platforms()
    except pyopencl.LogicError:
        platforms = []
    if not platforms:
        raise LaunchError(f'there is no OpenCL device; PoCL is one: pip install "polysched[opencl]"; or {INSTEAD}')
    return min(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libOpenCL" in line)
