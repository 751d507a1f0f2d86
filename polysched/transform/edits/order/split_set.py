"""Index-set splitting: the iterations of a loop for which a condition holds run first, then the others (Griebl,
Feautrier and Lengauer, LCPC 1999). A condition on sizes alone gives two versions of the nest.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from polysched.errors import InputError
from polysched.frontend.python_expressions import parse_formula
from polysched.ir.dtypes import boolean
from polysched.ir.node import walk
from polysched.ir.nodes import Binary, Var
from polysched.model.affine import AffineSpace, NotAffine, is_name
from polysched.model.scop import Statement
from polysched.model.tree.nodes import Domain
from polysched.support import isl
from polysched.transform.edits.base.edit import Alternative, Draft, checked
from polysched.transform.edits.base.facts import sizes_where
from polysched.transform.edits.base.loops import Loop, below_context, loop, loops
from polysched.transform.edits.base.parts import in_parts
from polysched.transform.edits.base.registry import edit

_HERE = "value of the loop"


@edit("order", "i -> i; i_2")
def split_set(draft: Draft, name: str, at: str) -> Draft:
    """The loop for the instances of which a condition holds, then for the others.

    Each part has the loop and all that is below; those of the first keep their names. `at` is affine, // and % by
    constants too, in the sizes, the iterators of the statements in the loop, and the loops around them; where a loop
    and an iterator are called alike, the iterator is meant. An integer as "n // 2" is short for the iterations before
    it, which is always legal. IllegalSchedule if the others have to run before; InputError if the condition holds for
    none, or for all.

        for i:                   for i:
            for j: S        ->       for j: if j < i: S
                                 for i_2:
                                     for j_2: if j >= i_2: S         split_set("i", "j < i")
    """
    place = loop(draft.nested, name)
    instances = place.instances.intersect_params(draft.scop.context)
    each = (_holds(draft, place, draft.scop.statement(one), at) for one in place.statements)
    holds = reduce(isl.UnionSet.union, each, isl.UnionSet("{ }"))
    first, others = instances.intersect(holds).coalesce(), instances.subtract(holds).coalesce()
    if first.is_empty() or others.is_empty():
        raise InputError(f"'{at}' holds for {'none' if first.is_empty() else 'all'} of the iterations of loop '{name}'")

    def split(parts: tuple[isl.UnionSet, ...], alternatives: Iterable[Alternative] = ()) -> Draft:
        tree = in_parts(draft.nested, place.path, parts, keeps=0)
        return checked(draft, tree, f"split_set({name}, {at})", alternatives)

    return split((first, others), [(f"split it at 'not ({at})', the others first", lambda: split((others, first)))])


@edit("order", "i -> i; i_2")
def specialize(draft: Draft, condition: str) -> Draft:
    """Two versions of the nest, for sizes for which a condition holds, and for the others.

    Each has its own loops, for edits that pay for some sizes alone; those of the first version keep their names.
    `condition` is affine, // and % by constants too. Always legal, since a call runs one of them; InputError if no
    sizes tell them apart.

        for i: S            ->    if n % 8 == 0: for i: S
                                  else: for i_2: S                   specialize("n % 8 == 0")
    """
    scop, tree = draft.scop, draft.nested
    known = sizes_where(condition, scop.function.sizes)
    instances = scop.domain.intersect_params(scop.context)
    first, others = (instances.intersect_params(each).coalesce() for each in (known, known.complement()))
    if first.is_empty() or others.is_empty():
        raise InputError(f"'{condition}' holds for {'no' if first.is_empty() else 'all'} sizes at which the nest runs")
    assert isinstance(tree, Domain)
    parts = in_parts(tree, below_context(tree), (first, others), keeps=0)
    return checked(draft, parts, f"specialize({condition})")


def _holds(draft: Draft, place: Loop, statement: Statement, at: str) -> isl.UnionSet:
    """The instances of the statement for which `at` holds."""
    sizes, values = draft.scop.function.sizes, _values(draft, place, statement)
    formula = parse_formula(at, [name for name in (*values, *sizes) if name != _HERE])
    condition = formula if formula.dtype == boolean else Binary("<", Var(_HERE), formula)
    used = {node.name for node in walk(condition) if isinstance(node, Var)}
    values = {name: value for name, value in values.items() if name in used or name in statement.iterators}
    try:
        points = AffineSpace("values", tuple(values), sizes).where(condition)
    except NotAffine as error:
        hint = "use sums, multiples by constants, and // and % by constants"
        raise InputError(f"'{at}' is not affine in the loops: {error.expr}", hint=hint) from None
    of_all = reduce(isl.Map.flat_range_product, values.values()).set_tuple_name(isl.dim_type.out, "values")
    return isl.UnionSet.from_set(of_all.intersect_range(points).domain())


def _values(draft: Draft, place: Loop, statement: Statement) -> dict[str, isl.Map]:
    """{ S[i, j] -> [value] } by name, of the statement's iterators and of the loops around it."""
    own = isl.UnionSet.from_set(statement.domain)
    functions = {_HERE: place.member.schedule}
    near = [each for each in loops(draft.nested) if _is_around(each, place) or _is_around(place, each)]
    named = [each for each in near if each.name.isidentifier() and is_name(each.name)]
    functions |= {each.name: each.member.schedule for each in named if statement.name in each.statements}
    values = {name: isl.Map.from_union_map(schedule.intersect_domain(own)) for name, schedule in functions.items()}
    names = AffineSpace(statement.name, statement.iterators, draft.scop.function.sizes)
    return values | {name: isl.Map.from_pw_aff(names.function(Var(name))) for name in statement.iterators}


def _is_around(one: Loop, other: Loop) -> bool:
    return other.path[: len(one.path)] == one.path
