"""Short constructors for the loop IR; they fold nothing, so what is written is what is built.

    add(mul(2, var("i")), 1)    ->    Binary("+", Binary("*", Const(2), Var("i")), Const(1))

A Python number among the operands becomes a Const of the dtype of the others, of i64 when all are numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from polysched.errors import Loc
from polysched.ir.dtypes import DType, boolean, i64
from polysched.ir.nodes import Array, Binary, Const, Expr, If, Load, Stmt, Store, Unary, Var

Operand = Expr | int | float


const, var = Const, Var


def zero(dtype: DType) -> Const:
    return Const(0.0 if dtype.is_float else 0 if dtype.is_integer else False, dtype)


def binary(op: str, first: Operand, *rest: Operand) -> Expr:
    """`((first op second) op third) ...`; the operand itself when it is alone."""
    dtype = next((x.dtype for x in (first, *rest) if isinstance(x, Expr)), i64)
    result = lift(first, dtype)
    for operand in rest:
        result = Binary(op, result, lift(operand, dtype))
    return result


def combined(op: str, left: Expr | None, right: Expr | None) -> Expr | None:
    """`left op right`; None if one of them is."""
    return None if left is None or right is None else Binary(op, left, right)


add, sub, mul, floordiv, floormod = (partial(binary, op) for op in ("+", "-", "*", "floordiv", "floormod"))


def conjunction(conditions: Iterable[Expr]) -> Expr:
    """All of them, tested left to right; true when there are none."""
    conditions = tuple(conditions)
    return binary("&&", *conditions) if conditions else Const(True, boolean)


def where(conditions: Iterable[Expr], *body: Stmt) -> tuple[Stmt, ...]:
    """The statements, where all of the conditions hold."""
    conditions = tuple(conditions)
    return (If(conjunction(conditions), body),) if conditions else body


def branch(cond: Expr, then: tuple[Stmt, ...], other: tuple[Stmt, ...], loc: Loc | None) -> tuple[Stmt, ...]:
    """A branch whose sides may have become empty; nothing if both are."""
    if then:
        return (If(cond, then, other, loc),)
    return (If(Unary("!", cond), other, (), loc),) if other else ()


def load(array: Array, *index: Operand) -> Load:
    return Load(array.name, tuple(lift(x) for x in index), array.dtype)


def store(array: Array, index: Iterable[Operand], value: Operand) -> Store:
    return Store(array.name, tuple(lift(x) for x in index), lift(value, array.dtype))


def lift(operand: Operand, dtype: DType = i64) -> Expr:
    """The operand as an Expr: a number becomes a Const of `dtype`."""
    return operand if isinstance(operand, Expr) else Const(operand, dtype)
