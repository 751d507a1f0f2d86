"""From a schedule to loops for a target: tiles, threads, SIMD, or a grid; within a budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from polysched import isl
from polysched.codegen.gpu.barriers import place_barriers
from polysched.codegen.gpu.first_thread import on_first_threads
from polysched.codegen.gpu.mapping import map_to_gpu
from polysched.codegen.lower import lower
from polysched.codegen.threads import known, worth_threads
from polysched.constraints import Innermost, TileSizes, fits
from polysched.deps.coincidence import mark_coincident
from polysched.deps.dependences import Dependences
from polysched.deps.legality import require_legal
from polysched.errors import BudgetExceeded, IllegalSchedule, InputError
from polysched.heuristics.cpu import SIMD_OPERATIONS, STREAM_OPERATIONS
from polysched.ir.nodes import Function
from polysched.model.scop import Scop
from polysched.model.tree import Band, Map, Product, Tree, marks_in, walk
from polysched.options import Options
from polysched.solve.honoured import unmet
from polysched.target import TARGETS, TargetData
from polysched.trace import optional, step, verifies_each
from polysched.transform.fuse_rows import fuse_rows
from polysched.transform.fuse_sums import fuse_sums
from polysched.transform.fuse_tiles import fuse_tile_loops
from polysched.transform.guard import fits_in, gain, is_hidden, may_be_for_nothing
from polysched.transform.interleave import interleave_all
from polysched.transform.join_lanes import join_lanes
from polysched.transform.parallel import mark_parallel
from polysched.transform.products import mark_products, order_products, require_products
from polysched.transform.reductions import reduce_on_lanes, reduce_on_threads
from polysched.transform.register_tile import register_tile_all
from polysched.transform.split import split_all
from polysched.transform.strides import stride_one_innermost
from polysched.transform.tile import tile_all
from polysched.transform.vectorize import vectorize
from polysched.transform.wavefront import wavefront_all


def require_target(scheduled: Tree, target: TargetData, options: Options) -> None:
    """InputError if the schedule is for another target, or there will be no tiles to have the sizes asked for."""
    _require_axes(scheduled, target)
    _require_tiles(scheduled, target, options)


def loops_within_budget(
    scop: Scop,
    deps: Dependences,
    scheduled: Tree,
    target: TargetData,
    options: Options,
    *,
    is_by_hand: bool,
    is_free: bool = False,
) -> tuple[Tree, Function, str]:
    """The mapped tree, its loops, and which rung gave them: where isl's code generation outgrows its budget, the next
    simpler tree is tried. BudgetExceeded where that would not be the schedule that was asked for.

    `is_free`: nobody has asked for this schedule, so that source order may run where it is as good (transform/guard).
    """
    mapping = _map_to_gpu if target.has_grid else _map_to_cpu
    if _has_marks(scheduled):
        mapping = _with_barriers if target.has_grid else _as_it_is
    if is_by_hand:
        options = options_by_hand(scheduled, options)
    names: dict[str, str] = {}  # of rungs, where they differ

    def mapped() -> Tree:
        tree = mapping(scheduled, scop, deps, options)
        if is_free and not target.has_grid:
            tree, names["mapped"] = optional("guard", _guarded, (tree, "mapped"), scop, deps, options)
        return tree

    rungs: dict[str, Callable[[], Tree]] = {
        "mapped": mapped,
        "mapped without tiles": lambda: mapping(scheduled, scop, deps, replace(options, tile=False, wavefront=False)),
        "not mapped": lambda: scheduled,
        "source order": lambda: scop.tree,
    }
    if _has_marks(scheduled):  # as it is, it may need barriers, and there is nothing to leave out of it
        del rungs["mapped without tiles"], rungs["not mapped"]
    if is_by_hand:
        del rungs["source order"]
    reason = ""
    tried: list[Tree] = []
    for rung, make in rungs.items():
        try:
            with isl.within(_MAPPING_SECONDS):
                tree = step("legality of the mapping", require_legal, make(), deps, scop)
            if tree in tried or not _may_be_lowered(tree, rung, scop, deps, options):
                continue
            tried.append(tree)
            with isl.within(options.lower_seconds, options.lower_operations):
                return tree, step("lower", lower, tree, scop), names.get(rung, rung) + reason
        except BudgetExceeded as error:
            reason = f", since {error}"
    if is_by_hand:
        hint = "hint: edit in another order, or allow more, as in Options(lower_seconds=60)"
        raise BudgetExceeded(f"no loops for the schedule by hand were found{reason}\n{hint}")
    if unmet(scop.tree, scop, deps, options.constraints) or _tile_sizes(options):
        raise BudgetExceeded(f"no loops that meet the constraints were found{reason}")
    return scop.tree, scop.function, "the nest as it was given" + reason


_GRIDS = [name for name, target in TARGETS.items() if target.has_grid]
IN_SOURCE_ORDER = "in source order, since the schedule found changes loops for nothing"
FOR_THREADS = "mapped, which gains on threads alone"
_MAPPING_SECONDS = 10.0  # to map a schedule, and to check what came of it


def _may_be_lowered(tree: Tree, rung: str, scop: Scop, deps: Dependences, options: Options) -> bool:
    """Does it meet the user's constraints, as the scheduled tree and what is mapped from it do?"""
    if rung != "mapped" and _tile_sizes(options):
        return False
    return rung != "source order" or not unmet(tree, scop, deps, options.constraints)


