"""What the user knows and the analysis does not: facts about sizes, and dependences that are none.

Both stand in the history; facts about sizes are checked at each call, the others cannot be.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.deps.dependences import Claim
from polysched.errors import InputError
from polysched.support import isl
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.order.split_set import sizes_where


@edit("claim", "")
def assume(draft: Draft, facts: str) -> Draft:
    """For sizes of which affine conditions hold, as in "n >= 32 and n % 32 == 0"; calls with others are refused.

    InputError for other conditions, and where they hold for no sizes.

        for i in 0..min(n, 64)    ->    for i in 0..n                assume("n <= 64")
    """
    scop = draft.scop
    known = sizes_where(facts, scop.function.sizes)
    if scop.valid_sizes.intersect(known).is_empty():
        raise InputError(f"'{facts}' holds for no sizes that '{scop.name}' can run with: {scop.valid_sizes}")
    hull = isl.Set.from_basic_set(scop.context.intersect(known).coalesce().polyhedral_hull())
    context = scop.context.intersect(known if known.n_basic_set() == 1 else hull)  # never wider: edits rely on it
    scop = replace(scop, context=context, valid_sizes=scop.valid_sizes.intersect(known))
    pairs = (replace(d, relation=d.relation.intersect_params(known)) for d in draft.dependences.pairs)
    left = replace(draft.dependences, pairs=tuple(d for d in pairs if not d.relation.is_empty()))
    return replace(draft, scop=scop, dependences=left)


@edit("claim", "")
def independent(draft: Draft, source: str = "*", sink: str = "*", array: str = "*") -> Draft:
    """Without the dependences between two statements through an array, patterns all; taken on trust.

    A wrong claim makes wrong code, of which `verify()` may find an instance. InputError if no such dependence is known.

        for i: a[x[i]] = b[i]     ->    parallel for i: ...          independent(array="a").parallel("i")
    """
    claim = Claim(source, sink, array)
    claims = (*draft.claims, *claim.of_each(each.name for each in draft.scop.arrays))
    left = draft.dependences.without((claim,))
    if len(left.pairs) == len(draft.dependences.pairs):
        found = ", ".join(sorted({f"{d.source} -> {d.sink} on {d.array}" for d in draft.dependences.pairs})) or "none"
        message = f"no dependence between '{source}' and '{sink}' on '{array}' is known"
        raise InputError(message, hint=f"the dependences are: {found}")
    trusted = tuple(dict.fromkeys((*left.trusted, claim)))
    return replace(draft, claims=claims, dependences=replace(left, trusted=trusted))
