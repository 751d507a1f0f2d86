"""Runs a Source in CUDA or OpenCL without a GPU: its unchanged text as C++, on numpy arrays in place.

    run = emulate(emit_cuda(linearize(fn)), fn)
    run(A=a)                        blocks and threads one after another
    run.reverse = True              ... from the last to the first; the results must not differ
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polysched import isl
from polysched.codegen.emit.dialect import CUDA, OPENCL
from polysched.codegen.source import Source
from polysched.errors import LaunchError
from polysched.ir.nodes import Function
from polysched.runtime.arguments import bind
from polysched.runtime.cpu import c_function, c_values, open_library
from polysched.runtime.toolchain import EXACT, compile_shared

_CUDA = Path(__file__).with_name("cuda_on_cpu.h")
_OPENCL = Path(__file__).with_name("opencl_on_cpu.h")
_FLAGS = ("-std=gnu++17", "-O1", *EXACT)


@dataclass
class Emulated:
    """A GPU program on the CPU; call it with the arguments of `fn` by name."""

    fn: Function
    library: ctypes.CDLL = field(repr=False)
    entry: Any = field(repr=False)
    valid_sizes: isl.Set | None = None  # { : ... } for which all accesses are in bounds; None: all
    reverse: bool = False

    def __call__(self, **arguments: Any) -> None:
        """Runs it in place; LaunchError, before anything runs, if the arguments do not fit."""
        bound = bind(self.fn, arguments, self.valid_sizes)
        ctypes.c_int.in_dll(self.library, "polysched_reverse").value = self.reverse
        self.entry(*c_values(bound, self.fn))


def emulate(source: Source, fn: Function, valid_sizes: isl.Set | None = None) -> Emulated:
    """`source` compiled for the CPU; `fn` is the function as the user calls it, before `linearize`."""
    if CUDA.barrier in source.text or OPENCL.barrier in source.device:
        raise LaunchError(f"{source.entry} has barriers; emulation runs one thread after another, and cannot wait")
    library = open_library(str(compile_shared(_as_cpp(source), source.entry, language="c++", flags=_FLAGS)))
    return Emulated(fn, library, c_function(library, source, fn), valid_sizes)


def _as_cpp(source: Source) -> str:
    """The text, after what it needs: of OpenCL the kernels, then the host's, which is C."""
    if source.language == "cuda":
        return f'{_CUDA.read_text()}#line 1 "{source.entry}.cu"\n{source.text}'
    kernels = f'namespace polysched_kernels {{\n#line 1 "{source.entry}.cl"\n{source.device}}}\n'
    host = f'extern "C" {{\n#line 1 "{source.entry}.c"\n{source.text}}}\n'
    return _CUDA.read_text() + _OPENCL.read_text() + kernels + host
