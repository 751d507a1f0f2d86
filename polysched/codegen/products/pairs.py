"""Terms of narrow integers two at a time, as the halves of a word, which one instruction multiplies and adds.

    for k in 0..5:                                        for k in 0..3:
        C[i, j] += i32(A[i, k]) * i32(B[k, j])     ->         C[i, j] += dot.i16(word(A, k), word(B, k))

    word(A, k) = A[i, k] & 0xffff | A[i, k + 3] << 16     with zero for what is beyond the last term

Exact: the halves hold what fits into i16, and sums of i32 wrap, so that their order does not matter.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.ir.build import add, binary, const
from polysched.ir.dtypes import i16, i32
from polysched.ir.integers.intervals import Interval, holds, interval, whole
from polysched.ir.node import substitute
from polysched.ir.nodes import Binary, Cast, Const, Expr, Select, Var
from polysched.ir.simplify import simplify
from polysched.transform.analysis.products import Axes, SumOfProducts

_HALF, _ABOVE = const(0xFFFF, i32), const(1 << 16, i32)  # to shift what is negative is undefined in C


def may_pair(found: SumOfProducts) -> bool:
    """Are the sums of i32, of factors that fit into i16?"""
    factors = (found.row, found.column)
    return all(factor.dtype == i32 and holds(i16, _range(factor)) for factor in factors)


def in_pairs(found: SumOfProducts) -> SumOfProducts:
    """The same sums, with words of two terms as factors: a loop over terms is half as long, an even one if there is."""
    name, extent = max(found.terms.extents.items(), key=lambda loop: (loop[1] % 2 == 0, loop[1]))
    half = -(-extent // 2)

    def word(factor: Expr) -> Expr:
        after = add(Var(name), half)
        other: Expr = substitute(factor, {name: after})
        if extent % 2:
            other = Select(binary("<", after, extent), other, Const(0, i32))
        return _word(factor, other)

    terms = Axes({**found.terms.extents, name: half})
    return replace(found, row=word(found.row), column=word(found.column), terms=terms)


def first_term(value: Expr) -> Expr:
    """The first of the two terms of a word; the value itself if it is none."""
    match value:
        case Binary("|", Binary("&", low, half), Binary("*", _, above)) if (half, above) == (_HALF, _ABOVE):
            return low
    return value


def _word(low: Expr, high: Expr) -> Expr:
    match guard_outside(low), guard_outside(high):
        case Select(cond, one, Const() as none), Select(same, two, Const() as other) if cond == same:
            return Select(cond, _word(one, two), simplify(_word(none, other)))
    return binary("|", binary("&", low, _HALF), binary("*", high, _ABOVE))


def guard_outside(value: Expr) -> Expr:
    """Padded data that is cast, as a choice between the data and zero, each cast."""
    match value:
        case Cast(Select(cond, then, Const() as other)):
            return Select(cond, replace(value, arg=then), simplify(replace(value, arg=other)))
    return value


def _range(expr: Expr) -> Interval:
    """Numbers between which the integer lies."""
    found = interval(expr, _range)
    return found if holds(expr.dtype, found) else whole(expr.dtype)
