"""Index-set splitting: the iterations of a loop for which a condition holds run first, then the others (Griebl,
Feautrier and Lengauer, LCPC 1999).

    band: i              sequence
      band: j      ->      filter: S[i, j] : j < i     band: i    band: j          split_set("i", "j < i")
                           filter: S[i, j] : j >= i    band: i_2    band: j_2

Each part has the loop and all that is below; those of the first part keep their names. An integer is short for the
iterations before it: split_set("i", "n // 2") runs those with i < n // 2 first, which is always legal.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from polysched import isl
from polysched.errors import InputError
from polysched.frontend.formula import parse_formula
from polysched.ir.dtypes import boolean
from polysched.ir.nodes import Binary, Var
from polysched.model.affine import AffineSpace, NotAffine, is_name
from polysched.model.scop import Statement
from polysched.transform.hand.edit import Alternative, Draft, checked
from polysched.transform.hand.loops import Loop, loop, loops
from polysched.transform.hand.parts import in_parts

_HERE = "value of the loop"


def split_set(draft: Draft, name: str, at: str) -> Draft:
    """The loop for the instances of which `at` holds, before the loop for the others.

    `at` is affine, // and % by constants too, in the sizes, the iterators of the statements in the loop, and the loops
    around them; where a loop and an iterator are called alike, the iterator is meant.
    """
    place = loop(draft.nested, name)
    instances = place.instances.intersect_params(draft.scop.context)
    each = (_holds(draft, place, draft.scop.statement(one), at) for one in place.statements)
    holds = reduce(isl.UnionSet.union, each, isl.UnionSet("{ }"))
    first, others = instances.intersect(holds).coalesce(), instances.subtract(holds).coalesce()
    if first.is_empty() or others.is_empty():
        raise InputError(f"'{at}' holds for {'none' if first.is_empty() else 'all'} of the iterations of loop '{name}'")

    def split(parts: tuple[isl.UnionSet, ...], alternatives: Iterable[Alternative] = ()) -> Draft:
        tree = in_parts(draft.nested, place, parts, keeps=0)
        return checked(draft, tree, f"split_set({name}, {at})", alternatives)

    return split((first, others), [(f"split it at 'not ({at})', the others first", lambda: split((others, first)))])


def _holds(draft: Draft, place: Loop, statement: Statement, at: str) -> isl.UnionSet:
    """The instances of the statement for which `at` holds."""
    sizes, values = draft.scop.function.sizes, _values(draft, place, statement)
    formula = parse_formula(at, [name for name in (*values, *sizes) if name != _HERE])
    condition = formula if formula.dtype == boolean else Binary("<", Var(_HERE), formula)
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
    named = [each for each in loops(draft.nested) if each.name.isidentifier() and is_name(each.name)]
    functions |= {each.name: each.member.schedule for each in named if statement.name in each.statements}
    values = {name: isl.Map.from_union_map(schedule.intersect_domain(own)) for name, schedule in functions.items()}
    names = AffineSpace(statement.name, statement.iterators, draft.scop.function.sizes)
    return values | {name: isl.Map.from_pw_aff(names.function(Var(name))) for name in statement.iterators}
