"""Kernels as programs whose parallel loops run on the threads of `threads.c`, one pool for all kernels of a process.

It takes the place of gcc's library for these kernels alone, since it comes before it where they are linked. Where a
compiler calls other functions, as clang does, or the pool is not built, they run on the compiler's own threads.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from polysched.errors import ToolchainError
from polysched.pipeline import Compiled
from polysched.runtime.cpu import CpuProgram, load
from polysched.runtime.toolchain import compile_shared

_TEXT = Path(__file__).with_name("threads.c")
_FLAGS = ("-std=gnu11", "-O2", "-pthread")


def program(done: Compiled) -> CpuProgram:
    """The kernel, loaded."""
    options = done.options
    return load(
        done.source,
        done.nest,
        done.valid_sizes,
        contract=options.contract_floats,
        fast_math=options.fast_math,
        libraries=pool() if options.parallel else (),
    )


@cache
def pool() -> tuple[str, ...]:
    """The library with the threads, to be linked first; none where it is not built."""
    try:
        return (str(compile_shared(_TEXT.read_text(), "threads", flags=_FLAGS).absolute()),)
    except ToolchainError:  # of a system without what it calls
        return ()
