"""Products of matrices by hand: a sum of products over a box (`transform/analysis/products.py`), as one.

    band: i                     mark: product:S
      band: j         ->          band: i, j, k            batch, rows, columns, terms: the order of their tiles is
        band: k                                            the product's own
          S: C[i, j] += A[i, k] * B[k, j]
"""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from polysched.config.plain import called
from polysched.errors import IllegalSchedule, InputError
from polysched.model.scop import Statement
from polysched.model.tree.nodes import Band, Leaf, Product, marked_as, nest_of
from polysched.support import isl
from polysched.transform.analysis.products import (
    Kind,
    SumOfProducts,
    box_of,
    kind_of,
    loops_of,
    may_count_up,
    may_reorder,
    product_of,
    terms_lie_in_order,
)
from polysched.transform.edits.base.edit import Draft, checked
from polysched.transform.edits.base.loops import Loop, changed_at, free, loops, unmarked
from polysched.transform.edits.base.registry import by_name, edit


@edit("order", "i, j, k -> i, j, k")
def product(draft: Draft, statement: str, kind: Kind | None = None) -> Draft:
    """The loops of a statement that is a sum of products over a box as one product of matrices.

    It is of "packed" matrices, whose sums keep their order, or, with few rows, of "dots", sums in lanes, or what pays
    for None. Tiles, copies and threads are made when code is generated; its loops can be edited no more. InputError if
    the statement is no such sum, runs in other loops than its own, or none pays; IllegalSchedule for sums of floats in
    lanes where their order is not free.

        for i:                              for tiles of j, i: sums in registers
            for j:                     ->       for k: sums += B_packed[k, ...] * A[i, k]
                for k:                          C[i, j] += sums
                    C[i, j] += A[i, k] * B[k, j]                     product("S")
    """
    one = by_name("statement", statement, {each.name: each for each in draft.scop.statements})
    found = _sum(draft, one)
    if kind is not None and kind not in get_args(Kind):
        raise InputError(f"there is no product of kind {kind!r}", hint=f"one of {', '.join(get_args(Kind))}")
    chosen = kind or _what_pays(draft, one, found)
    place = _own_loops(draft, one)
    if chosen == "dots":
        _require_dots(draft, one, found)
    own = {member.name for member in nest_of(place.band)[0]}
    taken = {each.name for each in loops(draft.nested)} - own
    members = [replace(m, name=free(name, taken)) for m, name in zip(loops_of(one), found.loops, strict=True)]
    ordered = marked_as(Band(tuple(members)), Product(statement, chosen))
    return checked(draft, changed_at(draft.nested, place.path, lambda _: ordered), f"product({statement})")


def _sum(draft: Draft, one: Statement) -> SumOfProducts:
    found = product_of(one)
    if found is None and box_of(one) is None:
        hint = "its loops run from 0 to constants of 2 or more, whatever the others do"
        raise InputError(f"{one.name} is no sum of products over a box", hint=hint)
    if found is None or not may_count_up(one, draft.dependences):
        hint = "it is as C[i, j] += A[i, k] * B[k, j], with loops that count up, and factors that do not read C"
        raise InputError(f"{one.name} is no sum of products", hint=hint)
    return found


def _what_pays(draft: Draft, one: Statement, found: SumOfProducts) -> Kind:
    kind = kind_of(found, reorder=draft.dependences.reorder_reductions)
    if kind is None:
        size = f"{found.rows.size} rows, {found.columns.size} columns and {found.terms.size} terms"
        hint = f"if it is to be one all the same, {called('product', one.name, kind='packed')}"
        raise InputError(f"{one.name} has {size}, which pays as no product", hint=hint)
    return kind


def _own_loops(draft: Draft, one: Statement) -> Loop:
    """The outermost loop of those that run the statement, alone and nothing but them."""
    place = next(each for each in loops(draft.nested) if one.name in each.statements)
    if len(place.statements) > 1:
        hint = called("distribute", place.name)
        raise InputError(f"loop '{place.name}' runs {', '.join(place.statements)}", hint=hint)
    if not isl.UnionSet.from_set(one.domain.intersect_params(draft.scop.context)).is_subset(place.instances):
        raise InputError(f"{one.name} runs in several loops in turn", hint="make the product before they are cut")
    unmarked(draft.nested, place.name)
    members, child = nest_of(place.band)
    if not isinstance(child, Leaf) or len(members) != len(one.iterators):
        inside = ", ".join(each.name for each in loops(draft.nested) if one.name in each.statements)
        hint = "a product makes its own tiles: make it of loops that have none, nor marks"
        raise InputError(f"{one.name} runs in {inside}, not in one loop for each of its iterators", hint=hint)
    return place


def _require_dots(draft: Draft, one: Statement, found: SumOfProducts) -> None:
    if not terms_lie_in_order(found):
        hint = "both factors end in the one loop of terms, as in y[i] += A[i, k] * x[k]"
        raise InputError(f"the factors of {one.name} do not lie in memory along its terms", hint=hint)
    if not may_reorder(found, draft.dependences.reorder_reductions):
        message = f"product({one.name}): dot products add the terms of {one.name} in another order"
        raise IllegalSchedule(message, hint="allow it with Options(reorder_reductions=True)")
