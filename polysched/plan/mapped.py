"""From a schedule to loops for a target: tiles, threads, SIMD, or a grid; within a budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from polysched.codegen.gpu.barriers import place_barriers
from polysched.codegen.gpu.first_thread import on_first_threads
from polysched.codegen.gpu.tensor_plan import has_no_kernel
from polysched.codegen.lower import lower
from polysched.codegen.parallel.threads import known, worth_threads
from polysched.config.constraints import TileSizes
from polysched.config.heuristics.cpu import SIMD_OPERATIONS, STREAM_OPERATIONS
from polysched.config.options import Options
from polysched.config.target import LIMITS, TARGETS, TargetData
from polysched.deps.arrivals import scoped_arrays
from polysched.deps.coincidence import mark_coincident
from polysched.deps.dependences import Dependences
from polysched.deps.legality import require_legal
from polysched.errors import BudgetExceeded, IllegalSchedule, InputError
from polysched.ir.nodes import Function
from polysched.model.scop import Scop
from polysched.model.tree.nodes import (
    Band,
    Intrinsic,
    Map,
    Parallel,
    Product,
    Serial,
    Tensor,
    Tree,
    Vector,
    mark_of,
    marks_in,
    walk,
)
from polysched.plan.predicted import gains
from polysched.solve.constraints.honoured import unmet
from polysched.strategy.cpu import cpu
from polysched.strategy.decision import Decision, Order
from polysched.strategy.gpu import gpu
from polysched.strategy.script import Script
from polysched.strategy.stencils.time_tiles import is_on_grid
from polysched.strategy.windows import pipeline
from polysched.support import clock, isl
from polysched.support.trace import decline, optional, step, verifies_each
from polysched.transform.analysis.products import require_products
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.intrinsics import require_intrinsics
from polysched.transform.edits.base.loops import loops, nested
from polysched.transform.edits.base.reduces import with_reduces
from polysched.transform.edits.base.registry import Edit
from polysched.transform.trees.profitability import fits_in, gain, is_hidden, may_be_for_nothing


def require_target(scheduled: Tree, target: TargetData, options: Options) -> None:
    """InputError if the schedule is for another target, or there will be no tiles to have the sizes asked for."""
    _require_axes(scheduled, target)
    for constraint in _tile_sizes(options):
        if target.has_grid:
            raise InputError(f"{constraint} is for CPUs: the tiles of a GPU are blocks of its grid")
        if not options.tile:
            raise InputError(f"{constraint}: there are no tiles with the option tile=False")
        if marks_in(scheduled):
            raise InputError(f"{constraint}: a schedule with marks is followed as it is", hint="tile it by hand")


@dataclass(frozen=True)
class Mapped:
    """A tree with marks, and the edits that lead to it."""

    scop: Scop  # whose instances it runs: edits may compute values elsewhere
    dependences: Dependences
    tree: Tree
    start: Tree  # where the edits begin
    options: Options  # which the strategy was given
    edits: tuple[Edit, ...] = ()
    decisions: tuple[Decision, ...] = ()
    order: Order = "free"  # which the strategy was given
    unwritten: str = ""  # why they do not lead there


def loops_within_budget(
    scop: Scop,
    deps: Dependences,
    scheduled: Tree,
    target: TargetData,
    options: Options,
    *,
    is_by_hand: bool,
    is_free: bool,
    order: Order,
) -> tuple[Mapped, Function, str]:
    """The mapped tree, its loops, and which rung gave them: where isl's code generation outgrows its budget, the next
    simpler tree is tried. BudgetExceeded where that would not be the schedule that was asked for.

    `is_free`: nobody has asked for this schedule, so that source order may run where it is as good
    (transform/trees/profitability).
    `order`: what the strategy may make of it; it is kept where it is source order, for want of a better one.
    """
    to_gpu, to_cpu = partial(_map_to_gpu, shared=target.shared), partial(map_to_cpu, order=order)
    mapping: Callable[[Tree, Scop, Dependences, Options], Mapped] = to_gpu if target.has_grid else to_cpu
    if not target.has_tensor:
        options = replace(options, tensor="off")
    has_marks = bool(marks_in(scheduled))
    if has_marks:
        mapping = _with_barriers if target.has_grid else _as_it_is
        if target.has_grid:
            _require_grid(scheduled, target.language)
    if is_by_hand and not target.has_grid and _has_tiles(scheduled):  # which are all that it gets then
        options = replace(options, tile=False, register_tiles=False)
    names: dict[str, str] = {}  # of rungs, where they differ

    def mapped() -> Mapped:
        is_open = is_free and not target.has_grid
        if is_open and (stages := optional("pipeline", in_windows, None, scop, deps, options)):
            names["mapped"] = IN_WINDOWS if _computes_elsewhere(stages) else COMPUTED_AGAIN
            return stages
        found = mapping(scheduled, scop, deps, options)
        if is_open:
            found, names["mapped"] = optional("guard", _guarded, (found, "mapped"), scop, deps, options)
        return found

    rungs: dict[str, Callable[[], Mapped]] = {
        "mapped": mapped,
        "mapped without tensor instructions": lambda: mapping(scheduled, scop, deps, replace(options, tensor="off")),
        "mapped without tiles": lambda: mapping(scheduled, scop, deps, replace(options, tile=False, wavefront=False)),
        "not mapped": lambda: _not_mapped(scheduled, scop, deps, options),
        "source order": lambda: _not_mapped(scop.tree, scop, deps, options),
    }
    if has_marks:  # as it is, it may need barriers, and there is nothing to leave out of it
        del rungs["mapped without tiles"], rungs["not mapped"]
    if has_marks or options.tensor == "off":
        del rungs["mapped without tensor instructions"]
    if is_by_hand:
        del rungs["source order"]
    reason = ""
    tried: list[Tree] = []
    for k, (rung, make) in enumerate(rungs.items()):
        try:
            with isl.within(min(_MAPPING_SECONDS, clock.left() / min(3, len(rungs) - k))):  # the next ones need some
                found = make()
                tree = _legal(found)
            if tree in tried or not _may_be_lowered(found, rung, options):
                continue
            tried.append(tree)
            with isl.within(options.lower_seconds, options.lower_operations):
                loops = step("lower", lower, tree, found.scop)
            if not (loop := has_no_kernel(loops)):
                return found, loops, names.get(rung, rung) + reason
            if has_marks:
                hint = (
                    "tile rows, columns and terms, leave their tiles as they are, "
                    f"and let the copies of all stages have at most {LIMITS.dynamic} bytes"
                )
                raise InputError(f"tensor instructions cannot run loop '{loop}' as it is tiled", hint=hint)
            reason = f", since tensor instructions cannot run loop {loop}"
        except BudgetExceeded as error:
            reason = f", since {error}"
        except _Illegal as error:
            reason = f", since edits of the strategy's are illegal: {error}"
    if is_by_hand:
        hint = "hint: edit in another order, or allow more, as in Options(lower_seconds=60)"
        raise BudgetExceeded(f"no loops for the schedule by hand were found{reason}\n{hint}")
    if unmet(scop.tree, scop, deps, options.constraints) or _tile_sizes(options):
        raise BudgetExceeded(f"no loops that meet the constraints were found{reason}")
    return _not_mapped(scop.tree, scop, deps, options), scop.function, "the nest as it was given" + reason


class _Illegal(Exception):
    """What a strategy wrote breaks a dependence."""


def _legal(found: Mapped) -> Tree:
    try:
        return step("legality of the mapping", require_legal, found.tree, found.dependences, found.scop)
    except IllegalSchedule as error:
        if not found.edits or verifies_each():
            raise
        raise _Illegal(str(error).partition("\n")[0]) from error


_WITH_TENSOR = [name for name, target in TARGETS.items() if target.has_tensor]
_GRIDS = [name for name, target in TARGETS.items() if target.has_grid]
_GIVEN = "the tree was given"
IN_WINDOWS = "in windows of source order, since what its stages keep is more than a cache holds"
COMPUTED_AGAIN = "source order, where what is hardly used more often than once is computed at each use"
IN_SOURCE_ORDER = "in source order, since the schedule found changes loops for nothing"
AS_FAST_IN_ORDER = "in source order, which is predicted to be no slower than the schedule found"
FOR_THREADS = "mapped, which gains on threads alone"
_MAPPING_SECONDS = 10.0  # to map a schedule, and to check what came of it


def _may_be_lowered(found: Mapped, rung: str, options: Options) -> bool:
    """Does it meet the user's constraints, as the scheduled tree and what is mapped from it do?"""
    if rung != "mapped" and _tile_sizes(options):
        return False
    return rung != "source order" or not unmet(found.tree, found.scop, found.dependences, options.constraints)


