"""Parts of a loop's iterations by hand.

`split_set`: those for which a condition holds run first, then the others (Griebl, Feautrier and Lengauer, LCPC 1999).
`specialize`: a condition on sizes alone gives two versions of the nest.
`peel`: the first or last iterations run apart. Their order stays as it is, so it is always legal; but what is left may
then be fused with another loop, or have bounds without min and max.

Conditions on sizes are text:

    sizes_where("n >= 32 and n % 8 == 0", ("n", "m"))      { : n >= 32 and n mod 8 = 0 }
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
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
from polysched.transform.edits.base.loops import Loop, arrival, below_context, loop, loops
from polysched.transform.edits.base.parts import in_parts
from polysched.transform.edits.base.registry import edit

_HERE = "value of the loop"


@edit("order", "i -> i; i_2")
def split_set(draft: Draft, name: str, at: str, of: str = "*") -> Draft:
    """The loop for the instances of which a condition holds, then for the others.

    Each part has the loop and all that is below; those of the first keep their names. `at` is affine, // and % by
    constants too, in the sizes, the iterators of the statements in the loop, and the loops around them; where a loop
    and an iterator are called alike, the iterator is meant. An integer as "n // 2" is short for the iterations before
    it, which is always legal. Of statements that `of`, a pattern, does not fit, all instances are among the others.
    IllegalSchedule if the others have to run before; InputError if the condition holds for none, or for all.

        for i:                   for i:
            for j: S        ->       for j: if j < i: S
                                 for i_2:
                                     for j_2: if j >= i_2: S         split_set("i", "j < i")
    """
    place = loop(draft.nested, name)
    instances = place.instances.intersect_params(draft.scop.context)
    meant = [one for one in place.statements if fnmatchcase(one, of)]
    if not meant:
        known = ", ".join(place.statements)
        raise InputError(f"no statement in loop '{name}' is called '{of}'", hint=f"it runs: {known}")
    each = (_holds(draft, place, draft.scop.statement(one), at) for one in meant)
    holds = reduce(isl.UnionSet.union, each, isl.UnionSet("{ }"))
    first, others = instances.intersect(holds).coalesce(), instances.subtract(holds).coalesce()
    if first.is_empty() or others.is_empty():
        raise InputError(f"'{at}' holds for {'none' if first.is_empty() else 'all'} of the iterations of loop '{name}'")

    def split(parts: tuple[isl.UnionSet, ...], alternatives: Iterable[Alternative] = ()) -> Draft:
        tree = in_parts(draft.nested, place.path, parts, keeps=0)
        return checked(draft, tree, f"split_set({name}, {at}{'' if of == '*' else f', of={of}'})", alternatives)

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
    own = statement.instances
    functions = {_HERE: place.member.schedule}
    near = [each for each in loops(draft.nested) if each.is_around(place) or place.is_around(each)]
    named = [each for each in near if each.name.isidentifier() and is_name(each.name)]
    functions |= {each.name: each.member.schedule for each in named if statement.name in each.statements}
    values = {name: isl.Map.from_union_map(schedule.intersect_domain(own)) for name, schedule in functions.items()}
    names = AffineSpace(statement.name, statement.iterators, draft.scop.function.sizes)
    return values | {name: isl.Map.from_pw_aff(names.function(Var(name))) for name in statement.iterators}


_MOST = 64  # iterations, each of which is a piece of the sets


@edit("order", "i -> i_2; i; i_3")
def peel(draft: Draft, name: str, first: int = 0, last: int = 0) -> Draft:
    """The `first` and `last` iterations of the loop apart, before and after it; always legal.

    They are those of each time that the loop runs. What is left keeps the names of loops. InputError for more than 64,
    or if nothing would be left.

        for i in 0..n: S    ->    for i_2 in 0..1: S
                                  for i in 1..n: S                   peel("i", first=1)
    """
    tree = draft.nested
    place = loop(tree, name)
    if min(first, last) < 0 or not 0 < first + last <= _MOST:
        message = f"peel needs from 1 to {_MOST} iterations, first or last, not first={first}, last={last}"
        raise InputError(message)
    instances = place.instances.intersect_params(draft.scop.context)
    early, rest = _ends(instances, place, first, late=False)
    late, rest = _ends(rest, place, last, late=True)
    if rest.is_empty():
        raise InputError(f"loop '{name}' never has more than {first + last} iterations: nothing would be left of it")
    parts = [part for part in (early, rest, late) if not part.is_empty()]
    what = f"peel({name}, first={first}, last={last})"
    return checked(draft, in_parts(tree, place.path, parts, keeps=0 if early.is_empty() else 1), what)


def _ends(instances: isl.UnionSet, place: Loop, count: int, *, late: bool) -> tuple[isl.UnionSet, isl.UnionSet]:
    """The instances in the first or last `count` iterations, and the others."""
    value = place.member.schedule.intersect_domain(instances)
    at = arrival(place).range_product(value)  # { S[i, j] -> [[values of the loops around] -> [value]] }
    left = at.range().unwrap()
    for _ in range(count):
        left = left.subtract(left.lexmax() if late else left.lexmin())
    rest = at.intersect_range(left.wrap()).domain()
    return instances.subtract(rest).coalesce(), rest.coalesce()


def sizes_where(text: str, sizes: tuple[str, ...]) -> isl.Set:
    """The sizes for which the condition holds; InputError if it is none, or not affine in them."""
    condition = parse_formula(text, sizes)
    try:
        return AffineSpace("", (), sizes).where(condition).params()
    except NotAffine as error:
        hint = f"write affine conditions on the sizes ({', '.join(sizes) or 'none'}), as in 'n >= 32 and n % 32 == 0'"
        raise InputError(f"'{text}' is no affine condition: {error.expr}", hint=hint) from None
