"""Algebra on the loop IR: what a smaller expression computes to the bit, it computes.

    if n * 1 + 0 > n && true:                    if n > n      ->  (nothing)
    A[(i + 1) + 2 - 4] = 0 + B[i] * 1       ->  A[i - 1] = B[i]
    for i in 3..3: ...                       ->  (nothing)

`RULES` is the table: (pattern, what it becomes, conditions). `x` and `y` stand for any expression, the same one where
a name repeats; `c` and `d` for constants; a number for that constant. What a rule builds is itself simplified, so
`x + (c + d)` folds. Integers wrap, so nothing here assumes that i + 1 > i. Floats change only where no bit of the
result does: x + 0.0 stays, since -0.0 + 0.0 is 0.0.

Keeps: every trap, load and effect, and the order of those that stay. Idempotent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from polysched.ir.dtypes import DType, boolean
from polysched.ir.effects import is_pure, is_total
from polysched.ir.interp import evaluate
from polysched.ir.node import rewrite
from polysched.ir.nodes import (
    COMPARISONS,
    DIVISIONS,
    Alloc,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    For,
    If,
    Let,
    Select,
    Stmt,
    Unary,
)


def simplify(node: Any) -> Any:
    """The function, statement, statement list or expression, simplified; the same object if there is nothing to do.

    A statement that does nothing becomes the empty tuple.
    """
    return rewrite(node, _simpler)


def _simpler(node: Any) -> Any | None:
    """`node`, whose children are simplified, simplified; None if it is."""
    match node:
        case Expr():
            simpler = _reduced(node)
            return None if simpler is node else simpler
        case If() | For():
            return _simpler_statement(node)
        case _:
            return None


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
    for rule in _RULES_OF.get(_operator(expr), ()):
        simpler = rule.apply(expr)
        if simpler is not None:
            return simpler
    return None


# --- the language of rules


@dataclass(frozen=True, eq=False)
class Pattern:
    """Base of patterns, which are built by Python's operators; `//` and `%` are floordiv and floormod."""

    def __add__(self, other: Operand) -> Pattern:
        return Node("+", (self, _lift(other)))

    def __radd__(self, other: Operand) -> Pattern:
        return Node("+", (_lift(other), self))

    def __sub__(self, other: Operand) -> Pattern:
        return Node("-", (self, _lift(other)))

    def __rsub__(self, other: Operand) -> Pattern:
        return Node("-", (_lift(other), self))

    def __mul__(self, other: Operand) -> Pattern:
        return Node("*", (self, _lift(other)))

    def __rmul__(self, other: Operand) -> Pattern:
        return Node("*", (_lift(other), self))

    def __truediv__(self, other: Operand) -> Pattern:
        return Node("/", (self, _lift(other)))

    def __floordiv__(self, other: Operand) -> Pattern:
        return Node("floordiv", (self, _lift(other)))

    def __mod__(self, other: Operand) -> Pattern:
        return Node("floormod", (self, _lift(other)))

    def __and__(self, other: Operand) -> Pattern:
        return Node("&", (self, _lift(other)))

    def __or__(self, other: Operand) -> Pattern:
        return Node("|", (self, _lift(other)))

    def __xor__(self, other: Operand) -> Pattern:
        return Node("^", (self, _lift(other)))

    def __lshift__(self, other: Operand) -> Pattern:
        return Node("<<", (self, _lift(other)))

    def __rshift__(self, other: Operand) -> Pattern:
        return Node(">>", (self, _lift(other)))

    def __lt__(self, other: Operand) -> Pattern:
        return Node("<", (self, _lift(other)))

    def __le__(self, other: Operand) -> Pattern:
        return Node("<=", (self, _lift(other)))

    def __gt__(self, other: Operand) -> Pattern:
        return Node(">", (self, _lift(other)))

    def __ge__(self, other: Operand) -> Pattern:
        return Node(">=", (self, _lift(other)))

    def __neg__(self) -> Pattern:
        return Node("-", (self,))

    def __invert__(self) -> Pattern:
        return Node("~", (self,))


@dataclass(frozen=True, eq=False)
class Hole(Pattern):
    """Stands for any expression, or for any constant; one that repeats stands for one pure expression."""

    name: str
    constant: bool = False


@dataclass(frozen=True, eq=False)
class Number(Pattern):
    """Stands for the constant of that value; a bool is a bool, a number takes the dtype of what it stands in."""

    value: int | float | bool


@dataclass(frozen=True, eq=False)
class Node(Pattern):
    op: str  # of a Unary or Binary, or "?:" for Select
    args: tuple[Pattern, ...]


Operand = Pattern | int | float


def _lift(operand: Operand) -> Pattern:
    return operand if isinstance(operand, Pattern) else Number(operand)


def call(op: str) -> Callable[..., Pattern]:
    """The operator as a function, for those that Python has no sign for."""
    return lambda *args: Node(op, tuple(map(_lift, args)))


Found = dict[str, Expr]  # what the holes stand for
Condition = Callable[[Found], bool]


