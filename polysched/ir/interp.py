"""The interpreter: runs a function on numpy arrays in place, slowly and obviously. Later stages are held against it.

    interpret(fn, {"n": 4, "A": array})                the arrays now hold the result
    interpret(fn, {"n": 4, "A": array}, log=touches)   ... and `touches` every access, in order

The meaning of each node is the one stated in nodes.py, to the bit (arithmetic.py). What C leaves undefined is an error
here, a subscript outside of its array too. Loops of every kind run serially, first iteration first; the threads of a
block that meet at barriers or share memory run in turns, each up to the next barrier.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from polysched.errors import LaunchError
from polysched.ir import nodes as ir
from polysched.ir.arithmetic import Value, binary, call, cast, fit, unary
from polysched.ir.defaults import default_arguments
from polysched.ir.node import statements
from polysched.support import clock

Values = dict[str, Any]  # what is bound: numbers, arrays, and these two, which no name of the IR can be
_ITERATION = "<iteration>"  # values of the loop variables, outermost first
_SHARED = "<shared>"  # the arrays that the threads of this block share; None outside of threads


@dataclass(frozen=True, eq=False)
class Touch:
    """One access that happened."""

    kind: Literal["read", "write"]
    array: str
    index: tuple[int, ...]
    statement: ir.Stmt  # the very object that ran: compare with `is`
    iteration: tuple[int, ...]  # values of the loop variables around the statement, outermost first


def interpret(fn: ir.Function, arguments: Mapping[str, Any], log: list[Touch] | None = None) -> None:
    """Runs `fn` on `arguments`, which name every size, scalar and array without a default; arrays are changed in place.

    Raises ZeroDivisionError, and IndexError naming array and index (a negative subscript is out of bounds too).
    LaunchError for an array of its own that takes more memory than is sensible here; BudgetExceeded when the time of
    what runs now is up (`clock.running`).
    """
    arguments = {**default_arguments(fn), **arguments}
    values: Values = {name: int(arguments[name]) for name in fn.sizes}
    values |= {scalar.name: fit(scalar.dtype)(np.asarray(arguments[scalar.name]).item()) for scalar in fn.scalars}
    values |= {array.name: _checked(array, arguments[array.name], values) for array in fn.arrays}
    with np.errstate(all="ignore"):
        _Compiler(log).block(fn.body)(values | {_ITERATION: (), _SHARED: None})


def evaluate(expr: ir.Expr, values: Mapping[str, Value]) -> Value:
    """The value of an expression without loads, given those of its variables."""
    with np.errstate(all="ignore"):
        return compiled(expr)(dict(values))


def compiled(expr: ir.Expr) -> Callable[[dict[str, Value]], Value]:
    """An expression without loads as a function of the values of its variables, to be evaluated often; it raises
    KeyError if one of them is missing."""
    return _Compiler(None).expr(expr)


def _checked(array: ir.Array, given: Any, values: Values) -> np.ndarray:
    shape = tuple(evaluate(extent, values) for extent in array.shape)
    if not isinstance(given, np.ndarray) or given.shape != shape or given.dtype != array.dtype.numpy:
        what = f"{given.dtype}{list(given.shape)}" if isinstance(given, np.ndarray) else type(given).__name__
        raise ValueError(f"{array.name} must be a numpy array {array.dtype.numpy}{list(shape)}, not {what}")
    return given


@dataclass
class _Compiler:
    """Turns nodes into Python closures over the values that are bound."""

    log: list[Touch] | None
    statement: ir.Stmt | None = None  # the one being compiled

    def block(self, statements: tuple[ir.Stmt, ...]) -> Callable[[Values], None]:
        actions = [self.stmt(s) for s in statements]

        def run(values: Values) -> None:
            for action in actions:
                action(values)

        return run

    def stmt(self, stmt: ir.Stmt) -> Callable[[Values], None]:
        self.statement = stmt
        match stmt:
            case ir.Let():
                return self.let(stmt)
            case ir.Store():
                return self.store(stmt)
            case ir.For() if _is_thread_loop(stmt) and _threads_meet(stmt):
                return self.thread_block(stmt)
            case ir.For():
                return self.loop(stmt)
            case ir.If():
                return self.branch(stmt)
            case ir.Alloc():
                return self.alloc(stmt)
            case ir.Barrier():  # outside of thread loops there is nobody to wait for
                return lambda values: None
            case ir.Prefetch(index=index):
                place = self.subscript(index)
                return lambda values: (place(values), None)[1]
        raise TypeError(f"unknown statement {type(stmt).__name__}")

    def let(self, stmt: ir.Let) -> Callable[[Values], None]:
        name, value = stmt.name, self.expr(stmt.value)

        def run(values: Values) -> None:
            values[name] = value(values)

        return run

    def store(self, stmt: ir.Store) -> Callable[[Values], None]:
        value, index, name = self.expr(stmt.value), self.subscript(stmt.index), stmt.array
        note = self.note("write", name)

        def run(values: Values) -> None:
            new, at, array = value(values), index(values), values[name]
            _check_bounds(name, array, at)
            note(at, values)
            array[at] = new

        return run

    def loop(self, stmt: ir.For) -> Callable[[Values], None]:
        iterations, body, var = self.iterations(stmt), self.block(stmt.body), stmt.var

        def run(values: Values) -> None:
            clock.check("the interpreter")
            around = values[_ITERATION]
            for i in iterations(values):
                values[var], values[_ITERATION] = i, (*around, i)
                body(values)
            values[_ITERATION] = around

        return run

    def iterations(self, stmt: ir.For) -> Callable[[Values], range]:
        lo, hi, step = self.expr(stmt.lo), self.expr(stmt.hi), stmt.step
        return lambda values: range(lo(values), hi(values), step)

    def branch(self, stmt: ir.If) -> Callable[[Values], None]:
        cond = self.expr(stmt.cond)
        then, other = self.block(stmt.then), self.block(stmt.other)
        return lambda values: then(values) if cond(values) else other(values)

    def alloc(self, stmt: ir.Alloc) -> Callable[[Values], None]:
        """Uninitialized memory holds something unlikely, so that reading it shows."""
        name, dtype, is_shared = stmt.array.name, stmt.array.dtype.numpy, stmt.array.space == "shared"
        shape = [self.expr(extent) for extent in stmt.array.shape]
        poison = {"f": math.nan, "b": True}.get(stmt.array.dtype.kind, 0x5A)

        def run(values: Values) -> None:
            extents = [extent(values) for extent in shape]
            _require_memory(name, extents, dtype)
            values[name] = np.full(extents, poison, dtype)
            if is_shared and values[_SHARED] is not None:  # the first thread to come makes it for all
                values[name] = values[_SHARED].setdefault(name, values[name])

        return run

    def thread_block(self, stmt: ir.For) -> Callable[[Values], None]:
        threads = self.threads(stmt)

        def run(values: Values) -> None:
            for _ in threads(values | {_SHARED: {}}):
                pass  # all have reached the barrier: on to the next

        return run

    def threads(self, stmt: ir.For) -> Callable[[Values], Iterator[None]]:
        """All threads of the loop in turns, giving way (yield) at each barrier; each has its copy of what is bound."""
        iterations, body, var = self.iterations(stmt), self.steps(stmt.body), stmt.var

        def run(values: Values) -> Iterator[None]:
            around = values[_ITERATION]
            threads = [body(values | {var: i, _ITERATION: (*around, i)}) for i in iterations(values)]
            while threads:
                waiting = [thread for thread in threads if next(thread, "ended") is None]
                if waiting and len(waiting) < len(threads):
                    raise ValueError(f"some threads {var} wait at a barrier that others never reach")
                threads = waiting
                if threads:
                    yield

        return run

    def steps(self, statements: tuple[ir.Stmt, ...]) -> Callable[[Values], Iterator[None]]:
        actions = [self.step(s) for s in statements]

        def run(values: Values) -> Iterator[None]:
            for action in actions:
                yield from action(values)

        return run

    def step(self, stmt: ir.Stmt) -> Callable[[Values], Iterator[None]]:
        self.statement = stmt
        match stmt:
            case ir.Barrier():
                return lambda values: iter((None,))
            case ir.If(cond, then, other) if _threads_meet(stmt):
                test, yes, no = self.expr(cond), self.steps(then), self.steps(other)
                return lambda values: yes(values) if test(values) else no(values)
            case ir.For() if _threads_meet(stmt):
                return self.threads(stmt) if _is_thread_loop(stmt) else self.loop_in_steps(stmt)
            case _:
                return _at_once(self.stmt(stmt))

    def loop_in_steps(self, stmt: ir.For) -> Callable[[Values], Iterator[None]]:
        iterations, body, var = self.iterations(stmt), self.steps(stmt.body), stmt.var

        def run(values: Values) -> Iterator[None]:
            around = values[_ITERATION]
            for i in iterations(values):
                values[var], values[_ITERATION] = i, (*around, i)
                yield from body(values)
            values[_ITERATION] = around

        return run

    def expr(self, expr: ir.Expr) -> Callable[[Values], Value]:
        match expr:
            case ir.Const(value, dtype):
                constant = fit(dtype)(value)
                return lambda values: constant
            case ir.Var(name, _):
                return operator.itemgetter(name)
            case ir.Load():
                return self.load(expr)
            case ir.Unary(op, arg):
                return _after(unary(op, arg.dtype), self.expr(arg))
            case ir.Binary("&&", left, right):
                first, second = self.expr(left), self.expr(right)
                return lambda values: first(values) and second(values)
            case ir.Binary("||", left, right):
                first, second = self.expr(left), self.expr(right)
                return lambda values: first(values) or second(values)
            case ir.Binary(op, left, right):
                return _after(binary(op, left.dtype), self.expr(left), self.expr(right))
            case ir.Select(cond, then, other):
                test, yes, no = self.expr(cond), self.expr(then), self.expr(other)
                return lambda values: yes(values) if test(values) else no(values)
            case ir.Call(fn, args, dtype, _):
                return _after(call(fn, len(args), dtype), *(self.expr(arg) for arg in args))
            case ir.Cast(arg, dtype):
                return _after(cast(arg.dtype, dtype), self.expr(arg))
        raise TypeError(f"unknown expression {type(expr).__name__}")

    def load(self, expr: ir.Load) -> Callable[[Values], Value]:
        index, name, note = self.subscript(expr.index), expr.array, self.note("read", expr.array)

        def run(values: Values) -> Value:
            at, array = index(values), values[name]
            _check_bounds(name, array, at)
            note(at, values)
            return array.item(*at)

        return run

    def subscript(self, index: tuple[ir.Expr, ...]) -> Callable[[Values], tuple[int, ...]]:
        parts = [self.expr(x) for x in index]
        return lambda values: tuple([part(values) for part in parts])

    def note(self, kind: Literal["read", "write"], array: str) -> Callable[[tuple[int, ...], Values], None]:
        """Logs an access of the statement being compiled."""
        log, statement = self.log, self.statement
        if log is None:
            return lambda index, values: None
        assert statement is not None
        return lambda index, values: log.append(Touch(kind, array, index, statement, values[_ITERATION]))


def _is_thread_loop(stmt: ir.For) -> bool:
    return stmt.kind.startswith("thread.")


def _threads_meet(stmt: ir.Stmt) -> bool:
    """Whether threads that run it cannot run one after the other."""
    inside = statements(stmt)
    return any(isinstance(s, ir.Barrier) or (isinstance(s, ir.Alloc) and s.array.space == "shared") for s in inside)


def _at_once(action: Callable[[Values], None]) -> Callable[[Values], Iterator[None]]:
    """The action as one that gives way, but never does."""

    def run(values: Values) -> Iterator[None]:
        action(values)
        yield from ()

    return run


def _require_memory(name: str, extents: list[int], dtype: str) -> None:
    size = math.prod(max(0, extent) for extent in extents) * np.dtype(dtype).itemsize
    if size > _MOST_BYTES:
        raise LaunchError(
            f"'{name}' of {' x '.join(map(str, extents))} elements takes {size:.1e} bytes, and the interpreter "
            f"allocates at most {_MOST_BYTES:.1e} for one array"
        )


_MOST_BYTES = 1 << 30


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
