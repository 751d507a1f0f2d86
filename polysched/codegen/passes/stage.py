"""The passes over expressions, in their order: what every kernel goes through between lowering and printing."""

from __future__ import annotations

from polysched import trace
from polysched.codegen.passes.licm import licm
from polysched.codegen.passes.normalize import normalize
from polysched.codegen.passes.unroll import hint_unrolling
from polysched.ir.nodes import Function
from polysched.ir.simplify import simplify
from polysched.options import Options


def improve_expressions(fn: Function, options: Options, *, gpu: bool) -> Function:
    """`fn` with its index arithmetic and conditions simplified, and computed outside of the loops they do not need."""
    if options.expressions == "off":
        return fn
    tiny_loop = options.tiny_loop if gpu else 0
    if options.expressions == "all":
        fn = trace.step("simplify", simplify, fn)
        fn = trace.step("normalize", normalize, fn, fast_math=options.fast_math)
        fn = trace.step("simplify", simplify, fn)  # folds the constants that are neighbours now, before they are named
    fn = trace.step("licm", licm, fn, threshold=options.licm_threshold, tiny_loop=tiny_loop)
    if options.expressions == "all" and gpu:
        fn = trace.step("unroll", hint_unrolling, fn, most_trips=options.tiny_loop)
    return fn
