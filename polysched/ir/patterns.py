"""Rules for expressions, written as algebra and matched against the loop IR.

    x, c, d = Hole("x"), Hole("c", constant=True), Hole("d", constant=True)
    Rule("i", (x + c) + d, x + (c + d)).apply(i + 1 + 2, finish=fold)     ->  i + 3
    Rule("i", x - x, lift(0), (total(x),)).apply(i / j - i / j, ...)      ->  None: i / j may trap

A rule may apply where its pattern matches, the operands are of the kinds of dtype it names, and its conditions hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from polysched.ir.dtypes import DType, boolean
from polysched.ir.effects import is_pure, is_total
from polysched.ir.node import children
from polysched.ir.nodes import Binary, Const, Expr, Select, Unary


def _operator(op: str) -> Callable[[Pattern, Operand], Pattern]:
    return lambda left, right: Node(op, (left, lift(right)))


def _reflected(op: str) -> Callable[[Pattern, Operand], Pattern]:
    return lambda right, left: Node(op, (lift(left), right))


@dataclass(frozen=True, eq=False)
class Pattern:
    """Base of patterns, which are built by Python's operators; `//` and `%` are floordiv and floormod."""

    __add__, __radd__ = _operator("+"), _reflected("+")
    __sub__, __rsub__ = _operator("-"), _reflected("-")
    __mul__, __rmul__ = _operator("*"), _reflected("*")
    __truediv__, __floordiv__, __mod__ = map(_operator, ("/", "floordiv", "floormod"))
    __and__, __or__, __xor__, __lshift__, __rshift__ = map(_operator, ("&", "|", "^", "<<", ">>"))
    __lt__, __le__, __gt__, __ge__ = map(_operator, ("<", "<=", ">", ">="))

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


def lift(operand: Operand) -> Pattern:
    return operand if isinstance(operand, Pattern) else Number(operand)


def call(op: str) -> Callable[..., Pattern]:
    """The operator as a function, for those that Python has no sign for."""
    return lambda *args: Node(op, tuple(map(lift, args)))


CONSTANT = ("constant", 0)
Head = tuple[str, int]  # an operator and the number of its operands
Shape = tuple[Head, str, tuple[Head, ...]]  # the head, the kind of dtype of the last operand, the operands' heads
Found = dict[str, Expr]  # what the holes stand for
Condition = Callable[[Found], bool]


@dataclass(frozen=True, eq=False)
class Rule:
    """`before` may be replaced by `after` if the conditions hold."""

    kinds: str  # of the dtype of the operands: letters of DType.kind
    before: Node
    after: Pattern
    conditions: tuple[Condition, ...]

    def suits(self, shape: Shape) -> bool:
        """May the rule apply to expressions of this shape?"""
        head, kind, operands = shape
        return head == _head(self.before) and kind in self.kinds and all(map(_suits, self.before.args, operands))

    def apply(self, expr: Expr, finish: Callable[[Expr], Expr]) -> Expr | None:
        """`expr` by the rule, each operation that it builds passed through `finish`; None where it does not apply."""
        found: Found = {}
        if _operands(expr)[-1].dtype.kind not in self.kinds or not _matches(self.before, expr, found):
            return None
        if not all(holds(found) for holds in self.conditions):
            return None
        return instance(self.after, found, expr.dtype, finish)


def shape(expr: Expr) -> Shape:
    operands = _operands(expr)
    return head(expr), operands[-1].dtype.kind if operands else "", tuple(map(head, operands))


def _suits(pattern: Pattern, operand: Head) -> bool:
    match pattern:
        case Hole(_, constant):
            return not constant or operand == CONSTANT
        case Number():
            return operand == CONSTANT
        case Node():
            return operand == _head(pattern)
    raise TypeError(f"unknown pattern {type(pattern).__name__}")


def _head(pattern: Node) -> Head:
    return pattern.op, len(pattern.args)


def _matches(pattern: Pattern, expr: Expr, found: Found) -> bool:
    match pattern:
        case Hole(name, constant):
            if name in found:
                return found[name] == expr and is_pure(expr)
            found[name] = expr
            return isinstance(expr, Const) or not constant
        case Number(value):
            return expr == Const(value, expr.dtype)
        case Node(_, args):
            operands = _operands(expr)
            return _head(pattern) == head(expr) and all(map(_matches, args, operands, [found] * len(args)))
    raise TypeError(f"unknown pattern {type(pattern).__name__}")


def instance(pattern: Pattern, found: Found, dtype: DType, finish: Callable[[Expr], Expr] = lambda expr: expr) -> Expr:
    """The expression that the pattern describes, each operation passed through `finish`; its numbers are of `dtype`."""
    match pattern:
        case Hole(name, _):
            return found[name]
        case Number(value):
            return Const(value, boolean if isinstance(value, bool) else dtype)
        case Node(op, args):
            return finish(_node(op, [instance(arg, found, dtype, finish) for arg in args]))
    raise TypeError(f"unknown pattern {type(pattern).__name__}")


def _node(op: str, args: list[Expr]) -> Expr:
    if op == "?:":
        return Select(*args)
    return Unary(op, *args) if len(args) == 1 else Binary(op, *args)


def head(expr: Expr) -> Head:
    """The operator and the number of its operands: unary and binary minus are two."""
    match expr:
        case Binary(op, _, _):
            return op, 2
        case Const():
            return CONSTANT
        case Unary(op, _):
            return op, 1
        case Select():
            return "?:", 3
        case _:
            return "", 0


def _operands(expr: Expr) -> tuple[Expr, ...]:
    return tuple(children(expr)) if isinstance(expr, Binary | Unary | Select) else ()


def total(*holes: Hole) -> Condition:
    """What these stand for may go: it cannot trap, loads nothing and has no effect."""
    return lambda found: all(is_total(found[hole.name]) for hole in holes)


def integer(hole: Hole) -> Condition:
    return lambda found: found[hole.name].dtype.is_integer


def where(test: Callable[..., bool], *holes: Hole) -> Condition:
    """The test holds of the constants that these stand for."""
    return lambda found: test(*(found[hole.name] for hole in holes))
