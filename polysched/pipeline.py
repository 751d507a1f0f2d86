"""The compiler on one screen: a nest in, a kernel that is proven legal and can be called out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from polysched.bounded import call_within
from polysched.codegen.emit.c import emit_c
from polysched.codegen.emit.cuda import emit_cuda
from polysched.codegen.emit.opencl import emit_opencl
from polysched.codegen.gpu.barriers import place_barriers
from polysched.codegen.gpu.first_thread import on_first_threads
from polysched.codegen.gpu.mapping import map_to_gpu
from polysched.codegen.gpu.planes import fold_planes
from polysched.codegen.gpu.points import whole_points
from polysched.codegen.gpu.reduce import reduce_on_gpu
from polysched.codegen.gpu.staging import stage
from polysched.codegen.lower import lower
from polysched.codegen.passes.accumulate import accumulate
from polysched.codegen.passes.contract import contract
from polysched.codegen.passes.linearize import linearize
from polysched.codegen.passes.packing import pack
from polysched.codegen.passes.privatize import privatize
from polysched.codegen.passes.register_tiles import register_tiles
from polysched.codegen.passes.stage import improve_expressions
from polysched.codegen.source import Source
from polysched.compiled import Compiled
from polysched.constraints import Constraint, TileSizes
from polysched.deps.dependences import Dependences
from polysched.deps.legality import require_legal
from polysched.errors import BudgetExceeded, CannotLower, IllegalSchedule, InputError
from polysched.frontend.python import Nest
from polysched.ir.nodes import Function
from polysched.model.scop import Scop
from polysched.model.tree import Map, Mark, Tree, walk
from polysched.options import Options, Target
from polysched.prepare import function_of, modelled, prepared
from polysched.schedule import Schedule
from polysched.solve.honoured import require_met, unmet
from polysched.solve.scheduler import Scheduled, find_schedule
from polysched.trace import record, step, timed
from polysched.transform.expand_arrays import expand_arrays
from polysched.transform.fuse_tiles import fuse_tile_loops
from polysched.transform.interleave import interleave_all
from polysched.transform.parallel import mark_parallel
from polysched.transform.reductions import reduce_on_lanes, reduce_on_threads
from polysched.transform.register_tile import register_tile_all
from polysched.transform.strides import stride_one_innermost
from polysched.transform.tile import tile_all
from polysched.transform.vectorize import vectorize
from polysched.transform.wavefront import wavefront_all


def optimize(
    nest: Nest | Function,
    target: Target = "c",
    *,
    schedule: Schedule | Tree | None = None,
    options: Options | None = None,
) -> Compiled:
    """The nest compiled for `target`, "c", "cuda" or "opencl": print it, explain it, verify it, call it.

    The order of its iterations is found by ILP, or is `schedule`: one by hand, or a tree, as from `from_yaml`; then
    loops are tiled and put on threads, unless `schedule` has marks that say so itself, and the code is generated.
    The options are by default those of the schedule by hand.
    InputError for a nest that cannot be compiled, IllegalSchedule for a `schedule` that breaks a dependence.
    """
    function = function_of(nest)
    by_hand = schedule if isinstance(schedule, Schedule) else None
    given: Tree | None = schedule.tree if isinstance(schedule, Schedule) else schedule
    options = options or (by_hand.history.options if by_hand else Options())
    if target not in _EMIT:
        raise InputError(f"there is no target '{target}'", hint="the targets are c, cuda and opencl")
    with record() as events:
        if by_hand:
            _require_fits(by_hand, function, options)
            scop, deps = by_hand.draft.scop, by_hand.draft.dependences
        else:
            expanded = prepared(function)
            scop, deps = modelled(expanded, options)
        if target != "c" and given is None:  # on a CPU, the memory costs more: doitgen takes twice as long
            again = step("expand arrays", expand_arrays, expanded, scop, deps)
            scop, deps = (scop, deps) if again is expanded else modelled(again, options)
        scheduled = (
            step("schedule", find_schedule, scop, deps, options)
            if given is None
            else Scheduled(tree=given, rung="given", constraints=options.constraints)
        )
        step("legality", require_legal, scheduled.tree, deps, scop)
        if given is not None:
            timed("constraints", require_met, given, scop, deps, options.constraints)
        _require_tiles(scheduled.tree, target, options)
        _require_axes(scheduled.tree, target)
        tree, kernel, mapping = _lower_within_budget(
            scop, deps, scheduled.tree, target, options, is_by_hand=by_hand is not None
        )
        kernel = step("contract", contract, kernel)
        if target == "c":
            kernel = step("privatize", privatize, kernel, vector=options.vector)
            kernel = step("pack", pack, kernel)
        else:
            kernel = step("reduce", reduce_on_gpu, kernel, shuffles=target == "cuda")
            if options.shared_memory:
                kernel = step("stage", stage, kernel, double_buffer=options.double_buffer)
            kernel = step("points", whole_points, kernel)
            kernel = step("planes", fold_planes, kernel)
        kernel = step("register tiles", register_tiles, kernel)
        kernel = step("accumulate", accumulate, kernel)
        kernel = step("linearize", linearize, kernel)
        kernel = improve_expressions(kernel, options, target)
        source = step("emit", _EMIT[target], kernel, options)
    return Compiled(
        nest=function,
        scop=scop,
        dependences=deps,
        scheduled=scheduled,
        schedule=tree,
        rungs={
            "dependences": "exact" if deps.is_exact else "memory-based where isl could not tell the last access",
            "schedule": scheduled.rung,
            "mapping": mapping,
            **_met(scheduled.constraints, target),
            **(_claimed(by_hand) if by_hand else {}),
        },
        kernel=kernel,
        source=source,
        options=options,
        events=tuple(events),
    )


def _require_fits(by_hand: Schedule, function: Function, options: Options) -> None:
    """InputError if the schedule is of another nest, or was checked for sums in another order than they are to run."""
    if by_hand.nest != function:
        name = by_hand.nest.name
        raise InputError(f"the schedule is of another nest, '{name}'", hint="Schedule.replay edits another one")
    allowed = by_hand.history.options.reorder_reductions
    if allowed != options.reorder_reductions:
        message = f"the schedule was made with reorder_reductions={allowed}"
        raise InputError(message, hint="leave options out, which are then the schedule's")


def _claimed(by_hand: Schedule) -> dict[str, str]:
    claims = "; ".join(map(str, by_hand.draft.claims))
    return {"taken on trust": claims} if claims else {}


_EMIT: dict[Target, Callable[[Function, Options], Source]] = {
    "c": lambda kernel, options: emit_c(kernel),
    "cuda": lambda kernel, options: emit_cuda(kernel, contract=options.contract_floats),
    "opencl": lambda kernel, options: emit_opencl(kernel),
}


def _lower_within_budget(
    scop: Scop, deps: Dependences, scheduled: Tree, target: Target, options: Options, *, is_by_hand: bool
) -> tuple[Tree, Function, str]:
    """The mapped tree, its loops, and which rung gave them: where isl's code generation outgrows its budget, the next
    simpler tree is tried. BudgetExceeded where that would not be the schedule that was asked for."""
    mapping = _map_to_cpu if target == "c" else _map_to_gpu
    if _has_marks(scheduled):
        mapping = _as_it_is if target == "c" else _with_barriers
    rungs: dict[str, Callable[[], Tree]] = {
        "mapped": lambda: mapping(scheduled, scop, deps, options),
        "mapped without tiles": lambda: mapping(scheduled, scop, deps, replace(options, tile=False, wavefront=False)),
        "not mapped": lambda: scheduled,
        "source order": lambda: scop.tree,
    }
    reason = ""
    tried: list[Tree] = []
    if is_by_hand:
        del rungs["source order"]
    for rung, make in rungs.items():
        tree = step("legality of the mapping", require_legal, make(), deps, scop)
        if tree in tried or not _may_be_lowered(tree, rung, scop, deps, options):
            continue
        tried.append(tree)
        try:
            return tree, step("lower", _lower_bounded, tree, scop, options), rung + reason
        except BudgetExceeded as error:
            reason = f", since {error}"
    if is_by_hand:
        raise BudgetExceeded(f"no loops for the schedule by hand were found{reason}")
    if unmet(scop.tree, scop, deps, options.constraints) or _tile_sizes(options):
        raise BudgetExceeded(f"no loops that meet the constraints were found{reason}")
    return scop.tree, scop.function, "the nest as it was given" + reason


def _may_be_lowered(tree: Tree, rung: str, scop: Scop, deps: Dependences, options: Options) -> bool:
    """Does it meet the user's constraints, as the scheduled tree and what is mapped from it do?"""
    if rung != "mapped" and _tile_sizes(options):
        return False
    return rung != "source order" or not unmet(tree, scop, deps, options.constraints)


