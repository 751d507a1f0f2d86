"""C with OpenMP, for this machine's CPU."""

from __future__ import annotations

from polysched.codegen.emit.c import emit_c
from polysched.codegen.emit.source import Source
from polysched.config.options import Options
from polysched.ir.nodes import Function
from polysched.runtime.cpu import CpuProgram, load
from polysched.support import isl
from polysched.targets.backend import Backend


def _emit(kernel: Function, options: Options) -> Source:
    return emit_c(kernel, vector_math=options.fast_math)


def _load(source: Source, nest: Function, valid_sizes: isl.Set, options: Options) -> CpuProgram:
    return load(source, nest, valid_sizes, contract=options.contract_floats, fast_math=options.fast_math)


BACKEND = Backend(emit=_emit, load=_load)