def _require_axes(tree: Tree, target: TargetData) -> None:
    products = [mark for mark in marks_in(tree) if isinstance(mark, Product)]
    if products and target.has_grid:
        what = f"the schedule has {products[0].statement} as a product of matrices"
        raise InputError(f"{what}, which {target.language} has not", hint="the target is c")
    tensor = [mark for mark in marks_in(tree) if isinstance(mark, Tensor)]
    if tensor and not target.has_tensor:
        what = f"the schedule has loops for {tensor[0].instruction}, which {target.language} has not"
        raise InputError(what, hint=f"targets that have it are {', '.join(_WITH_TENSOR)}")
    own = [mark for mark in marks_in(tree) if isinstance(mark, Intrinsic)]
    if own and target.has_grid:
        what = f"the schedule has loops for {own[0].instruction}, an instruction of yours for CPUs"
        raise InputError(what, hint="the target is c")
    axes = [mark.axis for mark in marks_in(tree) if isinstance(mark, Map)]
    if axes and not target.has_grid:
        raise InputError(
            f"the schedule has a loop on {axes[0]}, and {target.language} has none",
            hint=f"targets with axes are {', '.join(_GRIDS)}"
        )


def _require_grid(tree: Tree, language: str) -> None:
    """InputError if no loop is on an axis. Those on threads and lanes of a CPU are not on those of a GPU, which is
    said."""
    marks = [mark for mark in marks_in(tree) if not isinstance(mark, Serial)]  # where nothing runs in parallel
    if marks and not any(isinstance(mark, Map) for mark in marks):
        what = f"the schedule has no loop on an axis of a grid, and {language} would run it on one thread"
        raise InputError(what, hint='bind a loop, as in bind("i", "block.x"), or edit what map() gives')
    for place in loops(nested(tree)):
        for kind, mark in (("parallel", Parallel), ("vector", Vector)):
            if mark_of(place.band, mark):
                decline(kind, place.name, f"{language} runs loops on axes of a grid; bind it to one")


