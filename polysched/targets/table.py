"""The targets by name: C with OpenMP for this machine's CPU, CUDA for NVIDIA's devices, OpenCL 1.2 in a program in C,
HIP for AMD's devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from polysched.codegen.emit.c import emit_c
from polysched.codegen.emit.cuda import emit_cuda, emit_cuda_file
from polysched.codegen.emit.opencl import emit_opencl, emit_opencl_file
from polysched.codegen.emit.source import Offload, Source
from polysched.config.options import Options, Target
from polysched.config.target import TARGETS
from polysched.errors import LaunchError
from polysched.ir.nodes import Function
from polysched.runtime.cpu import load
from polysched.runtime.gpu.cuda import CudaProgram, load_cuda
from polysched.runtime.gpu.cuda_driver import Launcher, require_bindings
from polysched.runtime.gpu.opencl import load_opencl
from polysched.support import isl
from polysched.targets.hip import emit_hip, emit_hip_file

Load = Callable[[Source, Function, isl.Set, Options], Any]  # a program; it is called with arguments, and times calls


@dataclass(frozen=True, kw_only=True)
class Backend:
    """The printers of a target, and what runs its texts."""

    emit: Callable[[Function, Options], Source]
    emit_file: Callable[[Sequence[Offload], Options], str] | None = None  # of functions for C programs to call
    load: Load  # for this machine's CPU or device; LaunchError if it has none
    load_by: Callable[[Source, Function, isl.Set, Options, Launcher], Any] | None = None  # by a library of this name


def _load_by(source: Source, nest: Function, valid_sizes: isl.Set, options: Options, launcher: Launcher) -> CudaProgram:
    program = load_cuda(source, nest, valid_sizes, contract=options.contract_floats, launcher=launcher)
    require_bindings(program.launcher)
    return program


def refuse_to_load(compiler: str, source: Source, nest: Function, valid_sizes: isl.Set, options: Options) -> None:
    """The `load` of a target that Python does not launch: LaunchError, which names the compiler of its texts."""
    what = f"{nest.name}: {TARGETS[source.target].language} is not launched from Python"
    raise LaunchError(f"{what}: compile its text with {compiler}; verify() runs it on the CPU")


BACKENDS: Mapping[Target, Backend] = {
    "c": Backend(
        emit=lambda kernel, options: emit_c(kernel, vector_math=options.fast_math),
        load=lambda source, nest, sizes, options: load(
            source, nest, sizes, contract=options.contract_floats, fast_math=options.fast_math
        ),
    ),
    "cuda": Backend(
        emit=lambda kernel, options: emit_cuda(kernel, contract=options.contract_floats),
        emit_file=lambda offloads, options: emit_cuda_file(offloads, contract=options.contract_floats),
        load=lambda source, nest, sizes, options: load_cuda(source, nest, sizes, contract=options.contract_floats),
        load_by=_load_by,
    ),
    "opencl": Backend(
        emit=lambda kernel, options: emit_opencl(kernel, contract=options.contract_floats),
        emit_file=lambda offloads, options: emit_opencl_file(offloads, contract=options.contract_floats),
        load=lambda source, nest, sizes, options: load_opencl(source, nest, sizes),
    ),
    "hip": Backend(emit=emit_hip, emit_file=emit_hip_file, load=partial(refuse_to_load, "hipcc")),
}