def _require_axes(tree: Tree, target: Target) -> None:
    axes = [node.mark.axis for node in walk(tree) if isinstance(node, Mark) and isinstance(node.mark, Map)]
    if target == "c" and axes:
        raise InputError(f"the schedule has a loop on {axes[0]}, and C has none", hint="the target is cuda or opencl")


def _met(constraints: tuple[Constraint, ...], target: Target) -> dict[str, str]:
    """What is said of the user's constraints; a GPU's grid has no order."""
    where = "met" if target == "c" else "met before loops went to the grid"
    return {"constraints": f"{where}: {', '.join(map(str, constraints))}"} if constraints else {}


def _require_tiles(scheduled: Tree, target: Target, options: Options) -> None:
    """InputError if there will be no tiles to have the sizes asked for."""
    for constraint in _tile_sizes(options):
        if target != "c":
            raise InputError(f"{constraint} is for CPUs: the tiles of a GPU are blocks of its grid")
        if not options.tile:
            raise InputError(f"{constraint}: there are no tiles with the option tile=False")
        if _has_marks(scheduled):
            raise InputError(f"{constraint}: a schedule with marks is followed as it is", hint="tile it by hand")


def _tile_sizes(options: Options) -> list[TileSizes]:
    return [c for c in options.constraints if isinstance(c, TileSizes)]


