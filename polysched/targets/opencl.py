"""OpenCL 1.2, in a program in C."""

from __future__ import annotations

from collections.abc import Sequence

from polysched.codegen.emit.opencl import emit_opencl, emit_opencl_file
from polysched.codegen.emit.source import Offload, Source
from polysched.config.options import Options
from polysched.ir.nodes import Function
from polysched.runtime.gpu.opencl import OpenclProgram, load_opencl
from polysched.support import isl
from polysched.targets.backend import Backend


def _emit(kernel: Function, options: Options) -> Source:
    return emit_opencl(kernel, contract=options.contract_floats)


def _emit_file(offloads: Sequence[Offload], options: Options) -> str:
    return emit_opencl_file(offloads, contract=options.contract_floats)


def _load(source: Source, nest: Function, valid_sizes: isl.Set, options: Options) -> OpenclProgram:
    return load_opencl(source, nest, valid_sizes)


BACKEND = Backend(emit=_emit, emit_file=_emit_file, load=_load)
