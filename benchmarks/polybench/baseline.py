"""PolyBench's C files as any compiler takes them, compiled and called next to ours.

    kernels = load_c(["gemm", "2mm"], BASELINE)
    call = kernels["gemm"].bind(arguments)          arguments by name, as a nest takes them
    call()                                          runs in place
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.polybench import KERNELS
from polysched.config.options import Options
from polysched.frontend.c.read import read_c
from polysched.ir.nodes import Function
from polysched.opt import rewrite
from polysched.runtime.toolchain import EXACT, compile_shared

BASELINE = ("-O3", "-march=native")  # what we are measured against: gcc's own defaults, so a * b + c is one rounding
ROUNDED = ("-O1", "-march=native", *EXACT)  # one rounding per operation, as the nests say: results can be bit-equal


@dataclass(frozen=True)
class CKernel:
    """A loaded C function, kernel_<name>(sizes, scalars, arrays), each of the three in the order of the nest."""

    fn: Function
    entry: Any

    def bind(self, arguments: Mapping[str, Any]) -> Callable[[], None]:
        """A call on these arguments; the arrays are the caller's to keep alive, and to have the right shapes."""
        values = [
            *(arguments[name] for name in self.fn.sizes),
            *(arguments[scalar.name] for scalar in self.fn.scalars),
            *(arguments[array.name].ctypes.data for array in self.fn.arrays),
        ]
        return lambda: self.entry(*values)


def c_file(name: str) -> Path:
    """The C file of a kernel; `c_entry(name)` is the function in it."""
    return Path(__file__).with_name("c") / f"{name}.c"


def c_entry(name: str) -> str:
    return "kernel_" + name.replace("-", "_")


def c_nest(name: str) -> Function:
    """The nest of a kernel as our C front end reads it."""
    (region,) = read_c(c_file(name))
    return region.function


def load_c(names: Iterable[str], flags: tuple[str, ...]) -> dict[str, CKernel]:
    """The C functions of these kernels, compiled into one library."""
    names = list(names)
    text = "".join(_text(name) for name in names)
    library = ctypes.CDLL(str(compile_shared(text, "polybench", flags=flags)))
    return {name: _kernel(name, library[c_entry(name)]) for name in names}


def load_c_for_sizes(name: str, sizes: Mapping[str, int], flags: tuple[str, ...]) -> CKernel:
    """The C function of a kernel, compiled for these sizes alone, as PolyBench's own build does: the compiler knows
    every stride and trip count. The call takes sizes, but does not look at them."""
    fn, entry = KERNELS[name].nest.function, c_entry(name)
    scalars = [(f"double {scalar.name}", scalar.name) for scalar in fn.scalars]
    arrays = [(f"void *restrict {array.name}", array.name) for array in fn.arrays]
    declared = ", ".join([*(f"int {size}" for size in fn.sizes), *(text for text, _ in (*scalars, *arrays))])
    passed = ", ".join([*(str(sizes[size]) for size in fn.sizes), *(text for _, text in (*scalars, *arrays))])
    text = f"{_text(name)}\n__attribute__((flatten)) void for_sizes({declared})\n{{\n    {entry}({passed});\n}}\n"
    library = ctypes.CDLL(str(compile_shared(text, entry, flags=(*flags, "-fno-semantic-interposition"))))
    return _kernel(name, library["for_sizes"])


def load_rewritten(name: str, options: Options, flags: tuple[str, ...]) -> tuple[CKernel, ctypes.CDLL]:
    """The C function of a kernel as `polysched opt` rewrites its file, and the library that it is in."""
    rewritten = rewrite(c_file(name).read_bytes(), read_c(c_file(name)), options=options)
    library = ctypes.CDLL(str(compile_shared(rewritten.text.decode(), c_entry(name), flags=flags)))
    return _kernel(name, library[c_entry(name)]), library


def _text(name: str) -> str:
    return f'#line 1 "{name}.c"\n{c_file(name).read_text()}'


def _kernel(name: str, entry: Any) -> CKernel:
    fn = KERNELS[name].nest.function
    types = ((fn.sizes, ctypes.c_int), (fn.scalars, ctypes.c_double), (fn.arrays, ctypes.c_void_p))
    entry.argtypes = [c_type for parameters, c_type in types for _ in parameters]
    entry.restype = None
    return CKernel(fn, entry)
