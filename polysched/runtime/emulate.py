"""Runs a CUDA Source without a GPU: its unchanged text as C++, on numpy arrays in place.

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
from polysched.codegen.source import Source
from polysched.errors import LaunchError
from polysched.ir.nodes import Function
from polysched.runtime.arguments import bind
from polysched.runtime.cpu import c_function, c_values, open_library
from polysched.runtime.toolchain import EXACT, compile_shared

_HEADER = Path(__file__).with_name("cuda_on_cpu.h")
_FLAGS = ("-std=gnu++17", "-O1", *EXACT)


@dataclass
class Emulated:
    """A CUDA program on the CPU; call it with the arguments of `fn` by name."""

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
    if "__syncthreads" in source.text:
        raise LaunchError(f"{source.entry} has barriers; emulation runs one thread after another, and cannot wait")
    text = _HEADER.read_text() + f'#line 1 "{source.entry}.cu"\n' + source.text
    library = open_library(str(compile_shared(text, source.entry, language="c++", flags=_FLAGS)))
    return Emulated(fn, library, c_function(library, source, fn), valid_sizes)
