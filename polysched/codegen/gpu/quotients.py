"""Quotients by what all terms of a sum share, made once, after the sum: under `fast_math`.

    acc = 0                                           acc = 0
    for k: acc = acc + e[i, k] / s[i] * v[k, j]  ->   for k: acc = acc + e[i, k] * v[k, j]
    out[i, j] = acc                                   out[i, j] = acc / s[i]

Only where there are terms: a quotient of no terms by zero would be no number. How many there are, the outermost of the
loops says, where those inside always run. The sum is larger or smaller by that factor on the way, and may overflow.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from polysched.codegen.gpu.thread_nest import ThreadNest
from polysched.ir.build import zero
from polysched.ir.effects import stays
from polysched.ir.integers.facts import Facts
from polysched.ir.integers.trips import trips
from polysched.ir.node import stored
from polysched.ir.nodes import Binary, Const, Expr, Load, Select, Store
from polysched.ir.simplify import simplify


def quotients_last(nest: ThreadNest, known: Facts) -> ThreadNest:
    """The nest with one such quotient after the sums that start from zero, if there is one; with what is known of the
    function that it is in."""
    store, first = nest.store, next(iter(nest.before), None)
    own = Load(store.array, store.index, store.value.dtype)
    begins = first is not None and (first.array, first.index) == (store.array, store.index)
    match store.value:
        case Binary("+", left, right) if begins and first and first.value == zero(own.dtype):
            term, count = right if left == own else left, _terms(nest, known)
            if own in (left, right) and count is not None and (found := _apart(term, nest)):
                value = replace(store.value, left=own, right=found[0])
                quotient: Expr = Binary("/", own, found[1])
                if not isinstance(count, Const):
                    quotient = Select(Binary(">", count, Const(0)), quotient, own)
                last = Store(store.array, store.index, quotient, store.loc)
                return replace(nest, store=replace(store, value=value), after=(last, *nest.after))
    return nest


def _apart(term: Expr, nest: ThreadNest) -> tuple[Expr, Expr] | None:
    """The term without its quotient, and the divisor; None if it has none that stays the same in the sum."""
    match term:
        case Binary("/", left, right) if _stays(right, nest):
            return left, right
        case Binary("*", left, right):
            if found := _apart(left, nest):
                return replace(term, left=found[0]), found[1]
            if found := _apart(right, nest):
                return replace(term, right=found[0]), found[1]
    return None


def _terms(nest: ThreadNest, known: Facts) -> Expr | None:
    """More than zero exactly where it is a sum of floats that has terms; None if no expression says so."""
    first, *inner = nest.serial[nest.shared :] or (None,)
    if first is None or not nest.store.value.dtype.is_float:
        return None
    around = (*nest.blocks, *(side.loop for side in (*nest.threads, *nest.points)))
    known = reduce(Facts.inside, (*around, first), known)
    for loop in inner:
        if not known.is_positive(trips(loop)):
            return None
        known = known.inside(loop)
    count = simplify(trips(first))
    return None if isinstance(count, Const) and count.value <= 0 else count


def _stays(expr: Expr, nest: ThreadNest) -> bool:
    """Has it one value for all terms, which is what it is after them?"""
    summed = {loop.var for loop in nest.serial[nest.shared :]}
    return stays(expr, summed, stored((*nest.before, nest.store, *nest.after)))
