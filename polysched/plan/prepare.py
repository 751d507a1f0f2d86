"""From what the user gives to the model: what is scheduled, and what must stay in order."""

from __future__ import annotations

from collections.abc import Sequence

from polysched.config.options import Options
from polysched.deps.dataflow import dependences
from polysched.deps.dead import without_dead
from polysched.deps.dependences import Dependences
from polysched.errors import BudgetExceeded, InputError
from polysched.frontend.op.op import Op
from polysched.frontend.python import Nest
from polysched.ir.nodes import Function
from polysched.ir.verify import verify as verify_ir
from polysched.model.extract import extract
from polysched.model.scop import Scop
from polysched.prelude.choose import readable
from polysched.prelude.edit import NestEdit
from polysched.prelude.edits import applied
from polysched.support import isl
from polysched.support.trace import left_out, optional, step


def function_of(nest: Nest | Op | Function) -> Function:
    """The function of a nest or an operator; InputError if it is none."""
    if isinstance(nest, Nest):
        return nest.function
    if isinstance(nest, Op):
        return nest.nest
    if isinstance(nest, Function):
        verify_ir(nest, "source")
        return nest
    if isinstance(nest, tuple) and nest and all(isinstance(part, Function) for part in nest):
        names = ", ".join(part.name for part in nest)
        raise InputError("a tuple of nests is no nest", hint=f"pass one of those that from_c gives: {names}")
    name = getattr(nest, "__name__", nest)
    hint = "decorate the function with @polysched.nest or @polysched.op, or read a C file with polysched.from_c"
    raise InputError(f"'{name}' is not a nest", hint=hint)


def prepared(function: Function) -> Function:
    """The nest as any schedule starts from it."""
    return readable(function).function


def modelled(function: Function, options: Options) -> tuple[Scop, Dependences]:
    """Its statements, and their dependences."""
    scop = step("extract", extract, function)
    return scop, _ordered(scop, options)


WITHOUT_DEAD = NestEdit("without_dead")  # the instances that store in vain are left out


def modelled_after(function: Function, edits: Sequence[NestEdit], options: Options) -> tuple[Scop, Dependences]:
    """The model of the nest after these edits. InputError for one that there is not, or that does not fit."""
    require_exact(edits, options)
    if WITHOUT_DEAD in edits[:-1]:
        raise InputError(f"{WITHOUT_DEAD} is the last edit of a nest, after {edits[-1]}")
    scop, deps = modelled(applied(function, [edit for edit in edits if edit != WITHOUT_DEAD]), options)
    return living(scop, deps, options) if WITHOUT_DEAD in edits else (scop, deps)


def require_exact(edits: Sequence[NestEdit], options: Options) -> None:
    """InputError if one of the edits rounds as the options do not allow."""
    if not options.fast_math and (found := [edit for edit in edits if dict(edit.kwargs).get("fast_math")]):
        raise InputError(f"{found[0]} is not exact", hint="allow it with Options(fast_math=True)")


def living(scop: Scop, deps: Dependences, options: Options) -> tuple[Scop, Dependences]:
    """The same without the instances that store in vain, unless which those are would be a guess, or what depends on
    the others is not found in time."""
    left = scop if deps.guesses else optional("dead instances", without_dead, scop, deps)
    if left is scop:
        return scop, deps
    try:
        with isl.within(options.dependence_seconds):
            return left, _ordered(left, options)
    except BudgetExceeded as error:
        left_out("dead instances", error, scop)
        return scop, deps


def _ordered(scop: Scop, options: Options) -> Dependences:
    reorder, seconds = options.reorder_reductions, options.dependence_seconds
    return step("dependences", dependences, scop, reorder_reductions=reorder, seconds=seconds)
