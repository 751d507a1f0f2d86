"""Dependences that the user says are none, which the analysis could not tell.

    Claim("S0", "S1", "a")       what S0 and S1 touch of a is never the same element
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase

from polysched.deps.dependences import Claim, Dependences


def without(dependences: Dependences, claims: Iterable[Claim]) -> Dependences:
    """The dependences that no claim denies."""
    claims = tuple(claims)
    left = tuple(d for d in dependences.pairs if not any(claim.covers(d.source, d.sink, d.array) for claim in claims))
    return replace(dependences, pairs=left)


def of_each(claim: Claim, arrays: Iterable[str]) -> tuple[Claim, ...]:
    """The claim for each of the arrays that it means: of those that edits make later, or lay out anew, it says nothing.
    """
    return tuple(replace(claim, array=array) for array in arrays if fnmatchcase(array, claim.array))
