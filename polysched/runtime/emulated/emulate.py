"""Runs a Source in CUDA or OpenCL without a GPU: its unchanged text as C++, on numpy arrays in place.

run = emulate(emit_cuda(linearize(fn)), fn)
run(A=a)                        blocks, warps and lanes in order, each up to where it must wait
run.reverse = True              ... from the last to the first; the results must not differ
"""

from __future__ import annotations

import ctypes
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polysched.codegen.emit.source import Source
from polysched.config.target import LIMITS, TARGETS
from polysched.errors import BudgetExceeded, KernelError
from polysched.ir.nodes import Function
from polysched.runtime.arguments import Binder
from polysched.runtime.cpu import c_function, open_library
from polysched.runtime.emulated.declared import dynamic_arrays
from polysched.runtime.emulated.inline_ptx import without_ptx
from polysched.runtime.emulated.launch_bounds import launch_bounds
from polysched.runtime.toolchain import EXACT, compile_shared
from polysched.support import clock, isl

_FOLDER = Path(__file__).parent
CPP_FLAGS = (
    "-std=gnu++17",
    "-fno-exceptions",
    "-fno-strict-aliasing",  # kernels read floats through float4
    "-fno-extern-tls-init",  # `extern __shared__` arrays have no constructors
    "-fno-gnu-unique",  # nor does a template's array belong to the whole process
    "-Wl,-Bsymbolic",  # a kernel may be called as a function of the C library
    f"-I{_FOLDER / 'include' / 'cuda'}",
    *EXACT,
)
HEADERS = frozenset(
    str(path.relative_to(_FOLDER / "include" / "cuda")) for path in (_FOLDER / "include" / "cuda").rglob("*.h*")
)  # that a text may include
_INCLUDE = re.compile(r'#include "(\w+\.h)"\n')
_MATH = re.compile(
    r"\b(a?(sin|cos|tan)h?(pi)?|atan2|sincos|exp(2|10|m1)?|log(2|10|1p|b)?|pow|sqrt|cbrt|hypot|erfc?|[lt]gamma|abs|fabs|"
    r"floor|ceil|round|l?l?rint|trunc|nearbyint|fmod|remainder|fma|fmin|fmax|fdim|copysign|ldexp|frexp|modf|is(nan|inf|finite)|"
    r"\w*INF\w*|NAN|M_\w+)f?\b"
)
MOST_DYNAMIC = LIMITS.dynamic
# What only some texts need of CUDA, since it takes time to compile.
_PARTS = (
    ("cuda_halves_on_cpu.h", re.compile(r"half2|half_|2half|bfloat16|__h\w|fp16\.h|bf16\.h")),
    ("cuda_groups_on_cpu.h", re.compile("cooperative_groups")),
    ("cuda_ptx_on_cpu.h", re.compile(r"\basm\b|\b__asm")),
)


@dataclass
class Emulated:
    """A GPU program on the CPU; call it with the arguments of `fn` by name."""

    fn: Function
    library: ctypes.CDLL = field(repr=False)
    entry: Any = field(repr=False)
    valid_sizes: isl.Set | None = None  # { : ... } for which all accesses are in bounds; None: all
    reverse: bool = False  # the last block, warp and lane run first
    most_blocks: int = 0  # along each side of the grid, over which kernels must stride then; 0: as many as there are
    wide: bool = False  # kernels count in 64 bits, where there are two

    def __call__(self, **arguments: Any) -> None:
        """Runs it in place; LaunchError, before anything runs, if the arguments do not fit. KernelError if a kernel
        does what a GPU does not define, such as threads of a block that wait at different barriers."""
        bound = Binder(self.fn, self.valid_sizes)(arguments)
        values, blocks = bound.in_order, self.most_blocks
        run_emulated(self.library, self.reverse, self.entry, *values, most_blocks=blocks, wide=self.wide)


def emulate(source: Source, fn: Function, valid_sizes: isl.Set | None = None) -> Emulated:
    """`source` compiled for the CPU; `fn` is the function as the user calls it, before `linearize`."""
    flags = ("-O1", *CPP_FLAGS)
    text = emulated_text(source) + _notes(source, fn)
    library = open_library(str(compile_shared(text, source.entry, language="c++", flags=flags)))
    return Emulated(fn, library, c_function(library, source, fn), valid_sizes)


def launched_kernels(program: Emulated, sizes: Mapping[str, int]) -> list[str]:
    """The names of the first kernels that a CUDA program would launch at these sizes, however large; nothing runs."""
    values = (ctypes.c_int64 * max(1, len(program.fn.sizes)))(*(sizes[name] for name in program.fn.sizes))
    ctypes.c_int.in_dll(program.library, "polysched_wide").value = 0
    program.library.polysched_note_launches(values)
    return (ctypes.c_char * 4096).in_dll(program.library, "polysched_noted").value.decode().split()