@dataclass(frozen=True, eq=False)
class Rule:
    """`before` may be replaced by `after` if the conditions hold."""

    kinds: str  # of the dtype of the operands: letters of DType.kind
    before: Node
    after: Pattern
    conditions: tuple[Condition, ...]

    def apply(self, expr: Expr) -> Expr | None:
        """What the rule makes of `expr`, whose operands are simplified; None where it does not apply."""
        found: Found = {}
        if not self.matches(expr, found):
            return None
        return _instance(self.after, found, expr.dtype)

    def matches(self, expr: Expr, found: Found) -> bool:
        """Whether the rule applies; fills `found`."""
        if not _matches(self.before, expr, found):
            return False
        return _operands(expr)[-1].dtype.kind in self.kinds and all(holds(found) for holds in self.conditions)


def _matches(pattern: Pattern, expr: Expr, found: Found) -> bool:
    match pattern:
        case Hole(name, constant):
            if name in found:
                return found[name] == expr and is_pure(expr)
            found[name] = expr
            return isinstance(expr, Const) or not constant
        case Number(value):
            return expr == Const(value, expr.dtype)
        case Node(op, args):
            operands = _operands(expr)
            return (op, len(args)) == _operator(expr) and all(map(_matches, args, operands, [found] * len(args)))
    raise TypeError(f"unknown pattern {type(pattern).__name__}")


def _instance(pattern: Pattern, found: Found, dtype: DType) -> Expr:
    """The simplified expression that the pattern describes; its numbers are of `dtype`."""
    match pattern:
        case Hole(name, _):
            return found[name]
        case Number(value):
            return Const(value, boolean if isinstance(value, bool) else dtype)
        case Node(op, args):
            return _reduced(_node(op, [_instance(arg, found, dtype) for arg in args]))
    raise TypeError(f"unknown pattern {type(pattern).__name__}")


def _node(op: str, args: list[Expr]) -> Expr:
    if op == "?:":
        return Select(*args)
    return Unary(op, *args) if len(args) == 1 else Binary(op, *args)


def _operator(expr: Expr) -> tuple[str, int]:
    """The operator and the number of its operands: unary and binary minus are two."""
    match expr:
        case Unary(op, _):
            return op, 1
        case Binary(op, _, _):
            return op, 2
        case Select():
            return "?:", 3
        case _:
            return "", 0


def _operands(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Unary(_, arg):
            return (arg,)
        case Binary(_, left, right):
            return left, right
        case Select(cond, then, other):
            return cond, then, other
        case _:
            return ()


# --- conditions


def total(*holes: Hole) -> Condition:
    """What these stand for may go: it cannot trap, loads nothing and has no effect."""
    return lambda found: all(is_total(found[hole.name]) for hole in holes)


def where(test: Callable[..., bool], *holes: Hole) -> Condition:
    """The test holds of the constants that these stand for."""
    return lambda found: test(*(found[hole.name] for hole in holes))


def _is_negative(c: Const) -> bool:
    """... and so is not its own negative, as the least integer of a type is."""
    return -(1 << c.dtype.bits - 1) < c.value < 0


def _have_positive_product(c: Const, d: Const) -> bool:
    return c.value > 0 and d.value > 0 and c.value * d.value < 1 << c.dtype.bits - 1


# --- the rules

x, y = Hole("x"), Hole("y")
c, d = Hole("c", constant=True), Hole("d", constant=True)
minimum, maximum, truncdiv, truncmod = call("min"), call("max"), call("truncdiv"), call("truncmod")
both, either, negated, select, equal, unequal = call("&&"), call("||"), call("!"), call("?:"), call("=="), call("!=")


def _rules(kinds: str, *rows: tuple[Any, ...]) -> Iterator[Rule]:
    """Rules for operands of these kinds of dtype; a select is of the kind of its branches."""
    for before, after, *conditions in rows:
        yield Rule(kinds, before, _lift(after), tuple(conditions))


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
    (--x, x),
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
    ((x // c) // d, x // (c * d), where(_have_positive_product, c, d)),
    ((x % c) % c, x % c),
    (truncmod(truncmod(x, c), c), truncmod(x, c)),
    # bits
    (x & 0, 0, total(x)),
    (x | 0, x),
    (x ^ 0, x),
    (x << 0, x),
    (x >> 0, x),
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
    (x + c, x - (-c), where(_is_negative, c)),
    (x - c, x + (-c), where(_is_negative, c)),
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
    (--x, x),
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
    (equal(x, True), x),
    (equal(x, False), negated(x)),
    (unequal(x, False), x),
    (unequal(x, True), negated(x)),
    (select(x, True, False), x),
    (select(x, False, True), negated(x)),
)

_SELECT_RULES = _rules(
    "fiub",
    (select(True, x, y), x),
    (select(False, x, y), y),
    (select(c, x, x), x, total(c)),
)

RULES: tuple[Rule, ...] = ()
_RULES_OF: dict[tuple[str, int], list[Rule]] = {}