def _lower_bounded(tree: Tree, scop: Scop, options: Options) -> Function:
    try:
        return lower(tree, scop, operations=options.lower_operations)
    except CannotLower:
        raise
    except BudgetExceeded:
        return call_within(options.lower_seconds, lower, tree, scop)


def _map_to_cpu(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Tree:
    """Tiles, wavefronts where no loop is parallel, threads on the outermost loop, SIMD on the innermost."""
    step = partial(_step_that_meets, scop, deps, options)
    if options.vector:
        tree = step("strides", stride_one_innermost, tree, scop)
    if options.tile:
        if not _tile_sizes(options):
            tree = step("fuse tile loops", fuse_tile_loops, tree, deps)
        tree = step("tile", tile_all, tree, scop, deps, options)
    if options.wavefront:
        tree = step("wavefront", wavefront_all, tree, deps)
    if options.register_tiles and options.vector:
        tree = step("register tile", register_tile_all, tree, scop, deps, options.machine)
        tree = step("interleave", interleave_all, tree, deps)
    if options.vector:
        tree = step("vectorize", vectorize, tree, deps)
    if options.parallel:
        tree = step("parallel", mark_parallel, tree)
        tree = step("reduce on threads", reduce_on_threads, tree, deps)
    return step("reduce on lanes", reduce_on_lanes, tree, scop, deps) if options.vector else tree


def _step_that_meets(
    scop: Scop, deps: Dependences, options: Options, name: str, transform: Callable[..., Tree], tree: Tree, *args: Any
) -> Tree:
    """The tree after a step, or as it was if it would no longer meet the user's constraints."""
    after = step(name, transform, tree, *args)
    missed = unmet(after, scop, deps, options.constraints)
    if missed and transform is tile_all and _tile_sizes(options):
        sizes, others = (" and ".join(map(str, cs)) for cs in (_tile_sizes(options), missed))
        raise IllegalSchedule(f"{sizes} and {others} contradict each other")
    return tree if missed else after


def _as_it_is(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Tree:
    return tree


def _with_barriers(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Tree:
    tree = step("first threads", on_first_threads, tree)
    return step("barriers", place_barriers, tree, scop, deps)


def _has_marks(tree: Tree) -> bool:
    return any(isinstance(node, Mark) for node in walk(tree))


def _map_to_gpu(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Tree:
    return step("map to gpu", map_to_gpu, tree, scop, deps, options)
