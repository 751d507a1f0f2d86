"""Dependences that the user says are none, which the analysis could not tell.

    Claim("S0", "S1", "a")       what S0 and S1 touch of a is never the same element
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from polysched.deps.dependences import Dependence, Dependences


@dataclass(frozen=True)
class Claim:
    """No instance of `source` and of `sink` touch the same element of `array`, in either order; all are patterns."""

    source: str
    sink: str
    array: str

    def __str__(self) -> str:
        return f"{self.source} and {self.sink} are independent through {self.array}"

    def covers(self, d: Dependence) -> bool:
        """Is it a dependence that the claim denies?"""
        ends = ((d.source, d.sink), (d.sink, d.source))
        meets = any(fnmatchcase(one, self.source) and fnmatchcase(other, self.sink) for one, other in ends)
        return meets and fnmatchcase(d.array, self.array)


def without(dependences: Dependences, claims: Iterable[Claim]) -> Dependences:
    """The dependences that no claim denies."""
    claims = tuple(claims)
    left = tuple(d for d in dependences.pairs if not any(claim.covers(d) for claim in claims))
    trusted = dict.fromkeys((*dependences.trusted, *map(str, claims)))
    return replace(dependences, pairs=left, trusted=tuple(trusted))
