"""Loops on the axes of a GPU by hand: their iterations run on blocks, or on the threads of a block.

    band: i_o                 mark: map:block.x
      band: i          ->       band: i_o                bind("i_o", "blockIdx.x"), bind("i", "threadIdx.x")
                                  mark: map:thread.x
                                    band: i

The outermost loop on an axis is a kernel. Blocks do not wait for each other. The threads of a block do, at barriers,
for what sequences and serial loops order that are in the kernel and around all its thread loops (`deps/phases.py`).
What is in no thread loop runs on the first thread of a block; what is in no block loop, on the first block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Literal

from polysched.config.heuristics.gpu import COLUMN
from polysched.config.target import LIMITS
from polysched.errors import InputError
from polysched.model.tree.nodes import Band, Map, Member, Tree, mark_of, marked_as
from polysched.support import isl
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.edit import Alternative, Step, checked
from polysched.transform.edits.base.loops import Loop, changed_at, fresh, loop, matching, most_iterations, unmarked
from polysched.transform.edits.base.loops import loops as loops_of
from polysched.transform.edits.base.reduces import with_reduces
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.run.lifts import FREE, reductions_freed

Axis = Literal[
    "blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z",
    "block.x", "block.y", "block.z", "thread.x", "thread.y", "thread.z", "block.w",
]  # fmt: skip
_FOURTH = "block.w"
AXES = (*(f"{side}.{axis}" for side in ("block", "thread") for axis in "xyz"), _FOURTH)


@edit("run", "i -> i")
def bind(draft: Draft, loops: str | Sequence[str], axis: Axis, threads: int | None = None) -> Draft:
    """A loop, or several, also by patterns, on an axis of the GPU's grid.

    The axis is "blockIdx.x", "threadIdx.y", ..., or "block.x", "thread.y"; a loop on "block.w", right around one on
    "block.z", shares its axis. With `threads`, a loop may have any number of iterations: number i is on thread
    i mod `threads`, the iterations of a new loop, called i_t, around what the thread runs of the old one. Where sums
    may be in any order, iterations of a kernel's outermost loop, or, with loops on axes alone around, of one on
    threadIdx.x, or on blocks inside of threads, may update the same elements: the code adds them up, with as many
    threads as it takes, or with `threads`, rounded up to a power of two of whole warps. IllegalSchedule if iterations
    depend on each other otherwise. InputError where CUDA has no such grid: a loop on threads has a constant length, a
    block 1024 threads at most; blocks are around threads, no axis is around itself.

        for i in 0..n: S    ->    i_t = threadIdx.x
                                  for i in i_t..n by 64: S           bind("i", "threadIdx.x", threads=64)
    """
    kind = axis.replace("Idx", "")
    if kind not in AXES:
        raise InputError(f"there is no axis '{axis}'", hint=f"the axes are: {', '.join(AXES)}")
    if threads is not None and (threads < 1 or kind.startswith("block")):
        raise InputError(f"a loop cannot be on {threads} threads of {axis}", hint="they are for loops on threads")
    if threads is not None and threads > LIMITS.threads[kind[-1]]:
        raise InputError(f"a block has at most {LIMITS.threads[kind[-1]]} threads along {axis}, not {threads}")
    tree = draft.nested
    patterns = (loops,) if isinstance(loops, str) else tuple(loops)
    names = tuple(dict.fromkeys(name for pattern in patterns for name in matching(tree, pattern)))
    is_free = draft.dependences.reorder_reductions
    for name in names:
        tree, bound = _bound(tree, name, kind, threads)
        _require_grid(with_reduces(tree, draft.dependences) if is_free else tree, bound)
    what = f"bind({', '.join(names)}, {axis}{'' if threads is None else f', threads={threads}'})"
    return checked(draft, tree, what, _sums(draft, names, axis, threads))


def _sums(draft: Draft, names: Sequence[str], axis: Axis, threads: int | None) -> Iterator[Alternative]:
    """If the order of sums were free, and on the threads that make them."""
    if not draft.dependences.reorder_reductions:
        yield FREE, lambda: bind(reductions_freed(draft), names, axis, threads)
    on_threads = Step.of(bind, names[0] if len(names) == 1 else names, "threadIdx.x", threads=threads or LIMITS.warp)
    yield on_threads.text, lambda: on_threads.edit(draft)


def _bound(tree: Tree, name: str, kind: str, threads: int | None) -> tuple[Tree, str]:
    """The tree, and the name of the loop on the axis."""
    place = unmarked(tree, name, may_be_full=threads is None)
    if threads is not None:
        turns = place.member.schedule.apply_range(isl.UnionMap(f"{{ [x] -> [x mod {threads}] }}"))
        around = Band((Member(turns, name=fresh(tree, f"{name}_t")),), False, place.band)
        tree = changed_at(tree, place.path, lambda node: around)
        place = loop(tree, around.members[0].name)
    return changed_at(tree, place.path, lambda _: marked_as(place.band, Map(kind))), place.name


def _require_grid(tree: Tree, name: str) -> None:
    """InputError unless the loop `name`, and what it is nested with, can be on the axes that they are marked with."""
    kernel = _kernel(tree, name)
    inside = [each for each in loops_of(tree) if kernel.is_around(each)]
    axes = {each.name: mark.axis for each in inside if (mark := mark_of(each.band, Map))}
    sums = {each.name for each in inside if (mark := mark_of(each.band, Map)) and mark.reduces}
    on_axes = [each for each in inside if each.name in axes]
    for inner in on_axes:
        for outer in (band.members[0].name for band in inner.around if band.members[0].name in axes):
            if name not in (outer, inner.name):
                continue
            if axes[outer] == axes[inner.name]:
                raise InputError(
                    f"loop '{inner.name}' is inside of loop '{outer}', and both would be on {axes[outer]}",
                    hint=f"the axes are: {', '.join(AXES)}",
                )
            is_upside_down = axes[outer].startswith("thread") and axes[inner.name].startswith("block")
            if is_upside_down and inner.name not in sums:
                raise InputError(
                    f"loop '{inner.name}', on {axes[inner.name]}, would be inside of loop '{outer}', on {axes[outer]}",
                    hint="blocks are made of threads: reorder them",
                )
        below = mark_of(inner.band.child, Map)
        if axes[inner.name] == _FOURTH and (below is None or below.axis not in ("block.z", _FOURTH)):
            raise InputError(
                f"loop '{inner.name}' would be on {_FOURTH}, and no loop right inside of it is on block.z",
                hint="bind that one to block.z first: it shares its axis",
            )
    on_threads = [each for each in on_axes if each.name not in sums and axes[each.name].startswith("thread")]
    _require_threads(on_threads, [each for each in on_axes if each.name in sums], axes)


def _require_threads(on_threads: list[Loop], sums: list[Loop], axes: dict[str, str]) -> None:
    """InputError unless a block may have these threads, and those that add up with each of them."""
    lengths: dict[str, int] = {}
    for each in on_threads:
        axis, length = axes[each.name], most_iterations(each)
        if length is None:
            raise InputError(
                f"loop '{each.name}' has no constant number of iterations, as loops on threads need",
                hint="split it and bind the inner loop, or give a number of threads",
            )
        if length > LIMITS.threads[axis[-1]]:
            most = f"a block has at most {LIMITS.threads[axis[-1]]} threads along {axis}"
            raise InputError(f"loop '{each.name}' has {length} iterations, and {most}", hint="split it")
        lengths[axis] = max(length, lengths.get(axis, 1))
    for each in sums:
        axis, team = ("thread.x", _team(each)) if axes[each.name] == "thread.x" else ("thread.y", COLUMN)
        lengths |= {axis: team} if lengths or team > LIMITS.warp else {}
    if prod(lengths.values()) > LIMITS.block:
        shape = " x ".join(str(lengths[axis]) for axis in sorted(lengths))
        raise InputError(f"a block would have {shape} threads, and it has at most {LIMITS.block}")


def _team(place: Loop) -> int:
    """The threads that add up at least: those that the loop deals to."""
    most = most_iterations(place) if place.member.rounds else None
    return LIMITS.team(most) if most else LIMITS.warp


def _kernel(tree: Tree, name: str) -> Loop:
    """The outermost loop on an axis among that of the name and those around it."""
    place = loop(tree, name)
    outermost = next(band for band in place.bands if mark_of(band, Map))
    return loop(tree, outermost.members[0].name)