def _require_axes(tree: Tree, target: TargetData) -> None:
    products = [mark for mark in marks_in(tree) if isinstance(mark, Product)]
    if products and target.has_grid:
        what = f"the schedule has {products[0].statement} as a product of matrices"
        raise InputError(f"{what}, which {target.language} has not", hint="the target is c")
    axes = [mark.axis for mark in marks_in(tree) if isinstance(mark, Map)]
    if axes and not target.has_grid:
        raise InputError(
            f"the schedule has a loop on {axes[0]}, and {target.language} has none",
            hint=f"targets with axes are {', '.join(_GRIDS)}"
        )


def _require_tiles(scheduled: Tree, target: TargetData, options: Options) -> None:
    """InputError if there will be no tiles to have the sizes asked for."""
    for constraint in _tile_sizes(options):
        if target.has_grid:
            raise InputError(f"{constraint} is for CPUs: the tiles of a GPU are blocks of its grid")
        if not options.tile:
            raise InputError(f"{constraint}: there are no tiles with the option tile=False")
        if _has_marks(scheduled):
            raise InputError(f"{constraint}: a schedule with marks is followed as it is", hint="tile it by hand")


def _tile_sizes(options: Options) -> list[TileSizes]:
    return [c for c in options.constraints if isinstance(c, TileSizes)]


def _map_to_cpu(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Tree:
    """Tiles, wavefronts where no loop is parallel, threads on the outermost loop, SIMD on the innermost."""
    step = partial(_step_that_meets, scop, deps, options)
    if options.vector and options.fusion != "none":
        tree = step("fuse rows", fuse_rows, tree, scop, deps)
    if options.tile and options.register_tiles and options.vector and not (options.tile_sizes or _tile_sizes(options)):
        tree = step("products", partial(mark_products, reorder=options.reorder_reductions), tree, scop, deps)
    if options.parallel or options.vector:
        tree = step("split", split_all, tree, scop, deps)
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
    asked = _asked_for_lanes(scop, options)
    if options.vector:
        tree = step("reduce on lanes", reduce_on_lanes, tree, scop, deps, asked)
        tree = step("join lanes", join_lanes, tree, scop, deps)
    return step("order products", order_products, tree, scop)


def _guarded(mapped: tuple[Tree, str], scop: Scop, deps: Dependences, options: Options) -> tuple[Tree, str]:
    """The mapped tree, or source order mapped, if that is as good; and what is said of it."""
    found, _ = mapped
    guesses = bool(deps.guesses)
    if not may_be_for_nothing(found, scop, fits_cache=fits_in(scop, options.machine.l2), guesses=guesses):
        return mapped
    if not _is_worth_threads(scop, STREAM_OPERATIONS) and is_hidden(found, scop, deps):
        return mark_coincident(scop.tree, deps), IN_SOURCE_ORDER
    source = _map_to_cpu(mark_coincident(scop.tree, deps), scop, deps, options)
    gained = gain(found, source, scop, guesses=guesses)
    if gained == "never" or (gained == "on threads" and not _is_worth_threads(scop, SIMD_OPERATIONS)):
        return source, IN_SOURCE_ORDER
    return found, "mapped" if gained == "always" else FOR_THREADS


def _is_worth_threads(scop: Scop, operations: int) -> bool:
    """May the nest make as many operations?"""
    return known(worth_threads(scop.statements, scop.context, (), operations)) is not False


def _asked_for_lanes(scop: Scop, options: Options) -> tuple[str, ...]:
    """The statements of which the last loop is the user's."""
    patterns = [c.statement for c in options.constraints if isinstance(c, Innermost)]
    return tuple(s.name for s in scop.statements if fits(s.name, patterns))


def _step_that_meets(
    scop: Scop, deps: Dependences, options: Options, name: str, transform: Callable[..., Tree], tree: Tree, *args: Any
) -> Tree:
    """The tree after a step, or as it was if it would no longer meet the user's constraints, with the loops of products
    in their order."""
    after = step(name, transform, tree, *args)
    if verifies_each() and after is not tree:
        require_legal(order_products(after, scop), deps, scop)
    if not options.constraints:
        return after
    missed = unmet(order_products(after, scop), scop, deps, options.constraints)
    if missed and transform is tile_all and _tile_sizes(options):
        sizes, others = (" and ".join(map(str, cs)) for cs in (_tile_sizes(options), missed))
        raise IllegalSchedule(f"{sizes} and {others} contradict each other")
    return tree if missed else after


def _as_it_is(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Tree:
    require_products(tree, scop, reorder=options.reorder_reductions)
    return tree


def _with_barriers(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Tree:
    tree = step("first threads", on_first_threads, tree)
    return step("barriers", place_barriers, tree, scop, deps)


def _has_marks(tree: Tree) -> bool:
    return bool(marks_in(tree))


def options_by_hand(tree: Tree, options: Options) -> Options:
    """The options for a schedule by hand, whose tiles are all that it gets if it has some."""
    return replace(options, tile=False, register_tiles=False) if _has_tiles(tree) else options


def _has_tiles(tree: Tree) -> bool:
    return any(member.rounds for node in walk(tree) if isinstance(node, Band) for member in node.members)


def _map_to_gpu(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Tree:
    """Sums with what they start from and what is made of them, on blocks and threads."""
    if options.fusion != "none":
        tree = _step_that_meets(scop, deps, options, "fuse sums", fuse_sums, tree, scop, deps)
    return step("map to gpu", map_to_gpu, tree, scop, deps, options)
