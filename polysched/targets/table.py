"""The targets by name: C with OpenMP for this machine's CPU, CUDA for NVIDIA's devices, OpenCL 1.2 in a program in C,
HIP for AMD's devices."""

from __future__ import annotations

from collections.abc import Mapping

from polysched.codegen.emit.c import emit_c
from polysched.codegen.emit.cuda import emit_cuda, emit_cuda_file
from polysched.codegen.emit.opencl import emit_opencl, emit_opencl_file
from polysched.codegen.emit.source import Source
from polysched.config.options import Options, Target
from polysched.ir.nodes import Function
from polysched.runtime.cpu import load
from polysched.runtime.gpu.cuda import CudaProgram, load_cuda
from polysched.runtime.gpu.cuda_driver import Launcher, require_bindings
from polysched.runtime.gpu.opencl import load_opencl
from polysched.support import isl
from polysched.targets import hip
from polysched.targets.backend import Backend


def _load_by(source: Source, nest: Function, valid_sizes: isl.Set, options: Options, launcher: Launcher) -> CudaProgram:
    program = load_cuda(source, nest, valid_sizes, contract=options.contract_floats, launcher=launcher)
    require_bindings(program.launcher)
    return program


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
    "hip": hip.BACKEND,
}
