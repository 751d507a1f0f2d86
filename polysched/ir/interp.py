"""The interpreter: runs a function on numpy arrays in place, slowly and obviously. Later stages are held against it.

    interpret(fn, {"n": 4, "A": array})                the arrays now hold the result
    interpret(fn, {"n": 4, "A": array}, log=touches)   ... and `touches` every access, in order

The meaning of each node is the one stated in nodes.py, to the bit (arithmetic.py). What C leaves undefined is an error
here, a subscript outside of its array too. Loops of every kind run serially, first iteration first.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from polysched.ir.arithmetic import Value, binary, call, cast, fit, unary
from polysched.ir.nodes import (
    Alloc,
    Array,
    Barrier,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    For,
    Function,
    If,
    Let,
    Load,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
)

Values = dict[str, Value]


@dataclass(frozen=True, eq=False)
class Touch:
    """One access that happened."""

    kind: Literal["read", "write"]
    array: str
    index: tuple[int, ...]
    statement: Stmt  # the very object that ran: compare with `is`
    iteration: tuple[int, ...]  # values of the loop variables around the statement, outermost first


def interpret(fn: Function, arguments: Mapping[str, Any], log: list[Touch] | None = None) -> None:
    """Runs `fn` on `arguments`, which name every size, scalar and array; arrays are changed in place.

    Raises ZeroDivisionError, and IndexError naming array and index (a negative subscript is out of bounds too).
    """
    values: Values = {name: int(arguments[name]) for name in fn.sizes}
    values.update({scalar.name: fit(scalar.dtype)(arguments[scalar.name]) for scalar in fn.scalars})
    machine = _Machine(log)
    for array in fn.arrays:
        machine.arrays[array.name] = _checked(array, arguments[array.name], values)
    with np.errstate(all="ignore"):
        machine.block(fn.body)(values)


def evaluate(expr: Expr, values: Mapping[str, Value]) -> Value:
    """The value of an expression without loads, given those of its variables."""
    with np.errstate(all="ignore"):
        return _Machine(None).expr(expr)(dict(values))


def _checked(array: Array, given: Any, values: Values) -> np.ndarray:
    shape = tuple(evaluate(extent, values) for extent in array.shape)
    if not isinstance(given, np.ndarray) or given.shape != shape or given.dtype != array.dtype.numpy:
        what = f"{given.dtype}{list(given.shape)}" if isinstance(given, np.ndarray) else type(given).__name__
        raise ValueError(f"{array.name} must be a numpy array {array.dtype.numpy}{list(shape)}, not {what}")
    return given


@dataclass
class _Machine:
    """Turns nodes into Python closures over `values`; holds the arrays, and where we are for the log."""

    log: list[Touch] | None
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    statement: Stmt | None = None  # the one being compiled
    iteration: list[int] = field(default_factory=list)  # of the loops being run

    # --- statements

    def block(self, statements: tuple[Stmt, ...]) -> Callable[[Values], None]:
        actions = [self.stmt(s) for s in statements]

        def run(values: Values) -> None:
            for action in actions:
                action(values)

        return run

    def stmt(self, stmt: Stmt) -> Callable[[Values], None]:
        self.statement = stmt
        match stmt:
            case Let():
                return self.let(stmt)
            case Store():
                return self.store(stmt)
            case For():
                return self.loop(stmt)
            case If():
                return self.branch(stmt)
            case Alloc():
                return self.alloc(stmt)
            case Barrier():
                return lambda values: None
        raise TypeError(f"unknown statement {type(stmt).__name__}")

    def let(self, stmt: Let) -> Callable[[Values], None]:
        name, value = stmt.name, self.expr(stmt.value)

        def run(values: Values) -> None:
            values[name] = value(values)

        return run

    def store(self, stmt: Store) -> Callable[[Values], None]:
        value, index, name, arrays = self.expr(stmt.value), self.subscript(stmt.index), stmt.array, self.arrays
        note = self.note("write", name)

        def run(values: Values) -> None:
            new = value(values)
            at = index(values)
            array = arrays[name]
            _check_bounds(name, array, at)
            note(at)
            array[at] = new

        return run

    def loop(self, stmt: For) -> Callable[[Values], None]:
        lo, hi = self.expr(stmt.lo), self.expr(stmt.hi)
        body, var, step, iteration = self.block(stmt.body), stmt.var, stmt.step, self.iteration

        def run(values: Values) -> None:
            iterations = range(lo(values), hi(values), step)
            iteration.append(0)
            for i in iterations:
                values[var] = iteration[-1] = i
                body(values)
            iteration.pop()

        return run

    def branch(self, stmt: If) -> Callable[[Values], None]:
        cond = self.expr(stmt.cond)
        then, other = self.block(stmt.then), self.block(stmt.other)
        return lambda values: then(values) if cond(values) else other(values)

    def alloc(self, stmt: Alloc) -> Callable[[Values], None]:
        """Uninitialised memory holds something unlikely, so that reading it shows."""
        array, arrays = stmt.array, self.arrays
        shape = [self.expr(extent) for extent in array.shape]
        poison = {"f": math.nan, "b": True}.get(array.dtype.kind, 0x5A)

        def run(values: Values) -> None:
            arrays[array.name] = np.full([extent(values) for extent in shape], poison, array.dtype.numpy)

        return run

    # --- expressions

    def expr(self, expr: Expr) -> Callable[[Values], Value]:
        match expr:
            case Const(value, dtype):
                constant = fit(dtype)(value)
                return lambda values: constant
            case Var(name, _):
                return operator.itemgetter(name)
            case Load():
                return self.load(expr)
            case Unary(op, arg):
                return _after(unary(op, arg.dtype), self.expr(arg))
            case Binary("&&", left, right):
                first, second = self.expr(left), self.expr(right)
                return lambda values: first(values) and second(values)
            case Binary("||", left, right):
                first, second = self.expr(left), self.expr(right)
                return lambda values: first(values) or second(values)
            case Binary(op, left, right):
                return _after(binary(op, left.dtype), self.expr(left), self.expr(right))
            case Select(cond, then, other):
                test, yes, no = self.expr(cond), self.expr(then), self.expr(other)
                return lambda values: yes(values) if test(values) else no(values)
            case Call(fn, args, dtype, _):
                return _after(call(fn, len(args), dtype), *(self.expr(arg) for arg in args))
            case Cast(arg, dtype):
                return _after(cast(arg.dtype, dtype), self.expr(arg))
        raise TypeError(f"unknown expression {type(expr).__name__}")

    def load(self, expr: Load) -> Callable[[Values], Value]:
        index, name, arrays, note = self.subscript(expr.index), expr.array, self.arrays, self.note("read", expr.array)

        def run(values: Values) -> Value:
            at = index(values)
            array = arrays[name]
            _check_bounds(name, array, at)
            note(at)
            return array.item(*at)

        return run

    def subscript(self, index: tuple[Expr, ...]) -> Callable[[Values], tuple[int, ...]]:
        parts = [self.expr(x) for x in index]
        return lambda values: tuple([part(values) for part in parts])

    def note(self, kind: Literal["read", "write"], array: str) -> Callable[[tuple[int, ...]], None]:
        """Logs an access of the statement being compiled."""
        log, statement, iteration = self.log, self.statement, self.iteration
        if log is None:
            return lambda index: None
        assert statement is not None
        return lambda index: log.append(Touch(kind, array, index, statement, tuple(iteration)))


def _check_bounds(name: str, array: np.ndarray, index: tuple[int, ...]) -> None:
    if len(index) != array.ndim or not all(0 <= i < extent for i, extent in zip(index, array.shape, strict=True)):
        raise IndexError(f"{name}{list(index)} is outside of {name}, whose shape is {list(array.shape)}")


def _after(fn: Callable[..., Value], *args: Callable[[Values], Value]) -> Callable[[Values], Value]:
    """fn of the values of its arguments."""
    if len(args) == 1:
        (only,) = args
        return lambda values: fn(only(values))
    if len(args) == 2:
        first, second = args
        return lambda values: fn(first(values), second(values))
    return lambda values: fn(*(arg(values) for arg in args))
