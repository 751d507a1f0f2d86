"""CUDA, for NVIDIA's devices."""

from __future__ import annotations

from collections.abc import Sequence

from polysched.codegen.emit.cuda import emit_cuda, emit_cuda_file
from polysched.codegen.emit.source import Offload, Source
from polysched.config.options import Options
from polysched.ir.nodes import Function
from polysched.runtime.gpu.cuda import CudaProgram, load_cuda
from polysched.runtime.gpu.cuda_driver import Launcher, require_bindings
from polysched.support import isl
from polysched.targets.backend import Backend


def _emit(kernel: Function, options: Options) -> Source:
    return emit_cuda(kernel, contract=options.contract_floats)


def _emit_file(offloads: Sequence[Offload], options: Options) -> str:
    return emit_cuda_file(offloads, contract=options.contract_floats)


def _load(source: Source, nest: Function, valid_sizes: isl.Set, options: Options) -> CudaProgram:
    return load_cuda(source, nest, valid_sizes, contract=options.contract_floats)


def _load_by(source: Source, nest: Function, valid_sizes: isl.Set, options: Options, launcher: Launcher) -> CudaProgram:
    program = load_cuda(source, nest, valid_sizes, contract=options.contract_floats, launcher=launcher)
    require_bindings(program.launcher)
    return program


BACKEND = Backend(emit=_emit, emit_file=_emit_file, load=_load, load_by=_load_by)
