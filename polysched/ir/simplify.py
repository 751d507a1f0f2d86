"""Algebra on the loop IR: what a smaller expression computes to the bit, it computes.

    A[i * 1 + 2 - 3] = B[i] * 1.0 + 0.0     ->      A[i - 1] = B[i] + 0.0
    for j in 3..3:
        A[j] = A[i]                         ->
    if n - n > 0 || i < 4:                  ->      if i < 4:
        A[0] = 1.0                                      A[0] = 1.0

`RULES` is the table: (pattern, what it becomes, conditions). `x`, `y`, `z` stand for any expression, the same one
where a name repeats; `c`, `d` for constants; a number for that constant. What a rule builds is itself simplified, so
`x + (c + d)` folds. Integers wrap, so nothing here assumes that i + 1 > i. Floats change only where no bit of the
result does: x + 0.0 stays, since -0.0 + 0.0 is 0.0.

Keeps: every trap and effect, which elements are loaded and stored, and their order. Idempotent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

import numpy as np

from polysched.ir.dtypes import DType, boolean
from polysched.ir.effects import is_total
from polysched.ir.interp import evaluate
from polysched.ir.node import map_children, map_list
from polysched.ir.nodes import DIVISIONS, Alloc, Binary, Cast, Const, Expr, For, If, Let, Stmt, Unary, Var
from polysched.ir.patterns import Hole, Rule, Shape, call, integer, lift, shape, total, where


def simplify(node: Any) -> Any:
    """The function, statement, statement list or expression, simplified; the same object if there is nothing to do.

    A statement that does nothing becomes the empty tuple.
    """
    if isinstance(node, tuple):
        return map_list(node, simplify)
    if isinstance(node, Const | Var):
        return node
    if isinstance(node, Expr):
        simpler = _simpler(node)
        return node if simpler is None else simpler
    rebuilt = map_children(node, simplify)
    if isinstance(rebuilt, If | For) and (stmt := _simpler_statement(rebuilt)) is not None:
        return stmt
    return rebuilt


@lru_cache(1 << 14)  # the same bounds and subscripts stand at many places, and most are simple
def _simpler(expr: Expr) -> Expr | None:
    """`expr` simplified; None if it is."""
    rebuilt: Expr = map_children(expr, simplify)
    simpler = _reduced(rebuilt)
    return None if simpler is expr else simpler


def _reduced(expr: Expr) -> Expr:
    """The first step that applies, and so on until none does."""
    while (simpler := _step(expr)) is not None:
        expr = simpler
    return expr


def _step(expr: Expr) -> Expr | None:
    folded = _folded(expr)
    if folded is not None:
        return folded
    if isinstance(expr, Cast):
        return _simpler_cast(expr)
    for rule in _rules_for(shape(expr)):
        simpler = rule.apply(expr, _reduced)
        if simpler is not None:
            return simpler
    return None


x, y, z = Hole("x"), Hole("y"), Hole("z")
c, d = Hole("c", constant=True), Hole("d", constant=True)
minus, minimum, maximum, truncdiv, truncmod = map(call, ("-", "min", "max", "truncdiv", "truncmod"))
both, either, negated, select, equal, unequal = map(call, ("&&", "||", "!", "?:", "==", "!="))

# negative, and so not its own negative, as the least integer of a type is
negative = where(lambda c: -(1 << c.dtype.bits - 1) < c.value < 0, c)
positive, not_zero = where(lambda c: c.value > 0, c), where(lambda c: c.value != 0, c)
positive_product = where(lambda c, d: c.value > 0 and d.value > 0 and c.value * d.value < 1 << c.dtype.bits - 1, c, d)
positive_multiple = where(lambda c, d: c.value > 0 and d.value > 0 and c.value % d.value == 0, c, d)
multiple_of_power = where(lambda c, d: d.value > 0 and d.value.bit_count() == 1 and c.value % d.value == 0, c, d)


def _rules(kinds: str, *rows: tuple[Any, ...]) -> Iterator[Rule]:
    """Rules for operands of these kinds of dtype; a select is of the kind of its branches."""
    for before, after, *conditions in rows:
        yield Rule(kinds, before, lift(after), tuple(conditions))


_INTEGER_RULES = _rules(
    "iu",
    # constants to the right, and together
    (c + x, x + c),
    (c * x, x * c),
    (minimum(c, x), minimum(x, c)),
    (maximum(c, x), maximum(x, c)),
    ((x + c) + d, x + (c + d)),
    ((x + c) - d, x + (c - d)),
    ((x - c) + d, x + (d - c)),
    ((x - c) - d, x - (c + d)),
    ((x * c) * d, x * (c * d)),
    (minimum(minimum(x, c), d), minimum(x, minimum(c, d))),
    (maximum(maximum(x, c), d), maximum(x, maximum(c, d))),
    (equal(x + c, d), equal(x, d - c)),
    (equal(x - c, d), equal(x, d + c)),
    (unequal(x + c, d), unequal(x, d - c)),
    (unequal(x - c, d), unequal(x, d + c)),
    # sums
    (x + 0, x),
    (x - 0, x),
    (0 - x, -x),
    (x - x, 0, total(x)),
    (x + -y, x - y),
    (x - -y, x + y),
    (minus(minus(x)), x),
    ((x + y) - x, y, total(x)),
    ((x + y) - y, x, total(y)),
    ((x - y) + y, x, total(y)),
    # products and quotients
    (x * 1, x),
    (x * 0, 0, total(x)),
    (x // 1, x),
    (truncdiv(x, 1), x),
    (x % 1, 0, total(x)),
    (truncmod(x, 1), 0, total(x)),
    ((x // c) // d, x // (c * d), positive_product),
    ((x % c) % c, x % c),
    (truncmod(truncmod(x, c), c), truncmod(x, c)),
    ((x % c) % d, x % d, positive_multiple),
    ((x % c) // c, 0, total(x), positive),
    ((x // c) * c + x % c, x, not_zero),
    (x % c + (x // c) * c, x, not_zero),
    (truncdiv(x, c) * c + truncmod(x, c), x, not_zero),
    (truncmod(x, c) + truncdiv(x, c) * c, x, not_zero),
    # remainders by powers of two, which wrapping changes nothing of
    ((x * c) % d, 0, total(x), multiple_of_power),
    ((x * c + y) % d, y % d, total(x), multiple_of_power),
    ((y + x * c) % d, y % d, total(x), multiple_of_power),
    ((y - x * c) % d, y % d, total(x), multiple_of_power),
    # bits
    (x & 0, 0, total(x)),
    (x | 0, x),
    (x ^ 0, x),
    (x << 0, x),
    (x >> 0, x),
    ((x & c) & d, x & (c & d)),
    (x & x, x),
    (x | x, x),
    (x ^ x, 0, total(x)),
    (~~x, x),
    # order
    (minimum(minimum(x, y), x), minimum(x, y)),
    (minimum(minimum(x, y), y), minimum(x, y)),
    (maximum(maximum(x, y), x), maximum(x, y)),
    (maximum(maximum(x, y), y), maximum(x, y)),
    (equal(x, x), True, total(x)),
    (unequal(x, x), False, total(x)),
    (x < x, False, total(x)),
    (x > x, False, total(x)),
    (x <= x, True, total(x)),
    (x >= x, True, total(x)),
)

_SIGNED_RULES = _rules(
    "i",
    (x + c, x - (-c), negative),
    (x - c, x + (-c), negative),
)

_FLOAT_RULES = _rules(
    "f",
    (x + -0.0, x),
    (-0.0 + x, x),
    (x - 0.0, x),
    (x * 1.0, x),
    (1.0 * x, x),
    (x / 1.0, x),
    (x + -y, x - y),
    (x - -y, x + y),
    (minus(minus(x)), x),
)

_NUMBER_RULES = _rules(
    "fiu",
    (minimum(x, x), x),
    (maximum(x, x), x),
)

_BOOLEAN_RULES = _rules(
    "b",
    (both(True, x), x),
    (both(x, True), x),
    (both(False, x), False),
    (both(x, False), False, total(x)),
    (both(x, x), x),
    (either(False, x), x),
    (either(x, False), x),
    (either(True, x), True),
    (either(x, True), True, total(x)),
    (either(x, x), x),
    (negated(negated(x)), x),
    (negated(equal(x, y)), unequal(x, y)),
    (negated(unequal(x, y)), equal(x, y)),
    (negated(x < y), x >= y, integer(x)),
    (negated(x > y), x <= y, integer(x)),
    (negated(x <= y), x > y, integer(x)),
    (negated(x >= y), x < y, integer(x)),
    (equal(x, True), x),
    (equal(x, False), negated(x)),
    (unequal(x, False), x),
    (unequal(x, True), negated(x)),
    (select(x, True, False), x),
    (select(x, False, True), negated(x)),
    (select(x, y, False), both(x, y)),
    (select(x, True, y), either(x, y)),
)

_SELECT_RULES = _rules(
    "fiub",
    (select(True, x, y), x),
    (select(False, x, y), y),
    (select(z, x, x), x, total(z)),
    (select(negated(z), x, y), select(z, y, x)),
)

RULES = (*_INTEGER_RULES, *_SIGNED_RULES, *_FLOAT_RULES, *_NUMBER_RULES, *_BOOLEAN_RULES, *_SELECT_RULES)


@cache
def _rules_for(shape: Shape) -> tuple[Rule, ...]:
    return tuple(rule for rule in RULES if rule.suits(shape))


def _folded(expr: Expr) -> Const | None:
    """The constant that an operation on constants gives; none where it traps, is undefined or not finite."""
    match expr:
        case Binary(op, Const(), Const(value=-1)) if op in DIVISIONS:  # some processors trap on the least integer / -1
            return None
        case Unary(_, Const()) | Binary(_, Const(), Const()) | Cast(Const(), _):
            try:
                value = evaluate(expr, {})
            except (ZeroDivisionError, ValueError, OverflowError):
                return None
            return Const(value, expr.dtype) if math.isfinite(value) else None
        case _:
            return None


def _simpler_cast(cast: Cast) -> Expr | None:
    match cast:
        case Cast(arg, dtype) if arg.dtype == dtype:
            return arg
        case Cast(Cast(arg, between), dtype) if _holds_all_of(between, arg.dtype):
            return Cast(arg, dtype)
        case _:
            return None


def _holds_all_of(wide: DType, narrow: DType) -> bool:
    """Whether every value of `narrow` is one of `wide`."""
    rounds = wide.is_float and narrow.is_integer and narrow.bits == 64  # which numpy calls safe
    return np.can_cast(narrow.numpy, wide.numpy) and not rounds


def taken_branch(stmt: If, taken: tuple[Stmt, ...]) -> Stmt | tuple[Stmt, ...]:
    """What the statement does of which it is known that these run: `stmt` itself if that is no simpler."""
    if not any(isinstance(each, Let | Alloc) for each in taken):
        return taken
    always = If(Const(True, boolean), taken, (), stmt.loc)  # the branch ends the scope of its names
    return stmt if always == stmt else always


def _simpler_statement(stmt: If | For) -> Stmt | tuple[Stmt, ...] | None:
    match stmt:
        case If(Const(value=holds), then, other):
            return taken_branch(stmt, then if holds else other)
        case If(cond, (), ()) if is_total(cond):
            return ()
        case If(cond, (), other) if other:
            return If(_reduced(Unary("!", cond)), other, (), stmt.loc)
        case For(_, Const(value=lo), Const(value=hi), step) if not range(int(lo), int(hi), step):
            return ()
        case For(_, lo, hi, _, ()) if is_total(lo) and is_total(hi):
            return ()
        case _:
            return None
