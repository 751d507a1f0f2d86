"""The compiler on one screen: a nest in, a kernel that is proven legal and can be called out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from polysched.codegen.constants.split import Split, joined, split
from polysched.codegen.emit.c import emit_prepared
from polysched.codegen.expr.digits import join_digits
from polysched.codegen.expr.named import named_temporaries
from polysched.codegen.foreign import call_foreign, has_foreign
from polysched.codegen.gpu.planes import fold_planes
from polysched.codegen.gpu.points import whole_points, whole_strips
from polysched.codegen.gpu.registers import in_registers
from polysched.codegen.gpu.staging import stage
from polysched.codegen.gpu.sums.reduce import reduce_on_gpu
from polysched.codegen.gpu.tensor import tensor_products
from polysched.codegen.loops.borders import borders_apart
from polysched.codegen.loops.invariant_loads import invariant_loads
from polysched.codegen.loops.loop_bounds import loop_bounds
from polysched.codegen.memory.accumulate import accumulate
from polysched.codegen.memory.block_arrays import block_arrays
from polysched.codegen.memory.contract import contract
from polysched.codegen.memory.linearize import linearize
from polysched.codegen.memory.packing import pack
from polysched.codegen.memory.prefetch import with_prefetches
from polysched.codegen.memory.register_tiles import register_tiles
from polysched.codegen.parallel.collapse import collapse
from polysched.codegen.parallel.declined import decline_lost
from polysched.codegen.parallel.host_threads import without_host_threads
from polysched.codegen.parallel.idle_threads import without_idle_threads
from polysched.codegen.parallel.lanes import several_vectors
from polysched.codegen.parallel.privatize import privatize
from polysched.codegen.products.find import has_products, pack_products
from polysched.codegen.stage import improve_expressions, improve_indices
from polysched.config.constraints import Constraint
from polysched.config.heuristics.gpu import CHUNK_BYTES
from polysched.config.options import Options, Target, require_options
from polysched.config.target import TARGETS, TargetData, require_known
from polysched.deps.dependences import Dependences
from polysched.errors import BudgetExceeded, IllegalSchedule, InputError
from polysched.frontend.op.op import Op
from polysched.frontend.python import Nest
from polysched.ir.defaults import without_contents
from polysched.ir.nodes import Function
from polysched.ir.verify import verify
from polysched.model.tree.nodes import Parallel, Prefetch, Tree, Vector, marks_in
from polysched.plan.constants import require_constants
from polysched.plan.plan import planned, planned_by_hand
from polysched.plan.prepare import function_of, require_exact
from polysched.prelude.padding.choice import said_of_zeros
from polysched.results.compiled import Compiled
from polysched.results.kept import kept
from polysched.results.tuned.known import Tuned, tuned_for, tuned_schedule
from polysched.schedule.schedule import Schedule, as_options, left_to_meet
from polysched.support import isl
from polysched.support.entry import entry
from polysched.support.limits import rare_garbage
from polysched.support.remembered import forget
from polysched.support.trace import checked_by, optional, record, step, timed
from polysched.targets.table import BACKENDS


@entry
def optimize(
    nest: Nest | Op | Function,
    target: Target = "c",
    *,
    schedule: Schedule | Tree | None = None,
    options: Options | None = None,
) -> Compiled:
    """The nest compiled for `target`, "c", "cuda", "opencl" or "hip": print it, explain it, verify it, call it.

    The order of its iterations is found by ILP, or is `schedule`: one by hand, or a tree, as from `from_yaml`; then
    loops are tiled and put on threads, unless `schedule` has marks that say so itself, and the code is generated.
    The options are by default those of the schedule by hand. One without edits is where the compiler's own way starts.
    InputError for a nest that cannot be compiled, IllegalSchedule for a `schedule` that breaks a dependence,
    BudgetExceeded where `options.compile_seconds` are too few to tell what the nest depends on.

    Without a `schedule`, and with `Options(tuned="use")`, it is the one that `ps.tune` has found for this nest on this
    machine, if there is one. By default what was measured counts for nothing: the same nest gives the same kernel.
    """
    whole = function_of(nest)
    function = without_contents(whole)
    by_hand = schedule if isinstance(schedule, Schedule) else None
    options = (by_hand.history.options if by_hand else Options()) if options is None else options
    require_options(options)
    require_known(target)
    require_constants(function, target, options)
    if by_hand:
        options = left_to_meet(by_hand, options)
        _require_fits(by_hand, function, options)
    if by_hand and (unedited := as_options(by_hand, options)) is not None:
        schedule, by_hand, options = None, None, unedited
    asked: Any = schedule
    if isinstance(schedule, Schedule):
        asked = without_contents(schedule.nest), schedule.history, schedule.draft.nested
    if schedule is None and (tuned := tuned_for(function, target, options)):
        done = kept((function, target, tuned, options), lambda: _as_tuned(function, target, tuned, options))
    else:
        done = kept((function, target, asked, options), lambda: _in_time(function, target, schedule, options))
    object.__setattr__(done, "nest", whole)  # which alone has the contents of arrays; `replace` would read all stages
    object.__setattr__(done, "by_hand", by_hand)
    return done


def _in_time(function: Function, target: Target, schedule: Schedule | Tree | None, options: Options) -> Compiled:
    try:
        with record() as events, rare_garbage, isl.within(options.compile_seconds):
            done = _compiled(function, TARGETS[target], schedule, options)
    finally:
        forget()
    return replace(done, events=tuple(events))


def _as_tuned(function: Function, target: Target, tuned: Tuned, options: Options) -> Compiled:
    """With the answers of the database; where they no longer fit, as ever, which is said, or refused if required."""
    try:
        schedule = tuned_schedule(function, target, options, tuned)
        return replace(_in_time(function, target, schedule, options), tuned=tuned)
    except (InputError, IllegalSchedule, BudgetExceeded) as error:
        if options.tuned == "require":
            what = f"the schedule that the database has for '{function.name}' does not fit"
            raise InputError(f"{what}: {error}", hint="tune it again, or allow Options(tuned='use')") from error
        refused = replace(tuned, refusal=str(error).partition("\n")[0])
    return replace(_in_time(function, target, None, options), tuned=refused)


def _compiled(function: Function, target: TargetData, schedule: Schedule | Tree | None, options: Options) -> Compiled:
    if isinstance(schedule, Schedule):
        plan = planned_by_hand(schedule.draft, schedule.prelude, target, options)
    else:
        plan = planned(function, target, options, given=schedule)
    optional("lost loops", decline_lost, plan.kernel, plan.tree)
    with checked_by(_require_lowered):
        fetches = any(isinstance(mark, Prefetch) for mark in marks_in(plan.tree))
        kernel, parts = _kernel(plan.kernel, target, options, fetches=fetches)
        emit = BACKENDS[target.name].emit if parts is None else emit_prepared(parts)
        source = step("emit", emit, kernel, options)
    rungs = {
        "dependences": _decided(plan.dependences),
        "schedule": plan.scheduled.rung,
        "mapping": plan.mapping,
        **_met(plan.scheduled.constraints, target),
        **({"padding": zeros} if (zeros := said_of_zeros(plan.prelude)) else {}),
        **({"taken on trust": "; ".join(map(str, trusted))} if (trusted := plan.dependences.trusted) else {}),
    }
    return Compiled(nest=function, plan=plan, rungs=rungs, kernel=kernel, source=source, options=options)


def _require_lowered(value: Any) -> None:
    if isinstance(value, Function):
        verify(value, "lowered")


def _kernel(
    kernel: Function, target: TargetData, options: Options, *, fetches: bool
) -> tuple[Function, Split | None]:
    """The loops of the schedule, some of which may be to fetch ahead, as they are printed; and the parts of them, if
    there is something to prepare of constants."""
    if has_foreign(kernel):
        return _around_calls(kernel, target, options, fetches=fetches), None
    finish = partial(_finished, target=target, options=options, fetches=fetches, has_products=has_products(kernel))
    whole = _copied(kernel, target, options)
    parts = timed("constants", split, whole, frozenset(options.constants)) if options.constants else None
    if parts is None:
        return finish(whole), None
    parts = replace(parts, prepare=finish(parts.prepare), rest=finish(parts.rest))
    return joined(parts, whole), parts


def _copied(kernel: Function, target: TargetData, options: Options) -> Function:
    """The loops with the memory that they work in: copies, packed factors, scalars in place of arrays."""
    if target.has_grid:
        kernel = optional("strips", whole_strips, kernel)
        kernel = optional("block arrays", block_arrays, kernel, target.shared - CHUNK_BYTES)
    kernel = optional("contract", contract, kernel, rows=not target.has_grid)
    if not target.has_grid:
        kernel = step("pack products", pack_products, kernel, options.machine, parallel=options.parallel)
        kernel = step("privatize", privatize, kernel, vector=options.vector)
        kernel = optional("lanes", several_vectors, kernel, vector_bytes=options.machine.vector_bytes)
        kernel = optional("pack", pack, kernel)
    else:
        kernel = step("host threads", without_host_threads, kernel)
        kernel = step("tensor products", tensor_products, kernel)
        kernel = step("reduce", reduce_on_gpu, kernel, shuffles=target.has_shuffles)
        if options.shared_memory:
            how = {"double_buffer": options.double_buffer, "fast_math": options.fast_math, "room": target.shared}
            kernel = optional("stage", stage, kernel, **how)
        kernel = optional("registers", in_registers, kernel)
        kernel = optional("points", whole_points, kernel)
        kernel = optional("planes", fold_planes, kernel)
    return kernel


def _finished(
    kernel: Function, target: TargetData, options: Options, *, fetches: bool, has_products: bool
) -> Function:
    """What works in registers, and the expressions, as they are printed."""
    kernel = optional("register tiles", register_tiles, kernel)
    kernel = optional("accumulate", accumulate, kernel, nested=target.has_grid)
    if not target.has_grid:
        kernel = optional("borders", borders_apart, kernel)
        kernel = step("collapse", collapse, kernel)
        kernel = step("idle threads", without_idle_threads, kernel)
    if options.expressions != "off":
        kernel = optional("named", named_temporaries, kernel)
    if not target.has_grid and options.expressions != "off":
        kernel = optional("invariant loads", invariant_loads, kernel)
    kernel = step("linearize", linearize, kernel)
    if fetches:
        kernel = step("prefetch", with_prefetches, kernel, on_gpu=target.has_grid)
    if has_products:  # whose digits and guards are of our making, so that they go even without the stage
        kernel = optional("digits", join_digits, kernel)
        kernel = optional("loop bounds", loop_bounds, kernel, fast_math=options.fast_math)
    return improve_expressions(kernel, options, target)


def _around_calls(kernel: Function, target: TargetData, options: Options, *, fetches: bool) -> Function:
    """Loops around instructions of the user's, which change more elements than the one where they begin: passes that
    move elements, or keep them elsewhere, are left out."""
    kernel = step("call foreign", call_foreign, kernel)
    kernel = step("pack products", pack_products, kernel, options.machine, parallel=options.parallel)
    kernel = step("privatize", privatize, kernel, vector=options.vector)
    kernel = step("collapse", collapse, kernel)
    kernel = step("idle threads", without_idle_threads, kernel)
    kernel = step("linearize", linearize, kernel)
    if fetches:
        kernel = step("prefetch", with_prefetches, kernel, on_gpu=False)
    return improve_indices(kernel, options)


def _require_fits(by_hand: Schedule, function: Function, options: Options) -> None:
    """InputError if the schedule is of another nest, was checked for sums in another order than they are to run, or has
    marks that the options rule out."""
    if without_contents(by_hand.nest) != function:
        name = by_hand.nest.name
        raise InputError(f"the schedule is of another nest, '{name}'", hint="Schedule.replay edits another one")
    allowed = by_hand.history.options.reorder_reductions
    if allowed != options.reorder_reductions:
        message = f"the schedule was made with reorder_reductions={allowed}"
        raise InputError(message, hint="leave options out, which are then the schedule's")
    marks = {type(mark) for mark in marks_in(by_hand.tree)}
    for option, mark in (("parallel", Parallel), ("vector", Vector)):
        if mark in marks and by_hand.history.options != options and not getattr(options, option):
            message = f"the schedule marks loops as {mark.__name__.lower()}, and options say {option}=False"
            raise InputError(message, hint="make the schedule with these options, or leave them out")
    require_exact(by_hand.prelude, options)


def _decided(deps: Dependences) -> str:
    """What is said of the dependences."""
    guesses = list(dict.fromkeys(f"{d.kind} on {d.array} from {d.source} to {d.sink}" for d in deps.guesses))
    more = [f"and {len(guesses) - 3} more"] if len(guesses) > 3 else []
    told = ", ".join([*guesses[:3], *more])
    return f"some may be none, not decided within their budget: {told}" if guesses else "exact"


def _met(constraints: tuple[Constraint, ...], target: TargetData) -> dict[str, str]:
    """What is said of the user's constraints; a GPU's grid has no order."""
    where = "met before loops went to the grid" if target.has_grid else "met"
    return {"constraints": f"{where}: {', '.join(map(str, constraints))}"} if constraints else {}
