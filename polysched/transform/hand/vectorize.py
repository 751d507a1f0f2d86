"""SIMD by hand: the iterations of an innermost loop run as lanes.

    band: i                     band: i
      band: j            ->       mark: vector
                                    band: j   coincident          vectorize("j")

Lanes must not depend on each other; but where the order of reductions is free, they may update the same element.
"""

from __future__ import annotations

from polysched.errors import InputError
from polysched.model.tree import Band, Tree, Unroll, Vector, children, mark_of
from polysched.plain import called
from polysched.transform.hand.edit import Draft
from polysched.transform.hand.lifts import lifts
from polysched.transform.hand.loops import unmarked
from polysched.transform.hand.parallel import marked, reduced_by


def vectorize(draft: Draft, name: str) -> Draft:
    """The loop as SIMD lanes; other loops inside of it must be unrolled."""
    place = unmarked(draft.nested, name, may_be_full=True)
    inner = _loop_inside(place.band.child)
    if inner:
        hint = f"reorder it inside, as in {called('reorder', inner, place.name)}"
        raise InputError(f"loop '{place.name}' is not innermost: '{inner}' is inside of it", hint=hint)
    mark = Vector(reduced_by(draft, place))
    return marked(draft, place.name, mark, f"vectorize({name})", lifts(draft, place, vectorize))


def _loop_inside(tree: Tree) -> str:
    """The name of a loop that is not unrolled; "" if there is none."""
    if isinstance(tree, Band) and not mark_of(tree, Unroll):
        return tree.members[0].name
    return next((name for child in children(tree) if (name := _loop_inside(child))), "")
