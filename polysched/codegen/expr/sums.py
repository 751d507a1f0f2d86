"""Sums and chains of one associative operator, with their operands in order of rank."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import groupby
from operator import itemgetter

from polysched.codegen.expr.rank import Scope
from polysched.ir.build import binary
from polysched.ir.nodes import LOGICAL, Binary, Const, Expr, Unary

Term = tuple[bool, Expr]  # whether it is subtracted, and what


def terms_of(expr: Expr, minus: bool = False) -> Iterator[Term]:
    """The addends of nested `+`, `-` and negation, left to right."""
    match expr:
        case Binary("+", left, right):
            yield from terms_of(left, minus)
            yield from terms_of(right, minus)
        case Binary("-", left, right):
            yield from terms_of(left, minus)
            yield from terms_of(right, not minus)
        case Unary("-", arg):
            yield from terms_of(arg, not minus)
        case _:
            yield minus, expr


def sum_of(terms: list[Term], scope: Scope) -> Expr:
    """The terms added in order of rank, constants last; a subtraction for every term that is subtracted."""

    def place(term: Term) -> tuple[bool, int]:
        return isinstance(term[1], Const), scope.rank(term[1])

    groups = [_added(sorted(group, key=itemgetter(0))) for _, group in groupby(sorted(terms, key=place), place)]
    minus, total = _added(groups)
    return Unary("-", total) if minus else total


def _added(terms: list[Term]) -> Term:
    """Their sum, as one term: negative only if all of them are."""

    def add(one: Term, two: Term) -> Term:
        (minus, left), (other_minus, right) = one, two
        if minus == other_minus:
            return minus, Binary("+", left, right)
        return False, Binary("-", right, left) if minus else Binary("-", left, right)

    return reduce(add, terms)


def chain(op: str, operands: list[Expr], scope: Scope) -> Expr:
    """The operands joined in order of rank; a constant stands with the lowest rank there is, and last in it."""
    lowest = min((scope.rank(e) for e in operands if not isinstance(e, Const)), default=0)

    def rank(operand: Expr) -> int:
        return lowest if isinstance(operand, Const) else scope.rank(operand)

    parts: list[Expr] = []
    for movable, run in groupby(operands, lambda operand: op not in LOGICAL or scope.is_total(operand)):
        if movable:
            in_order = sorted(run, key=lambda operand: (rank(operand), isinstance(operand, Const)))
            parts += [binary(op, *group) for _, group in groupby(in_order, rank)]
        else:
            parts += run
    return binary(op, *parts)
