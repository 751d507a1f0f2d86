"""Loads by hand ahead of time: what a later iteration reads is fetched into the cache (Mowry et al., ASPLOS 1992).

    band: i                   mark: prefetch:x:16
      S: reads x[at[i]]   ->    band: i                       prefetch("x", at="i", ahead=16)
"""

from __future__ import annotations

from polysched.errors import InputError
from polysched.model.tree.nodes import Prefetch, Product, Tensor, Unroll, Vector, mark_of, with_marks
from polysched.transform.edits.base.edit import Draft, checked
from polysched.transform.edits.base.loops import changed_at, loop
from polysched.transform.edits.base.registry import edit

_AT_ONCE = (Vector, Unroll, Product, Tensor)


@edit("run", "i -> i")
def prefetch(draft: Draft, array: str, at: str, ahead: int) -> Draft:
    """What an iteration of loop `at` reads of an array, fetched into the cache `ahead` iterations before; always legal.

    It pays where the processor cannot tell what comes next, as of x[at[i]], and costs instructions elsewhere. C does
    it, a line of the cache at a time; on GPUs, and where the loop stores what tells the place, `Compiled.declined` says
    that it is not done. InputError if nothing in the loop reads the array, or its iterations run at once.

        for i:                    for i:
            s += x[at[i]]   ->        fetch x[at[i + 16]]
                                      s += x[at[i]]                  prefetch("x", at="i", ahead=16)
    """
    place = loop(draft.nested, at)
    if ahead < 1:
        raise InputError(f"prefetch fetches 1 iteration ahead or more, not {ahead}")
    if kinds := [kind.__name__.lower() for kind in _AT_ONCE if mark_of(place.band, kind)]:
        hint = "prefetch at a loop around it"
        raise InputError(f"loop '{place.name}' is marked {kinds[0]}: its iterations run at once", hint=hint)
    readers = [draft.scop.statement(name) for name in place.statements]
    if not any(read.array == array for statement in readers for read in statement.reads):
        known = dict.fromkeys(read.array for statement in readers for read in statement.reads)
        raise InputError(f"nothing in loop '{place.name}' reads '{array}'", hint=f"it reads: {', '.join(known)}")
    marks = (Prefetch(array, ahead), *place.member.marks)
    edited = changed_at(draft.nested, place.path, lambda _: with_marks(place.band, marks))
    return checked(draft, edited, f"prefetch({array}, at={place.name}, ahead={ahead})")
