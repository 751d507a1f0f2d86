"""Quotients by what all terms of a sum share, made once, after the sum: under `fast_math`.

    acc = 0                                           acc = 0
    for k: acc = acc + e[i, k] / s[i] * v[k, j]  ->   for k: acc = acc + e[i, k] * v[k, j]
    out[i, j] = acc                                   out[i, j] = acc / s[i]

Only where there are terms for sure: a quotient of no terms by zero would be no number. The sum is larger or smaller by
that factor on the way, and may overflow.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.codegen.gpu.thread_nest import ThreadNest
from polysched.ir.build import zero
from polysched.ir.effects import stays
from polysched.ir.integers.trips import trips
from polysched.ir.node import stored
from polysched.ir.nodes import Binary, Const, Expr, Load, Store
from polysched.ir.simplify import simplify


def quotients_last(nest: ThreadNest) -> ThreadNest:
    """The nest with one such quotient after the sums that start from zero, if there is one."""
    store, first = nest.store, next(iter(nest.before), None)
    own = Load(store.array, store.index, store.value.dtype)
    begins = first is not None and (first.array, first.index) == (store.array, store.index)
    match store.value:
        case Binary("+", left, right) if begins and first and first.value == zero(own.dtype) and _has_terms(nest):
            term = right if left == own else left
            if own in (left, right) and (found := _apart(term, nest)):
                value = replace(store.value, left=own, right=found[0])
                last = Store(store.array, store.index, Binary("/", own, found[1]), store.loc)
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


def _has_terms(nest: ThreadNest) -> bool:
    """Is it a sum of floats over loops that run, whatever the sizes are?"""
    counts = [simplify(trips(loop)) for loop in nest.serial[nest.shared :]]
    return nest.store.value.dtype.is_float and all(isinstance(each, Const) and each.value > 0 for each in counts)


def _stays(expr: Expr, nest: ThreadNest) -> bool:
    """Has it one value for all terms, which is what it is after them?"""
    summed = {loop.var for loop in nest.serial[nest.shared :]}
    return stays(expr, summed, stored((*nest.before, nest.store, *nest.after)))
