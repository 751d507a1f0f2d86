"""One edit by hand: a tree is proposed, checked against the dependences, and put in normal form.

    band: i                                    band: permutable
      band: i + j                      ->        i
    distances (1, 0), (1, 1), (1, 2)             i + j

What an edit must keep is known exactly, so it is accepted when it is legal, whatever rules of thumb say; else
IllegalSchedule names a pair of instances that would run the wrong way round, and an edit nearby that is legal, if one
is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from polysched import isl
from polysched.deps.claims import Claim
from polysched.deps.coincidence import left_below, mark_coincident
from polysched.deps.dependences import Dependences
from polysched.deps.legality import first_violation
from polysched.errors import IllegalSchedule, InputError
from polysched.model.scop import Scop
from polysched.model.tree import Band, Mark, Tree, children, with_children
from polysched.transform.hand.loops import nested


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A nest, what must stay in order, and a legal tree."""

    scop: Scop
    dependences: Dependences
    tree: Tree  # in normal form: maximal permutable bands, coincident flags, a name for each loop
    claims: tuple[Claim, ...] = ()  # by which dependences were left out

    @property
    def nested(self) -> Tree:
        """The tree with a band for each loop: what edits start from."""
        return nested(self.tree)


Alternative = tuple[str, Callable[[], Draft]]  # what to say, and the edit, which raises where it is not legal itself


def checked(draft: Draft, tree: Tree, what: str, alternatives: Iterable[Alternative] = ()) -> Draft:
    """The draft with another tree, in normal form; IllegalSchedule, which begins with `what` was asked for, if that
    breaks a dependence. Then the first of the alternatives that is legal is its hint."""
    violation = first_violation(tree, draft.dependences, draft.scop)
    if violation is not None:
        message = f"{what}: {violation}"
        raise IllegalSchedule(message, violation=violation, hint=_first_legal(alternatives), tree=tree)
    return replace(draft, tree=normal_form(tree, draft.dependences))


def _first_legal(alternatives: Iterable[Alternative]) -> str:
    for text, edit in alternatives:
        try:
            edit()
        except (IllegalSchedule, InputError):
            continue
        return text
    return ""


def reaching(tree: Tree, path: Sequence[int], pairs: isl.UnionMap) -> isl.UnionMap:
    """The part of `pairs` that nothing above the node at `path` orders."""
    for k in path:
        pairs, tree = left_below(tree, pairs), children(tree)[k]
    return pairs


def draft_of(scop: Scop, dependences: Dependences, tree: Tree) -> Draft:
    """A draft that begins with this tree; IllegalSchedule if it breaks a dependence."""
    return checked(Draft(scop=scop, dependences=dependences, tree=tree), nested(tree), "the tree given")


def normal_form(tree: Tree, dependences: Dependences) -> Tree:
    """`tree` with the loops that can be in permutable bands, from the outermost on, and exact coincident flags.

    Loops over tiles are not in one band with the loops inside of tiles, nor is a marked loop with any other.
    """
    return mark_coincident(_joined(nested(tree), dependences.validity, is_marked=False), dependences)


def _joined(tree: Tree, reaching: isl.UnionMap, *, is_marked: bool) -> Tree:
    """`reaching` are the dependences that nothing above the node orders."""
    if isinstance(tree, Band):
        members, inner = list(tree.members), tree.child
        while not is_marked and isinstance(inner, Band) and inner.members[0].rounds == members[0].rounds:
            joined = Band((*members, *inner.members))
            if not _is_permutable(joined, reaching):
                break
            members, inner = list(joined.members), inner.child
        tree = Band(tuple(members), _is_permutable(Band(tuple(members)), reaching), inner)
    below = left_below(tree, reaching)
    marked = isinstance(tree, Mark)
    return with_children(tree, tuple(_joined(child, below, is_marked=marked) for child in children(tree)))


def _is_permutable(band: Band, reaching: isl.UnionMap) -> bool:
    """Has every dependence a distance of zero or more along every member?"""
    for member in band.members:
        for pairs in isl.maps_of(reaching):
            later = _backwards(member.schedule, pairs)
            if not later.is_empty():
                return False
    return True


def _backwards(schedule: isl.UnionMap, pairs: isl.Map) -> isl.UnionMap:
    """The pairs whose source has a larger value than the sink."""
    union = isl.UnionMap.from_map(pairs)
    distances = union.apply_domain(schedule).apply_range(schedule)
    return distances.intersect(_LATER)


_LATER = isl.UnionMap("{ [x] -> [y] : x > y }")

