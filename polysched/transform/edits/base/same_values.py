"""Edits that add statements and arrays: the new nest is not trusted, but shown to compute the same.

    band: i                            band: i
      band: j   S: reads A[j]            mark: storage:A_c
                               ->          sequence
                                             filter: load_A   band: x    A_c[x] = A[x]
                                             filter: S        band: j    S: reads A_c[j]

Each read must get the value that it got before, copies left out (`deps/values.py`); each access must be inside of its
array; and nothing that is marked parallel may depend on each other. Of several edits this is asked once, of the last
nest, where a draft `together` is given to the first, and what comes of them to `shown`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set
from dataclasses import replace

from polysched.deps.arrivals import told_apart
from polysched.deps.dataflow import dependences
from polysched.deps.dependences import Dependences
from polysched.deps.legality import require_legal
from polysched.deps.values import first_wrong_value
from polysched.errors import IllegalSchedule, InputError
from polysched.ir.text import in_words
from polysched.model.bounds import sizes_in_bounds
from polysched.model.extract import updates_alone
from polysched.model.reduction import reduction_operator
from polysched.model.scop import Access, Scop, Statement
from polysched.model.tree.nodes import Tree
from polysched.model.witness import smallest
from polysched.support import isl
from polysched.transform.analysis.products import require_products
from polysched.transform.edits.base.draft import Draft, Unshown
from polysched.transform.edits.base.loops import nested
from polysched.transform.edits.base.reduces import with_reduces


def require_same_values(
    before: Draft, scop: Scop, tree: Tree, origin: isl.UnionMap, what: str, *, only: Set[str] = frozenset()
) -> Draft:
    """The draft of another nest, in the order of `tree`, that computes what the one before does.

    `origin` is { instance of the new nest -> instance of the one before } for all instances but those of copies: both
    compute the same from what they read. The order of `tree` becomes the one that later edits are held against. `only`
    are the arrays whose accesses have changed, or the order of these, if all else is as it was, or shown otherwise.
    IllegalSchedule, which begins with `what` was asked for, if a read would get another value, an access leave its
    array, or a mark separate what must stay in order.
    """
    tree = nested(tree)
    if before.unshown is not None:
        return _put_off(before, scop, tree, origin.apply_range(before.unshown.origin))
    require_values(before, scop, tree, origin, what, only=only)
    return redrafted(before, scop, tree, what, only=only)


def require_values(
    before: Draft, scop: Scop, tree: Tree, origin: isl.UnionMap, what: str, *, only: Set[str] = frozenset()
) -> None:
    """IllegalSchedule if a read would get another value, as above: what is in bounds, and in order, is not asked."""
    try:
        new = told_apart(scop, tree)
        old = told_apart(before.scop, before.nested)
        if only:
            old, new = _using(only, old), _using(only, new)
        wrong = first_wrong_value(old, new, origin)
    except IllegalSchedule as error:
        raise IllegalSchedule(f"{what}: {error}") from error
    if wrong is not None:
        raise IllegalSchedule(f"{what}: {wrong}", violation=wrong, tree=tree)


def together(draft: Draft) -> Draft:
    """The draft for edits that are shown to be right as one."""
    return replace(draft, waits=True, unshown=Unshown(draft, draft.scop.domain.identity()))


def shown(draft: Draft, what: str) -> Draft:
    """What edits made of a draft `together`, if that is right; IllegalSchedule, which begins with `what`, if not."""
    assert draft.unshown is not None
    return require_same_values(draft.unshown.before, draft.scop, draft.nested, draft.unshown.origin, what)


def _put_off(before: Draft, scop: Scop, tree: Tree, origin: isl.UnionMap) -> Draft:
    """The draft that has yet to be shown: with the dependences of arrays that are accessed otherwise, in its order."""
    assert before.unshown is not None
    old, new = _accesses(before.scop), _accesses(scop)
    changed = {array for array in old.keys() | new.keys() if old.get(array) != new.get(array)}
    found = _dependences(before, told_apart(scop, tree), changed)
    scop = replace(scop, tree=tree, statements=tuple(map(_with_its_reduction, scop.statements)))
    return replace(before, scop=scop, dependences=found, nested=tree, unshown=replace(before.unshown, origin=origin))


def _accesses(scop: Scop) -> dict[str, list[tuple[str, Access]]]:
    """By array."""
    found = defaultdict[str, list[tuple[str, Access]]](list)
    for statement in scop.statements:
        for access in statement.accesses:
            found[access.array].append((statement.name, access))
    return found


def _dependences(before: Draft, scop: Scop, changed: Set[str]) -> Dependences:
    """Those of these arrays in the nest, and the others of the draft."""
    found = dependences(_using(changed, scop), reorder_reductions=before.dependences.reorder_reductions)
    kept = (each for each in before.dependences.pairs if each.array not in changed)
    return replace(found, pairs=(*kept, *found.pairs))


def _using(arrays: Set[str], scop: Scop) -> Scop:
    """The nest with its accesses to these arrays alone."""

    def using(statement: Statement) -> Statement:
        reads, writes = (
            tuple(access for access in accesses if access.array in arrays)
            for accesses in (statement.reads, statement.writes)
        )
        return replace(statement, reads=reads, writes=writes)

    return replace(scop, statements=tuple(map(using, scop.statements)))


def redrafted(before: Draft, scop: Scop, tree: Tree, what: str, *, only: Set[str] = frozenset()) -> Draft:
    """The draft of another nest, in the order of `tree`, with its own dependences; IllegalSchedule if an access leaves
    its array, or a mark separates what must stay in order. That it computes the same, the caller has shown. `only` is
    as above. InputError for edits `together`, since a proof of the caller's says nothing of those before."""
    if before.unshown is not None:
        raise InputError(f"{what} is not shown together with other edits")
    tree = nested(tree)
    scop = replace(scop, statements=tuple(map(_with_its_reduction, scop.statements)))
    require_in_bounds(scop, what)
    new = told_apart(scop, tree)
    if only:
        found = _dependences(before, new, only)
    else:
        found = dependences(new, reorder_reductions=before.dependences.reorder_reductions)
    shapes = {array.name: (array.shape, array.space) for array in before.scop.arrays}
    moved = {array.name for array in scop.arrays if (array.shape, array.space) != shapes.get(array.name)}
    moved |= {array for array in only if _accesses(before.scop).get(array) != _accesses(scop).get(array)}
    claims = tuple(claim for claim in before.claims if claim.array not in moved)
    found = replace(found.without(claims), trusted=before.dependences.trusted)
    tree = with_reduces(tree, found)
    require_products(tree, scop, reorder=found.reorder_reductions, what=what)
    require_legal(tree, found, scop, what=what)
    return replace(before, scop=replace(scop, tree=tree), dependences=found, nested=tree, claims=claims)


def _with_its_reduction(statement: Statement) -> Statement:
    """No reduction any more where the edit has it read another array than it updates."""
    still = statement.reduction == reduction_operator(statement.body)
    alone = updates_alone(statement.reads, statement.writes, statement.domain)
    return statement if still and alone else replace(statement, reduction="")


def require_in_bounds(scop: Scop, what: str) -> None:
    """IllegalSchedule, which begins with `what` was asked for, if an access leaves its array."""
    arrays = {array.name: array for array in scop.arrays}
    try:
        fine = sizes_in_bounds(scop.valid_sizes, scop.statements, arrays, scop.function.sizes)
    except InputError as error:
        raise IllegalSchedule(f"{what}: {error.message}") from error
    outside = scop.valid_sizes.subtract(fine)
    if not outside.is_empty():
        raise IllegalSchedule(f"{what}: an access leaves its array for {in_words(smallest(outside)[0])}")
