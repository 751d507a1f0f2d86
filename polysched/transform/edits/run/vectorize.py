"""SIMD by hand: the iterations of an innermost loop run as lanes."""

from __future__ import annotations

from polysched.config.plain import called
from polysched.errors import InputError
from polysched.model.tree.nodes import Band, Tree, Unroll, Vector, children, mark_of
from polysched.transform.edits.base.edit import Draft
from polysched.transform.edits.base.loops import unmarked
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.run.lifts import lifts
from polysched.transform.edits.run.parallel import marked


@edit("run", "j -> j")
def vectorize(draft: Draft, name: str) -> Draft:
    """The innermost loop as SIMD lanes.

    Loops inside of it must be unrolled. Lanes may update one element where sums may be in any order. IllegalSchedule if
    they depend on each other otherwise; InputError if another loop is inside.

        for j: S            ->    simd for j: S                      vectorize("j")
    """
    place = unmarked(draft.nested, name, may_be_full=True)
    inner = _loop_inside(place.band.child)
    if inner:
        hint = f"reorder it inside, as in {called('reorder', inner, place.name)}"
        raise InputError(f"loop '{place.name}' is not innermost: '{inner}' is inside of it", hint=hint)
    return marked(draft, place.name, Vector(), f"vectorize({name})", lifts(draft, place, vectorize))


def _loop_inside(tree: Tree) -> str:
    """The name of a loop that is not unrolled; "" if there is none."""
    if isinstance(tree, Band) and not mark_of(tree, Unroll):
        return tree.members[0].name
    return next((name for child in children(tree) if (name := _loop_inside(child))), "")
