"""What must stay in order: one `Dependence` per pair of accesses, and the unions that schedulers ask for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Literal

from polysched.support import isl
from polysched.support.brief import Brief, brief

Kind = Literal["flow", "anti", "output"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Dependence(Brief):
    """Instances that touch the same element, at least one writing.

    Kept per pair of accesses: coalescing them before Farkas' lemma costs a thousandfold (docs/theory.md).
    """

    kind: Kind
    source: str  # statement names
    sink: str
    array: str
    relation: isl.Map  # { source[i, j] -> sink[i', j'] }, not empty; the source runs first in source order
    reduction: bool = False  # only orders the updates of one reduction: may go if reductions may be reordered
    commutes: bool = False  # only orders updates of integers that give the same bits in any order: may always go
    is_exact: bool = True  # False: pairs that another access comes between are among them
    is_guess: bool = False  # for some of these, whether one comes between was not decided
    must: bool = True  # False: whether both ends touch one element is known when they run, as of a[x[i]]

    def __str__(self) -> str:
        note = ", any order" if self.commutes else ", reduction" if self.reduction else ""
        return f"{self.kind} on {self.array}{note}{self.doubt}: {self.relation}"

    @property
    def doubt(self) -> str:
        """What is said behind its name where it may be none."""
        if self.is_guess:
            return ", which may be none (not decided within its budget)"
        return "" if self.must else ", if both touch the same element"


@dataclass(frozen=True)
class Claim:
    """The user says: no instance of `source` and of `sink` touch the same element of `array`, in either order, where
    one of them writes. All are patterns."""

    source: str
    sink: str
    array: str

    def __str__(self) -> str:
        source, sink = ("all statements" if end == "*" else end for end in (self.source, self.sink))
        ends = source if self.source == self.sink == "*" else f"{source} and {sink}"
        return f"{ends} are independent through {'all arrays' if self.array == '*' else self.array}"

    def covers(self, one: str, other: str, array: str) -> bool:
        """Does it say so of these two statements and this array?"""
        ends = ((one, other), (other, one))
        meets = any(fnmatchcase(one, self.source) and fnmatchcase(other, self.sink) for one, other in ends)
        return meets and fnmatchcase(array, self.array)

    def of_each(self, arrays: Iterable[str]) -> tuple[Claim, ...]:
        """The claim for each of the arrays that it means: of those that edits make later, or lay out anew, it says
        nothing."""
        return tuple(replace(self, array=array) for array in arrays if fnmatchcase(array, self.array))


@dataclass(frozen=True)
class Dependences:
    """All dependences of a scop; the properties are { source instance -> sink instance } unions."""

    pairs: tuple[Dependence, ...]
    reorder_reductions: bool = False  # what was allowed: then `validity` leaves out reduction dependences
    trusted: tuple[Claim, ...] = ()  # what the user claims, by which some are left out

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __repr__(self) -> str:
        return brief(self, f"{len(self.pairs)}: {', '.join(f'{each.kind} on {each.array}' for each in self.pairs)}")

    def __str__(self) -> str:
        return "\n".join(map(str, self.pairs)) or "no dependences"

    @property
    def is_exact(self) -> bool:
        """Is every dependence the exact one, and none over-approximated?"""
        return all(d.is_exact for d in self.pairs)

    @property
    def guesses(self) -> tuple[Dependence, ...]:
        """Those that may be none, or smaller."""
        return tuple(d for d in self.pairs if d.is_guess)

    def without(self, claims: Iterable[Claim]) -> Dependences:
        """Those that no claim denies."""
        claims = tuple(claims)
        left = (d for d in self.pairs if not any(claim.covers(d.source, d.sink, d.array) for claim in claims))
        return replace(self, pairs=tuple(left))

    def of(self, *kinds: Kind) -> tuple[Dependence, ...]:
        """The dependences of these kinds, in a fixed order."""
        return tuple(d for d in self.pairs if d.kind in kinds)

    @property
    def ordered(self) -> tuple[Dependence, ...]:
        """Those that every schedule must respect."""
        return tuple(d for d in self.scheduled if not d.commutes)

    @property
    def scheduled(self) -> tuple[Dependence, ...]:
        """Those that a schedule that is sought respects. Updates that commute are among them: free of each other, they
        would join the loops of others, which cannot run in parallel then."""
        every = self.of("flow", "anti", "output")
        return tuple(d for d in every if not (self.reorder_reductions and d.reduction))

    @property
    def flow(self) -> isl.UnionMap:
        """What should run close together, too (Bondhugula et al., PLDI 2008, section 3.3)."""
        return union(self.of("flow"))

    @cached_property
    def validity(self) -> isl.UnionMap:
        """What every schedule must respect."""
        return union(self.ordered)

    @cached_property
    def exclusive(self) -> isl.UnionMap:
        """What threads of a block must not run at the same time: of updates that commute, either comes first."""
        commuting = union(d for d in self.scheduled if d.commutes)
        return self.validity.union(commuting).union(commuting.reverse())

    @cached_property
    def coincidence(self) -> isl.UnionMap:
        """What a parallel loop must not carry; reductions too, since their updates race."""
        return union(self.of("flow", "anti", "output"))


def union(dependences: Iterable[Dependence]) -> isl.UnionMap:
    return isl.union_map(d.relation for d in dependences)
