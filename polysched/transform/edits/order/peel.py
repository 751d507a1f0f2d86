"""Peeling: the first or last iterations of a loop run apart from it.

The order of instances stays as it is, so it is always legal; but what is left may then be fused with another loop, or
have bounds without min and max.
"""

from __future__ import annotations

from polysched.errors import InputError
from polysched.support import isl
from polysched.transform.edits.base.edit import Draft, checked
from polysched.transform.edits.base.loops import Loop, arrival, loop
from polysched.transform.edits.base.parts import in_parts
from polysched.transform.edits.base.registry import edit

_MOST = 64  # iterations, each of which is a piece of the sets


@edit("order", "i -> i_2; i; i_3")
def peel(draft: Draft, name: str, first: int = 0, last: int = 0) -> Draft:
    """The `first` and `last` iterations of the loop apart, before and after it; always legal.

    They are those of each time that the loop runs. What is left keeps the names of loops. InputError for more than 64,
    or if nothing would be left.

        for i in 0..n: S    ->    for i_2 in 0..1: S
                                  for i in 1..n: S                   peel("i", first=1)
    """
    tree = draft.nested
    place = loop(tree, name)
    if min(first, last) < 0 or not 0 < first + last <= _MOST:
        message = f"peel needs from 1 to {_MOST} iterations, first or last, not first={first}, last={last}"
        raise InputError(message)
    instances = place.instances.intersect_params(draft.scop.context)
    early, rest = _ends(instances, place, first, late=False)
    late, rest = _ends(rest, place, last, late=True)
    if rest.is_empty():
        raise InputError(f"loop '{name}' never has more than {first + last} iterations: nothing would be left of it")
    parts = [part for part in (early, rest, late) if not part.is_empty()]
    what = f"peel({name}, first={first}, last={last})"
    return checked(draft, in_parts(tree, place.path, parts, keeps=0 if early.is_empty() else 1), what)


def _ends(instances: isl.UnionSet, place: Loop, count: int, *, late: bool) -> tuple[isl.UnionSet, isl.UnionSet]:
    """The instances in the first or last `count` iterations, and the others."""
    value = place.member.schedule.intersect_domain(instances)
    at = arrival(place).range_product(value)  # { S[i, j] -> [[values of the loops around] -> [value]] }
    left = at.range().unwrap()
    for _ in range(count):
        left = left.subtract(left.lexmax() if late else left.lexmin())
    rest = at.intersect_range(left.wrap()).domain()
    return instances.subtract(rest).coalesce(), rest.coalesce()
