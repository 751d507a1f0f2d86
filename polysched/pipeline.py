"""The compiler on one screen: a nest in, a kernel that is proven legal and can be called out."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from polysched import isl
from polysched.codegen.gpu.planes import fold_planes
from polysched.codegen.gpu.points import whole_points
from polysched.codegen.gpu.reduce import reduce_on_gpu
from polysched.codegen.gpu.registers import in_registers
from polysched.codegen.gpu.staging import stage
from polysched.codegen.passes.accumulate import accumulate
from polysched.codegen.passes.borders import borders_apart
from polysched.codegen.passes.contract import contract
from polysched.codegen.passes.digits import join_digits
from polysched.codegen.passes.idle_threads import without_idle_threads
from polysched.codegen.passes.invariant_loads import invariant_loads
from polysched.codegen.passes.lanes import several_vectors
from polysched.codegen.passes.linearize import linearize
from polysched.codegen.passes.loop_bounds import loop_bounds
from polysched.codegen.passes.named import named_temporaries
from polysched.codegen.passes.packing import pack
from polysched.codegen.passes.privatize import privatize
from polysched.codegen.passes.register_tiles import register_tiles
from polysched.codegen.passes.stage import improve_expressions
from polysched.codegen.products.find import pack_products
from polysched.compiled import Compiled
from polysched.constraints import Constraint
from polysched.deps.dependences import Dependences
from polysched.deps.legality import require_legal
from polysched.entry import entry
from polysched.errors import BudgetExceeded, InputError
from polysched.frontend.op.op import Op
from polysched.frontend.python import Nest
from polysched.history import History
from polysched.ir.contents import without_contents
from polysched.ir.nodes import Function
from polysched.mapped import loops_within_budget, require_target
from polysched.model.scop import Scop
from polysched.model.tree import Tree
from polysched.model.tree_form import require_form
from polysched.options import Options, Target, require_options
from polysched.prelude.choose import leaves_order_open, prelude, readable
from polysched.prelude.padding.choice import said_of_zeros
from polysched.prepare import function_of, living, modelled
from polysched.results import kept
from polysched.schedule import Schedule
from polysched.solve.honoured import require_met
from polysched.solve.scheduler import Scheduled, find_schedule
from polysched.target import TARGETS, TargetData
from polysched.targets.table import BACKENDS
from polysched.trace import optional, record, step, timed


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
    """
    whole = function_of(nest)
    function = without_contents(whole)
    by_hand = schedule if isinstance(schedule, Schedule) else None
    options = (by_hand.history.options if by_hand else Options()) if options is None else options
    require_options(options)
    if target not in TARGETS:
        raise InputError(f"there is no target '{target}'", hint=f"the targets are {', '.join(TARGETS)}")
    if by_hand:
        _require_fits(by_hand, function, options)
    schedule, options = _unless_unedited(schedule, options)
    asked: Any = schedule
    if isinstance(schedule, Schedule):
        asked = without_contents(schedule.nest), schedule.history, schedule.tree
    done = kept((function, target, asked, options), lambda: _in_time(function, target, schedule, options))
    object.__setattr__(done, "nest", whole)  # which alone has the contents of arrays; `replace` would read all stages
    return done


def _in_time(function: Function, target: Target, schedule: Schedule | Tree | None, options: Options) -> Compiled:
    with record() as events, isl.within(options.compile_seconds):
        done = _compiled(function, TARGETS[target], schedule, options)
    return replace(done, events=tuple(events))