def _tile_sizes(options: Options) -> list[TileSizes]:
    return [c for c in options.constraints if isinstance(c, TileSizes)]


def map_to_cpu(tree: Tree, scop: Scop, deps: Dependences, options: Options, order: Order = "free") -> Mapped:
    """Tiles, wavefronts where no loop is parallel, threads on the outermost loop, SIMD on the innermost."""
    script = _begun(tree, scop, deps, options)
    cpu(script, order)
    return _written(script, tree, with_reduces(script.tree, script.dependences), order)


def _map_to_gpu(tree: Tree, scop: Scop, deps: Dependences, options: Options, *, shared: int) -> Mapped:
    """Sums with what they start from and what is made of them, on blocks and threads."""
    script = _begun(tree, scop, deps, options)
    gpu(script, shared)
    nested = script.draft.nested  # flags of loops that stay on the host are all that the normal form would add
    is_whole = bool(scoped_arrays(nested)) and is_on_grid(nested)
    mapped = with_reduces(nested if is_whole else script.tree, script.dependences)
    return _written(script, tree, _barriers(mapped, script.scop, script.dependences))


def in_windows(without: Mapped | None, scop: Scop, deps: Dependences, options: Options) -> Mapped | None:
    """Source order in windows, if it is a pipeline that gains by them, else `without`."""
    if not (options.tile and options.vector) or options.fusion == "none":
        return without
    source = mark_coincident(scop.tree, deps)
    if pipeline(_begun(source, scop, deps, options)) is None:
        return without
    mapped = map_to_cpu(source, scop, deps, options, "windows")
    is_other = _computes_elsewhere(mapped) or any(edit.name == "inline" for edit in mapped.edits)
    return mapped if is_other else without


