"""One edit by hand: a tree is proposed, and checked against the dependences.

    checked(draft, tree, "interchange(i, j)")        draft.tree, and what is printed: the tree in normal form

What an edit must keep is known exactly, so it is accepted when it is legal, whatever rules of thumb say; else
IllegalSchedule names a pair of instances that would run the wrong way round, and an edit nearby that is legal, if one
is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from typing import Any

from polysched.config.plain import LARGEST, called
from polysched.deps.arrivals import scoped_arrays
from polysched.deps.coincidence import left_below
from polysched.deps.dependences import Dependences
from polysched.deps.legality import first_violation
from polysched.errors import BudgetExceeded, IllegalSchedule, InputError
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Tree, children, without_loop_marks
from polysched.support import isl
from polysched.transform.analysis.products import require_products
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.graft import part_of
from polysched.transform.edits.base.intrinsics import require_intrinsics
from polysched.transform.edits.base.loops import loops, nested
from polysched.transform.edits.base.reduces import require_reduces, with_reduces
from polysched.transform.edits.base.same_values import require_same_values

Alternative = tuple[str, Callable[[], Draft]]  # what to say, and the edit, which raises where it is not legal itself


def checked(draft: Draft, tree: Tree, what: str, alternatives: Iterable[Alternative] = ()) -> Draft:
    """The draft with another tree; IllegalSchedule, which begins with `what` was asked for, if that breaks a
    dependence. Then the first of the alternatives that is legal is its hint. A draft that waits goes on waiting."""
    if draft.waits:
        return replace(draft, nested=nested(tree))
    return _checked(draft, with_reduces(tree, draft.dependences), what, alternatives)


def _checked(draft: Draft, tree: Tree, what: str, alternatives: Iterable[Alternative] = ()) -> Draft:
    require_small_factors(tree, what)
    require_products(tree, draft.scop, reorder=draft.dependences.reorder_reductions, what=what)
    require_intrinsics(tree, draft.scop, what)
    violation = first_violation(tree, draft.dependences, draft.scop)
    if violation is not None:
        message = f"{what}: {violation}"
        raise IllegalSchedule(message, violation=violation, hint=first_legal(alternatives), tree=tree)
    scoped = scoped_arrays(tree) | scoped_arrays(draft.nested)
    if scoped and not _is_same_order(tree, draft.nested, _users(draft.scop, scoped)):  # others have their dependences
        return require_same_values(draft, draft.scop, tree, draft.scop.domain.identity(), what, only=scoped)
    return replace(draft, nested=nested(tree))


def _users(scop: Scop, arrays: Set[str]) -> isl.UnionSet:
    """The instances of statements that use one of the arrays."""
    return isl.union_set(s.domain for s in scop.statements if any(each.array in arrays for each in s.accesses))


def _is_same_order(tree: Tree, before: Tree, instances: isl.UnionSet) -> bool:
    """Do both trees run these instances in the same order, as far as one sees?"""
    if without_loop_marks(tree) == without_loop_marks(before):
        return True
    return without_loop_marks(part_of(tree, instances)) == without_loop_marks(part_of(before, instances))


def require_small_factors(tree: Tree, what: str) -> None:
    """InputError if loops could count beyond 64 bits, where the factors of several edits multiply."""
    functions = (str(piece) for place in loops(tree) for piece in place.member.pieces)
    largest = max((int(number) for text in functions for number in re.findall(r"\d{10,}", text)), default=0)
    if largest >= LARGEST:
        raise InputError(f"{what}: a loop would have the factor {largest}, which is too large to count with")


_is_alternative = ContextVar("_is_alternative", default=False)  # then a refusal needs no hint: it would have no end


_MOST_TRIES, _SECONDS = 10, 3.0  # of all tries together: a refusal is not to take long
_OPERATIONS = 2_000_000  # of isl, each


def first_legal(alternatives: Iterable[Alternative]) -> str:
    """What the first of the edits that are legal is called; "" if none is, or while an alternative is tried itself."""
    if _is_alternative.get():  # an alternative needs none of its own, which may be the edit that it stands in for
        return ""
    token = _is_alternative.set(True)
    try:
        with isl.within(_SECONDS):
            tries = islice(alternatives, _MOST_TRIES)
            return next((text for text, edit in tries if attempt(edit) is not None), "")
    except BudgetExceeded:
        return ""
    finally:
        _is_alternative.reset(token)


def attempt(edit: Callable[[], Draft]) -> Draft | None:
    """What the edit gives; None if it is refused, or takes too long."""
    try:
        with isl.within(operations=_OPERATIONS):
            return edit()
    except (IllegalSchedule, InputError, BudgetExceeded):
        return None


@dataclass(frozen=True)
class Step:
    """One edit of a hint: as text that can be copied, and as what it does."""

    text: str
    edit: Callable[[Draft], Draft]

    @staticmethod
    def of(edit: Callable[..., Draft], *args: Any, **kwargs: Any) -> Step:
        """The edit with these arguments, as a user would write it."""
        return Step(called(edit.__name__, *args, **kwargs), lambda draft: edit(draft, *args, **kwargs))


def text_of(steps: Sequence[Step]) -> str:
    """The calls one after the other."""
    return ".".join(step.text for step in steps)


def after(draft: Draft, steps: Sequence[Step]) -> Draft:
    """The draft after the steps; what they raise where they are not legal."""
    return reduce(lambda now, step: step.edit(now), steps, draft)


def first(draft: Draft, steps: Sequence[Step], then: Callable[[Draft], Draft]) -> Alternative:
    """The alternative to an edit that does the steps before it."""
    return f"{text_of(steps)} first", lambda: then(after(draft, steps))


def reaching(tree: Tree, path: Sequence[int], dependences: isl.UnionMap) -> isl.UnionMap:
    """The dependences that nothing above the node, to which the path leads, orders."""
    for k in path:
        dependences = left_below(tree, dependences)
        tree = children(tree)[k]
    return dependences


def draft_of(scop: Scop, dependences: Dependences, tree: Tree) -> Draft:
    """A draft that begins with this tree, of which marks say what their loops reduce; IllegalSchedule if it breaks a
    dependence."""
    require_reduces(tree, dependences)
    draft = Draft(scop=scop, dependences=dependences, nested=nested(tree))
    return _checked(draft, draft.nested, "the tree given")
