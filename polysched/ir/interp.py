"""The interpreter: runs a function on numpy arrays in place, slowly and obviously. Later stages are held against it.

    interpret(fn, {"n": 4, "A": array})                the arrays now hold the result
    interpret(fn, {"n": 4, "A": array}, log=touches)   ... and `touches` every access, in order

The meaning of each node is the one stated in nodes.py, to the bit. Integers are Python ints, wrapped after each
operation; floats are Python floats, rounded to their dtype after each operation. (Rounding a float64 result to f32
or f16 equals computing in that type for + - * / and sqrt, since 53 >= 2 * 24 + 2: Figueroa, SIGNUM 1995.)
What C leaves undefined is an error here: a subscript outside of its array, a shift by more than the width,
a float that does not fit the integer it is cast to. Loops of every kind run serially, first iteration first.
"""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import numpy as np

from polysched.ir.dtypes import DType, f16, f32, f64
from polysched.ir.nodes import (
    COMPARISONS,
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

Value = Any  # int, float or bool: what `dtype` says
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
    values.update({scalar.name: _fit(scalar.dtype)(arguments[scalar.name]) for scalar in fn.scalars})
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
                constant = _fit(dtype)(value)
                return lambda values: constant
            case Var(name, _):
                return operator.itemgetter(name)
            case Load():
                return self.load(expr)
            case Unary(op, arg):
                return _after(_unary(op, arg.dtype), self.expr(arg))
            case Binary("&&", left, right):
                first, second = self.expr(left), self.expr(right)
                return lambda values: first(values) and second(values)
            case Binary("||", left, right):
                first, second = self.expr(left), self.expr(right)
                return lambda values: first(values) or second(values)
            case Binary(op, left, right):
                return _after(_binary(op, left.dtype), self.expr(left), self.expr(right))
            case Select(cond, then, other):
                test, yes, no = self.expr(cond), self.expr(then), self.expr(other)
                return lambda values: yes(values) if test(values) else no(values)
            case Call(fn, args, dtype, _):
                return _after(_call(fn, len(args), dtype), *(self.expr(arg) for arg in args))
            case Cast(arg, dtype):
                return _after(_cast(arg.dtype, dtype), self.expr(arg))
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


# --- operations on values: each maker returns a function of Python numbers


@cache
def _unary(op: str, dtype: DType) -> Callable[[Value], Value]:
    if op == "!":
        return operator.not_
    fit, raw = _fit(dtype), {"-": operator.neg, "~": operator.invert}[op]
    return lambda x: fit(raw(x))


@cache
def _binary(op: str, dtype: DType) -> Callable[[Value, Value], Value]:
    if op in COMPARISONS:
        return _COMPARISONS[op]
    if op in ("min", "max"):
        return _minimum if op == "min" else _maximum
    if op in ("<<", ">>"):
        return _shift(op, dtype)
    fit = _fit(dtype)
    raw = _float_division if op == "/" else _RAW[op]
    return lambda x, y: fit(raw(x, y))


def _float_division(x: float, y: float) -> float:
    """Python's, but for a zero divisor, where IEEE 754 has infinities and NaN."""
    if y != 0:
        return x / y
    if x == 0 or math.isnan(x):
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1.0, y)


def _truncdiv(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _truncmod(x: int, y: int) -> int:
    return x - y * _truncdiv(x, y)


def _minimum(a: Value, b: Value) -> Value:
    return b if b < a else a


def _maximum(a: Value, b: Value) -> Value:
    return b if b > a else a


_COMPARISONS: dict[str, Callable[[Value, Value], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_RAW: dict[str, Callable[[Value, Value], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
    "truncdiv": _truncdiv,
    "truncmod": _truncmod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


def _shift(op: str, dtype: DType) -> Callable[[int, int], int]:
    fit, raw = _fit(dtype), _RAW[op]

    def run(x: int, count: int) -> int:
        if not 0 <= count < dtype.bits:
            raise ValueError(f"a shift of {dtype} by {count} is undefined; counts go from 0 to {dtype.bits - 1}")
        return fit(raw(x, count))

    return run


@cache
def _fit(dtype: DType) -> Callable[[Value], Value]:
    """Brings a Python number into the range (integers wrap) and precision of `dtype`."""
    mask, sign = (1 << dtype.bits) - 1, 1 << (dtype.bits - 1)
    match dtype.kind:
        case "i":
            return lambda x: ((x + sign) & mask) - sign
        case "u":
            return lambda x: x & mask
        case "b":
            return bool
        case "f":
            return _round[dtype]
    raise TypeError(f"unknown dtype {dtype}")


# numpy rounds once from int64 as from float64, so integers must not pass through a Python float.
_round: dict[DType, Callable[[Value], float]] = {
    f64: float,
    f32: lambda x: float(np.float32(x)),
    f16: lambda x: float(np.float16(x)),
}


@cache
def _cast(source: DType, target: DType) -> Callable[[Value], Value]:
    if target.kind == "b":
        return bool
    fit = _fit(target)
    if source.is_float and target.is_integer:

        def truncate(x: float) -> int:
            if not math.isfinite(x) or fit(int(x)) != int(x):
                raise OverflowError(f"the cast of {x} to {target} is undefined: it does not fit")
            return int(x)

        return truncate
    if source.is_integer and target.is_float:
        to_numpy = getattr(np, source.numpy)
        return lambda x: fit(to_numpy(x))
    return fit


# Arguments of each function of the C library that a Call may name.
_ARITY = {
    **dict.fromkeys(("sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p"), 1),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"), 1),
    **dict.fromkeys(("fabs", "floor", "ceil", "round", "trunc", "rint", "erf", "erfc", "tgamma"), 1),
    **dict.fromkeys(("pow", "atan2", "fmin", "fmax", "fmod", "hypot", "copysign"), 2),
    "fma": 3,
}


@cache
def _call(fn: str, arguments: int, dtype: DType) -> Callable[..., float]:
    """The function in the C library that serves `dtype`; f16 is computed in f32 and rounded."""
    if _ARITY.get(fn) != arguments or not dtype.is_float:
        raise ValueError(f"the interpreter knows no function {fn} of {arguments} arguments that returns {dtype}")
    library = ctypes.CDLL(None)  # libm is part of the Python process
    c_type, c_name = (ctypes.c_double, fn) if dtype == f64 else (ctypes.c_float, fn + "f")
    c_function = library[c_name]
    c_function.restype, c_function.argtypes = c_type, [c_type] * arguments
    fit = _fit(dtype)
    return lambda *args: fit(c_function(*args))