def _compiled(function: Function, target: TargetData, schedule: Schedule | Tree | None, options: Options) -> Compiled:
    by_hand = schedule if isinstance(schedule, Schedule) else None
    given: Tree | None = schedule.tree if isinstance(schedule, Schedule) else schedule
    is_open = given is None and leaves_order_open(options)
    if by_hand:
        edits = readable(function).edits
        scop, deps = by_hand.draft.scop, by_hand.draft.dependences
    else:
        model = lru_cache(maxsize=1)(partial(modelled, options=options))
        nest, edits = prelude(function, target, options, model, is_given=given is not None)
        scop, deps = model(nest)
        if is_open and not target.has_grid:
            scop, deps = living(scop, deps, options)
        given = require_form(given, scop.function.sizes) if given else None
    if given is None:
        scheduled = _found(scop, deps, options)
    else:
        step("legality", require_legal, given, deps, scop)
        timed("constraints", require_met, given, scop, deps, options.constraints)
        scheduled = Scheduled(tree=given, rung="given", constraints=options.constraints)
    require_target(scheduled.tree, target, options)
    tree, kernel, mapping = loops_within_budget(
        scop,
        deps,
        scheduled.tree,
        target,
        options,
        is_by_hand=by_hand is not None,
        is_free=is_open,
    )
    kernel = optional("contract", contract, kernel, rows=options.reorder_reductions and not target.has_grid)
    has_products = False
    if not target.has_grid:
        before = kernel
        kernel = step("pack products", pack_products, kernel, options.machine, parallel=options.parallel)
        has_products = kernel is not before
        kernel = step("privatize", privatize, kernel, vector=options.vector)
        kernel = optional("lanes", several_vectors, kernel, vector_bytes=options.machine.vector_bytes)
        kernel = optional("pack", pack, kernel)
    else:
        kernel = step("reduce", reduce_on_gpu, kernel, shuffles=target.has_shuffles)
        if options.shared_memory:
            kernel = optional("stage", stage, kernel, double_buffer=options.double_buffer)
        kernel = optional("registers", in_registers, kernel)
        kernel = optional("points", whole_points, kernel)
        kernel = optional("planes", fold_planes, kernel)
    kernel = optional("register tiles", register_tiles, kernel)
    kernel = optional("accumulate", accumulate, kernel)
    if not target.has_grid:
        kernel = optional("borders", borders_apart, kernel)
    kernel = step("idle threads", without_idle_threads, kernel)
    if options.expressions != "off":
        kernel = optional("named", named_temporaries, kernel)
    if not target.has_grid and options.expressions != "off":
        kernel = optional("invariant loads", invariant_loads, kernel)
    kernel = step("linearize", linearize, kernel)
    if has_products:  # whose digits and guards are of our making, so that they go even without the stage
        kernel = optional("digits", join_digits, kernel)
        kernel = optional("loop bounds", loop_bounds, kernel, fast_math=options.fast_math)
    kernel = improve_expressions(kernel, options, target)
    source = step("emit", BACKENDS[target.name].emit, kernel, options)
    return Compiled(
        nest=function,
        scop=scop,
        dependences=deps,
        scheduled=scheduled,
        schedule=tree,
        rungs={
            "dependences": _decided(deps),
            "schedule": scheduled.rung,
            "mapping": mapping,
            **_met(scheduled.constraints, target),
            **({"padding": zeros} if (zeros := said_of_zeros(edits)) else {}),
            **({"taken on trust": "; ".join(map(str, deps.trusted))} if deps.trusted else {}),
        },
        kernel=kernel,
        source=source,
        options=options,
        prelude=edits,
    )


def _found(scop: Scop, deps: Dependences, options: Options) -> Scheduled:
    """The schedule that is found, and checked; source order, which is legal as it is, if that takes too long."""
    scheduled = step("schedule", find_schedule, scop, deps, options)
    try:
        with isl.within(options.solve_seconds):
            step("legality", require_legal, scheduled.tree, deps, scop)
    except BudgetExceeded as error:
        reason = f"{scheduled.rung}: its legality was not decided in time: {error}"
        require_met(scop.tree, scop, deps, options.constraints)
        scheduled = Scheduled(tree=scop.tree, rung="source order", reasons=(*scheduled.reasons, reason))
    return scheduled


def _unless_unedited(
    schedule: Schedule | Tree | None, options: Options
) -> tuple[Schedule | Tree | None, Options]:
    """The schedule and the options; one by hand without edits is none, but where it starts from."""
    match schedule:
        case Schedule(history=History(start="ilp", edits=())):
            return None, options
        case Schedule(history=History(start="source", edits=())):
            return None, replace(options, scheduler="source")
    return schedule, options


def _require_fits(by_hand: Schedule, function: Function, options: Options) -> None:
    """InputError if the schedule is of another nest, or was checked for sums in another order than they are to run."""
    if without_contents(by_hand.nest) != function:
        name = by_hand.nest.name
        raise InputError(f"the schedule is of another nest, '{name}'", hint="Schedule.replay edits another one")
    allowed = by_hand.history.options.reorder_reductions
    if allowed != options.reorder_reductions:
        message = f"the schedule was made with reorder_reductions={allowed}"
        raise InputError(message, hint="leave options out, which are then the schedule's")


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
