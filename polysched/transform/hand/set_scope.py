"""Where an array that belongs to a loop lives: in a thread, in a block of threads, or in the memory of all.

    A_c: f64[32], private        ->        A_c: f64[32], shared           set_scope("A_c", "shared")

An array in global memory belongs to no loop: all iterations have the same.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.deps.arrivals import scoped_arrays
from polysched.errors import InputError
from polysched.transform.hand.draft import Draft
from polysched.transform.hand.same_values import require_same_values
from polysched.transform.hand.storage import SCOPES, own_array, with_array, without_storage


def set_scope(draft: Draft, array: str, scope: str) -> Draft:
    """The draft with the array in another scope: "private" (or "local"), "shared" or "global".

    IllegalSchedule if iterations overwrite each other's values in global memory.
    """
    if scope not in SCOPES:
        raise InputError(f"there is no scope '{scope}'", hint=f"the scopes are: {', '.join(SCOPES)}")
    changed = replace(own_array(draft, array), space=SCOPES[scope])
    scop, tree = with_array(draft.scop, changed), draft.nested
    if SCOPES[scope] == "global":
        tree = without_storage(tree, array)
    elif array not in scoped_arrays(tree):
        raise InputError(f"'{array}' belongs to no loop", hint="cache it at one, as in cache_read(array, at=loop)")
    return require_same_values(draft, scop, tree, scop.domain.identity(), f"set_scope({array}, {scope})")
