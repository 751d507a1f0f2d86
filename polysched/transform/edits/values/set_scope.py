"""Where an array that belongs to a loop lives: in a thread, in a block of threads, or in the memory of all.

An array in global memory belongs to no loop: all iterations have the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from polysched.deps.arrivals import scoped_arrays
from polysched.errors import InputError
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.edit import Alternative, Step, first_legal
from polysched.transform.edits.base.graft import without_arrays
from polysched.transform.edits.base.loops import loops
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.base.same_values import require_same_values
from polysched.transform.edits.values.privatize import privatize
from polysched.transform.edits.values.storage import SCOPES, Scope, own_array, with_array


@edit("values", "")
def set_scope(draft: Draft, array: str, scope: Scope) -> Draft:
    """A small array in "private" (or "local"), "shared" or "global" memory.

    InputError if no edit has made the array, or it belongs to no loop; IllegalSchedule if iterations overwrite each
    other's values in global memory.

        double A_c[32];     ->    __shared__ double A_c[32];         set_scope("A_c", "shared")
    """
    if scope not in SCOPES:
        raise InputError(f"there is no scope '{scope}'", hint=f"the scopes are: {', '.join(SCOPES)}")
    changed = replace(own_array(draft, array), space=SCOPES[scope])
    scop, tree = with_array(draft.scop, changed), draft.nested
    if SCOPES[scope] == "global":
        tree = without_arrays(tree, {array})
    elif array not in scoped_arrays(tree):
        raise InputError(f"'{array}' belongs to no loop", hint=first_legal(_at_a_loop(draft, array, scope)))
    return require_same_values(draft, scop, tree, scop.domain.identity(), f"set_scope({array}, {scope})")


def _at_a_loop(draft: Draft, array: str, scope: str) -> Iterator[Alternative]:
    """One for each iteration of a loop around all that uses the array, outermost first."""
    users = {s.name for s in draft.scop.statements if any(a.array == array for a in (*s.reads, *s.writes))}
    for place in loops(draft.nested):
        if users <= set(place.statements):
            own = {} if SCOPES[scope] == "private" else {"scope": scope}
            step = Step.of(privatize, array, at=place.name, **own)
            yield f"{step.text} makes one for each iteration", partial(step.edit, draft)