def _computes_elsewhere(mapped: Mapped) -> bool:
    return any(edit.name == "compute_at" for edit in mapped.edits)


def _guarded(mapped: tuple[Mapped, str], scop: Scop, deps: Dependences, options: Options) -> tuple[Mapped, str]:
    """The mapped tree, or source order mapped, if that is as good; and what is said of it. With statements that edits
    have made there is nothing to compare."""
    found = mapped[0].tree
    if {each.name for each in mapped[0].scop.statements} != {each.name for each in scop.statements}:
        return mapped
    guesses = bool(deps.guesses)
    if not may_be_for_nothing(found, scop, fits_cache=fits_in(scop.arrays, options.machine.l2), guesses=guesses):
        return mapped
    source = mark_coincident(scop.tree, deps)
    if not _is_worth_threads(scop, STREAM_OPERATIONS) and is_hidden(found, scop, deps):
        return _not_mapped(source, scop, deps, options), IN_SOURCE_ORDER
    in_order = map_to_cpu(source, scop, deps, options, "kept")
    gained = gain(found, in_order.tree, scop, guesses=guesses)
    if gained == "never" or (gained == "on threads" and not _is_worth_threads(scop, SIMD_OPERATIONS)):
        return in_order, IN_SOURCE_ORDER
    if gained == "on threads":
        return mapped[0], FOR_THREADS
    if found != in_order.tree and not gains((found, mapped[0].scop), (in_order.tree, in_order.scop), options):
        return in_order, AS_FAST_IN_ORDER
    return mapped


def _is_worth_threads(scop: Scop, operations: int) -> bool:
    """May the nest make as many operations?"""
    return known(worth_threads(scop.statements, scop.context, (), operations)) is not False


def _begun(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Script:
    return Script(Draft(scop=scop, dependences=deps, nested=nested(tree), waits=True), options)


def _written(script: Script, start: Tree, tree: Tree, order: Order = "free") -> Mapped:
    edits, decisions = tuple(script.edits), tuple(script.decisions)
    return Mapped(script.scop, script.dependences, tree, start, script.options, edits, decisions, order)


def _not_mapped(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Mapped:
    return Mapped(scop, deps, tree, tree, options, unwritten="loops are left as they are")


def _as_it_is(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Mapped:
    require_products(tree, scop, reorder=options.reorder_reductions)
    require_intrinsics(nested(tree), scop)
    return Mapped(scop, deps, tree, tree, options, unwritten=_GIVEN)


def _with_barriers(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Mapped:
    return Mapped(scop, deps, _barriers(tree, scop, deps), tree, options, unwritten=_GIVEN)


def _barriers(tree: Tree, scop: Scop, deps: Dependences) -> Tree:
    return step("barriers", place_barriers, step("first threads", on_first_threads, tree), scop, deps)


def _has_tiles(tree: Tree) -> bool:
    return any(member.rounds for node in walk(tree) if isinstance(node, Band) for member in node.members)