def _notes(source: Source, fn: Function) -> str:
    """The function that `launched_kernels` calls; "" where all kernels count in 64 bits."""
    if not any(kernel.wide for kernel in source.kernels):
        return ""
    arrays = {array.name for array in fn.arrays}
    sizes = {name: f"polysched_sizes[{k}]" for k, name in enumerate(fn.sizes)}
    given = ", ".join("nullptr" if name in arrays else sizes.get(name, "0") for name in source.parameters)
    return f"\nPOLYSCHED_NOTE_LAUNCHES({source.entry}({given}))\n"


def run_emulated(
    library: ctypes.CDLL, reverse: bool, entry: Any, *values: Any, most_blocks: int = 0, wide: bool = False
) -> None:
    """Calls a function that launches kernels, from a library made of `emulated_text`; KernelError for their faults,
    BudgetExceeded if `clock` ends before the last launch begins."""
    ctypes.c_int.in_dll(library, "polysched_reverse").value = reverse
    ctypes.c_uint.in_dll(library, "polysched_most_blocks").value = most_blocks
    ctypes.c_int.in_dll(library, "polysched_wide").value = wide
    left = clock.left()
    ctypes.c_double.in_dll(library, "polysched_until").value = time.monotonic() + left if left < math.inf else 0.0
    fault = (ctypes.c_char * 1024).in_dll(library, "polysched_fault")
    fault.value = b""
    try:
        entry(*values)
    finally:
        library.polysched_drop_stacks()
    if fault.value and not clock.left():
        raise BudgetExceeded("running kernels on the CPU ran out of time")
    if fault.value:
        raise KernelError(fault.value.decode(errors="replace"))


def emulated_text(source: Source) -> str:
    """The text, after what it needs to be C++: of OpenCL the kernels, then the host's, which is C."""
    alone = ", ".join(f'{{"{kernel.name}", "{"".join(kernel.alone)}"}}' for kernel in source.kernels if kernel.alone)
    define = f"#define POLYSCHED_ALONE {alone}\n" if alone else ""
    target = TARGETS[source.target]
    if target.is_single_source:
        text = f"{source.text}{launch_bounds(source.text)}"
        return f'{define}{cuda_header(source.text)}#line 1 "{source.entry}{target.suffix}"\n{text}'
    kernels = f'namespace polysched_kernels {{\n#line 1 "{source.entry}.cl"\n{source.device}}}\n'
    host = f'extern "C" {{\n#line 1 "{source.entry}.c"\n{source.text}}}\n'
    bounds = launch_bounds(source.device)
    return cuda_header(source.device) + with_headers("opencl_on_cpu.h") + kernels + bounds + host


def hand_written_text(text: str, file: str, kernel: str, called: str, macros: str = "") -> str:
    """A text that somebody wrote, as C++ by which Python launches `kernel`; it is called as in "space::scale<float>".
    `macros` are defined before it."""
    entry = f'{with_headers("kernel_entry_on_cpu.h")}POLYSCHED_ENTRY("{kernel}", ({called}))\n'
    needs = "#include <math.h>\n" if _MATH.search(text) else ""  # nvcc always has it, but it takes time
    plain = re.sub(r"\balignas(?=\s*\()", "POLYSCHED_ALIGNAS", without_ptx(text, file))
    behind = f'\n#line 1 "polysched_entry.h"\n{launch_bounds(text, {kernel: called})}{entry}'
    return f'{needs}{cuda_header(text)}{macros}#line 1 "{file}"\n{plain}{behind}'


def cuda_header(text: str = "") -> str:
    """What stands before CUDA's `text` to make it C++."""
    seen: set[str] = set()
    parts = ["cuda_on_cpu.h", *(part for part, used in _PARTS if used.search(text))]
    return "".join(with_headers(part, seen) for part in parts) + _dynamic_memory(dynamic_arrays(text))


def _dynamic_memory(names: list[str]) -> str:
    """The memory that all of these arrays are in, also where they stand in the namespace of our own texts."""
    if not names:
        return ""
    symbols = (each for name in names for each in (name, f"_ZN9polysched{len(name)}{name}E"))
    labels = "".join(f".globl {each}\n.type {each}, @tls_object\n{each}:\n" for each in symbols)
    section = f'.pushsection .tbss, "awT", @nobits\n.balign 128\n{labels}.zero {MOST_DYNAMIC}\n.popsection\n'
    return f'__asm__(R"({section})");\n'


def with_headers(name: str, seen: set[str] | None = None) -> str:
    """One of our C++ files, with those that it includes in it, each where it is needed first."""
    seen = set() if seen is None else seen
    if name in seen:
        return ""
    seen.add(name)
    text = (_FOLDER / name).read_text().replace("#pragma once\n", "")
    return _INCLUDE.sub(lambda found: with_headers(found[1], seen), text)
