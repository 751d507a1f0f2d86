"""Loops by hand whose iterations run at the same time: on threads, or as SIMD lanes.

    band: i                   mark: parallel
      band: j          ->       band: i   coincident          parallel("i").vectorize("j")
                                  mark: vector
                                    band: j
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from polysched.config.plain import called
from polysched.errors import InputError
from polysched.model.tree.nodes import (
    WIDTHS,
    Band,
    LoopMark,
    Parallel,
    Serial,
    Tree,
    Unroll,
    Vector,
    children,
    mark_of,
    marked_as,
)
from polysched.transform.edits.base.edit import Alternative, Draft, checked
from polysched.transform.edits.base.loops import changed_at, loop, unmarked
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.run.lifts import lifts


@edit("run", "i -> i")
def parallel(draft: Draft, name: str) -> Draft:
    """The loop with its iterations on threads.

    They must not depend on each other, or IllegalSchedule says where they do. Where sums may be in any order they may
    update the same elements: each thread has a private copy of the arrays that the mark names, as the tree says in the
    end, or, where the code cannot have one, the loop runs serially.

        for i: S            ->    parallel for i: S                  parallel("i")
    """
    place = unmarked(draft.nested, name, may_be_full=True)
    return marked(draft, place.name, Parallel(), f"parallel({name})", lifts(draft, place, parallel))


@edit("run", "i, j -> i, j")
def collapse(draft: Draft, *loops: str) -> Draft:
    """Loops right inside of each other, outermost first, with the iterations of all of them on threads.

    They become one loop in the code if the inner ones have the same bounds everywhere; else the outermost alone is on
    threads, and `Compiled.declined` says so. IllegalSchedule if iterations depend on each other; InputError if
    something stands between the loops.

        for i in 0..2:            parallel for c in 0..2 * n:
            for j in 0..n: S  ->      i, j = c / n, c % n
                                      S                              collapse("i", "j")
    """
    if len(loops) < 2:
        raise InputError(f"collapse needs two loops or more, not {len(loops)}")
    for outer, inner in pairwise(loop(draft.nested, name) for name in loops):
        if inner.path != (*outer.path, 0):
            what = "right inside of" if outer.is_around(inner) else "inside of"
            raise InputError(f"loop '{inner.name}' is not {what} loop '{outer.name}'")
    for name in loops:
        draft = parallel(draft, name)
    return draft


@edit("run", "i -> i")
def serial(draft: Draft, name: str) -> Draft:
    """The loop with one iteration after the other, as loops run without a mark.

    It is always legal. A schedule with a mark runs as it says; one without is mapped by the default strategy, too. So
    this keeps a schedule as it is in which nothing is to run in parallel.

        for i: S            ->    for i: S                           serial("i")
    """
    return marked(draft, name, Serial(), f"serial({name})")


def marked(draft: Draft, name: str, mark: LoopMark, what: str, alternatives: Iterable[Alternative] = ()) -> Draft:
    """The loop with a mark, checked; it has no other that says how it runs."""
    tree = draft.nested
    place = unmarked(tree, name, may_be_full=True)
    edited = changed_at(tree, place.path, lambda _: marked_as(place.band, mark))
    return checked(draft, edited, what, alternatives)


@edit("run", "j -> j")
def vectorize(draft: Draft, name: str, width: int = 0) -> Draft:
    """The innermost loop as SIMD lanes, `width` of them, a power of two, or as many as the compiler likes.

    Loops inside of it must be unrolled. Lanes may update one element where sums may be in any order. The width is what
    the compiler is asked for (`simdlen` of OpenMP); on GPUs it says nothing. IllegalSchedule if lanes depend on each
    other otherwise; InputError if another loop is inside.

        for j: S            ->    simd for j: S                      vectorize("j")
    """
    if width not in WIDTHS:
        raise InputError(f"width={width} is no power of two from 2 to {WIDTHS[-1]}", hint="0 leaves it to the compiler")
    place = unmarked(draft.nested, name, may_be_full=True)
    inner = _loop_inside(place.band.child)
    if inner:
        hint = f"reorder it inside, as in {called('reorder', inner, place.name)}"
        raise InputError(f"loop '{place.name}' is not innermost: '{inner}' is inside of it", hint=hint)
    what = f"vectorize({name})" if not width else f"vectorize({name}, width={width})"
    return marked(draft, place.name, Vector(width=width), what, lifts(draft, place, vectorize))


def _loop_inside(tree: Tree) -> str:
    """The name of a loop that is not unrolled; "" if there is none."""
    if isinstance(tree, Band) and not mark_of(tree, Unroll):
        return tree.members[0].name
    return next((name for child in children(tree) if (name := _loop_inside(child))), "")
