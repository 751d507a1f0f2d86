"""Edits that add statements and arrays: the new nest is not trusted, but shown to compute the same.

    band: i                            band: i
      band: j   S: reads A[j]            mark: storage:A_c
                               ->          sequence
                                             filter: load_A   band: x    A_c[x] = A[x]
                                             filter: S        band: j    S: reads A_c[j]

Each read must get the value that it got before, copies left out (`deps/values.py`); each access must be inside of its
array; and nothing that is marked parallel may depend on each other.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.deps.arrivals import told_apart
from polysched.deps.claims import without
from polysched.deps.dataflow import dependences
from polysched.deps.legality import first_violation
from polysched.deps.values import first_wrong_value
from polysched.errors import IllegalSchedule, InputError
from polysched.model.bounds import sizes_in_bounds
from polysched.model.extract import updates_alone
from polysched.model.reduction import reduction_operator
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import Tree
from polysched.model.witness import smallest
from polysched.support import isl
from polysched.transform.analysis.products import require_products
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.loops import nested
from polysched.transform.edits.base.reduces import with_reduces


def require_same_values(
    before: Draft, scop: Scop, tree: Tree, origin: isl.UnionMap, what: str, hint: str = "", *, only: str = ""
) -> Draft:
    """The draft of another nest, in the order of `tree`, that computes what the one before does.

    `origin` is { instance of the new nest -> instance of the one before } for all instances but those of copies: both
    compute the same from what they read. The order of `tree` becomes the one that later edits are held against. `only`
    is the array whose accesses have changed, if all else is as it was.
    IllegalSchedule, which begins with `what` was asked for, if a read would get another value, an access leave its
    array, or a mark separate what must stay in order.
    """
    tree = nested(tree)
    try:
        new = told_apart(scop, tree)
        wrong = first_wrong_value(_using(only, told_apart(before.scop, before.nested)), _using(only, new), origin)
    except IllegalSchedule as error:
        raise IllegalSchedule(f"{what}: {error}") from error
    if wrong is not None:
        raise IllegalSchedule(f"{what}: {wrong}", violation=wrong, hint=hint, tree=tree)
    return redrafted(before, scop, tree, what, hint, only=only)


def _using(array: str, scop: Scop) -> Scop:
    """The nest with its accesses to this array alone; with all if it is ""."""
    if not array:
        return scop

    def using(statement: Statement) -> Statement:
        reads, writes = (
            tuple(access for access in accesses if access.array == array)
            for accesses in (statement.reads, statement.writes)
        )
        return replace(statement, reads=reads, writes=writes)

    return replace(scop, statements=tuple(map(using, scop.statements)))


def redrafted(before: Draft, scop: Scop, tree: Tree, what: str, hint: str = "", *, only: str = "") -> Draft:
    """The draft of another nest, in the order of `tree`, with its own dependences; IllegalSchedule if an access leaves
    its array, or a mark separates what must stay in order. That it computes the same, the caller has shown. `only` is
    as above."""
    tree = nested(tree)
    scop = replace(scop, statements=tuple(map(_with_its_reduction, scop.statements)))
    _require_in_bounds(scop, what)
    found = dependences(
        _using(only, told_apart(scop, tree)), reorder_reductions=before.dependences.reorder_reductions
    )
    if only:
        found = replace(found, pairs=(*(d for d in before.dependences.pairs if d.array != only), *found.pairs))
    shapes = {array.name: (array.shape, array.space) for array in before.scop.arrays}
    moved = {array.name for array in scop.arrays if (array.shape, array.space) != shapes.get(array.name)} | {only}
    claims = tuple(claim for claim in before.claims if claim.array not in moved)
    found = replace(without(found, claims), trusted=before.dependences.trusted)
    tree = with_reduces(tree, found)
    require_products(tree, scop, reorder=found.reorder_reductions, what=what)
    violation = first_violation(tree, found, scop)
    if violation is not None:
        raise IllegalSchedule(f"{what}: {violation}", violation=violation, hint=hint, tree=tree)
    return replace(before, scop=replace(scop, tree=tree), dependences=found, nested=tree, claims=claims)


def _with_its_reduction(statement: Statement) -> Statement:
    """No reduction any more where the edit has it read another array than it updates."""
    still = statement.reduction == reduction_operator(statement.body)
    alone = updates_alone(statement.reads, statement.writes, statement.domain)
    return statement if still and alone else replace(statement, reduction="")


def _require_in_bounds(scop: Scop, what: str) -> None:
    arrays = {array.name: array for array in scop.arrays}
    try:
        fine = sizes_in_bounds(scop.valid_sizes, scop.statements, arrays, scop.function.sizes)
    except InputError as error:
        raise IllegalSchedule(f"{what}: {error.message}") from error
    outside = scop.valid_sizes.subtract(fine)
    if not outside.is_empty():
        sizes = ", ".join(f"{name} = {value}" for name, value in smallest(outside)[0].items())
        raise IllegalSchedule(f"{what}: an access leaves its array for {sizes}")
