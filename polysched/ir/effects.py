"""What evaluating an expression may do beside giving a value."""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache

from polysched.ir.node import children, loaded, variables, walk
from polysched.ir.nodes import DIVISIONS, LOGICAL, Binary, Call, Cast, Const, Expr, Load, Select


@lru_cache(1 << 14)  # asked again and again of the same
def is_pure(expr: Expr) -> bool:
    """Whether evaluating it twice in a row gives the same value twice and changes nothing."""
    return not (isinstance(expr, Call) and not expr.pure) and all(map(is_pure, children(expr)))


@lru_cache(1 << 14)
def may_change(*exprs: Expr) -> bool:
    """Whether one may have another value later, with the same values of its variables: it loads, or calls."""
    return any(isinstance(node, Load | Call) for node in walk(exprs))


def stays(expr: Expr, names: Set[str], arrays: Set[str]) -> bool:
    """Whether it has one value while these variables, and elements of these arrays, change."""
    calls = any(isinstance(node, Call) for node in walk(expr))
    return not calls and names.isdisjoint(variables(expr)) and arrays.isdisjoint(loaded(expr))


@lru_cache(1 << 14)
def is_total(expr: Expr) -> bool:
    """Whether it may be evaluated, or not evaluated, at will: pure, free of loads, defined for all values."""
    return is_pure(expr) and is_total_operation(expr) and all(map(is_total, children(expr)))


@lru_cache(1 << 14)
def may_be_dropped(expr: Expr) -> bool:
    """Is nothing lost where it is not evaluated? It may load, which is in bounds if the program evaluates it."""
    may_go = isinstance(expr, Load) or (is_pure(expr) and is_total_operation(expr))
    return may_go and all(map(may_be_dropped, children(expr)))


def evaluated(expr: Expr) -> tuple[Expr, ...]:
    """The operands that are evaluated whenever the expression is."""
    match expr:
        case Select(cond):
            return (cond,)
        case Binary(op, left) if op in LOGICAL:
            return (left,)
    return tuple(children(expr))


def is_total_operation(node: Expr) -> bool:
    """Whether this operation, but for its operands, loads nothing and is defined for all values."""
    match node:
        case Load():  # may be out of bounds
            return False
        case Binary(op, _, right) if op in DIVISIONS:
            return isinstance(right, Const) and right.value != 0
        case Binary("<<" | ">>", left, right):  # by too much is undefined
            return isinstance(right, Const) and 0 <= right.value < left.dtype.bits
        case Cast(arg, dtype):  # a float out of range is undefined
            return not (arg.dtype.is_float and dtype.is_integer)
        case _:
            return True
