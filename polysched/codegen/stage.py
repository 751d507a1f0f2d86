"""The passes over expressions, in their order: what every kernel goes through between lowering and printing.

Structure comes first: what a loop's bounds can say needs no guard, what a stride can say no remainder, and what the
ranges of loops and sizes decide needs no code at all. Only then are the operands of what is left put into an order in
which they can move, and moved.
"""

from __future__ import annotations

from polysched.codegen.expr.cost import costs_on
from polysched.codegen.expr.cse import cse
from polysched.codegen.expr.dce import dce
from polysched.codegen.expr.digits import join_digits
from polysched.codegen.expr.inverses import with_inverses
from polysched.codegen.expr.licm import licm, licm_settings
from polysched.codegen.expr.normalize import normalize
from polysched.codegen.expr.pressure import relieve
from polysched.codegen.loops.loop_bounds import loop_bounds
from polysched.codegen.loops.preload import preload
from polysched.codegen.loops.ranges import simplify_ranges
from polysched.codegen.loops.unroll import hint_unrolling
from polysched.codegen.loops.unswitch import unswitch
from polysched.config.options import Options
from polysched.config.target import TargetData
from polysched.ir.nodes import LARGEST_SIZE, Function
from polysched.ir.simplify import simplify
from polysched.support.trace import optional


def improve_expressions(fn: Function, options: Options, target: TargetData) -> Function:
    """`fn` with its index arithmetic and conditions simplified, and computed outside of the loops they do not need."""
    if options.expressions == "off":
        return fn
    settings = licm_settings(options, target)
    if options.expressions == "licm":
        return optional("licm", licm, fn, **settings)
    gpu, fast_math = target.has_grid, options.fast_math
    fn = optional("simplify", simplify, fn)
    fn = optional("loop bounds", loop_bounds, fn, fast_math=fast_math, tiny_loop=settings["tiny_loop"])
    fn = optional("ranges", simplify_ranges, fn, largest=LARGEST_SIZE)
    fn = optional("digits", join_digits, fn)
    fn = optional("normalize", normalize, fn, fast_math=fast_math)
    fn = optional("unswitch", unswitch, fn)
    fn = optional("simplify", simplify, fn)  # folds the constants that are neighbors now, before they are named
    fn = optional("licm", licm, fn, **settings)
    if fast_math and not gpu:
        fn = optional("inverses", with_inverses, fn)
    fn = optional("cse", cse, fn, costs=costs_on(target), gpu=gpu)  # what repeats once nothing can move any more
    fn = optional("dce", dce, fn)
    fn = optional("pressure", relieve, fn, budget=target.registers)
    if not gpu:
        return fn
    fn = optional("unroll", hint_unrolling, fn, most_trips=options.tiny_loop)
    return optional("preload", preload, fn)


def improve_indices(fn: Function, options: Options) -> Function:
    """`fn` with its loop bounds, conditions and index arithmetic simplified, each where it is."""
    if options.expressions == "off":
        return fn
    fn = optional("simplify", simplify, fn)
    fn = optional("loop bounds", loop_bounds, fn, fast_math=options.fast_math)
    fn = optional("ranges", simplify_ranges, fn, largest=LARGEST_SIZE)
    fn = optional("digits", join_digits, fn)
    return optional("simplify", simplify, fn)
