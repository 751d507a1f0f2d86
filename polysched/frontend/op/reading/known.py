"""What is computed while an operator is read: with numbers, tuples, and sizes, which are expressions.

computed("//", N, 2)               N // 2
compared("<=", 0, N)               True: a size is zero or more
called("max", (N - 1, 0), {})      max(N - 1, 0)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.extents import is_at_least, normal
from polysched.ir.arithmetic import COMPARE, UNBOUNDED
from polysched.ir.dtypes import DType
from polysched.ir.nodes import OPPOSITE, Binary, Const, Expr


@dataclass(frozen=True)
class SymbolicRange:
    """A range whose number of iterations is not known."""

    extent: Any


def computed(op: str, left: Any, right: Any) -> Any:
    """left op right, by Python's operator; of sizes, + - * // % with integers alone."""
    if isinstance(left, Expr) or isinstance(right, Expr):
        return normal(Binary(OF_SIZES[op], extent(left), extent(right)))
    with _told("write numbers that it can be computed with"):
        return _OPERATORS[op](left, right)


def compared(op: str, left: Any, right: Any) -> bool:
    """Whether left op right, where that is known; InputError if it depends on sizes."""
    if isinstance(left, Expr) or isinstance(right, Expr):
        return _decided(op, extent(left), extent(right))
    if isinstance(left, tuple) and isinstance(right, tuple) and op in ("==", "!="):
        equal = len(left) == len(right) and all(compared("==", *pair) for pair in zip(left, right, strict=True))
        return equal == (op == "==")
    with _told("compare numbers, sizes and tuples of them"):
        return bool(COMPARE[op](left, right))


def called(name: str, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """What one of `FUNCTIONS` gives: a number, a size, a tuple or a range."""
    with _told(f"write '{name}' of numbers, sizes and tuples"):
        return _of_sizes(name, args) if any(isinstance(arg, Expr) for arg in args) else _called(name, args, keywords)


def _called(name: str, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    match name:
        case "min" | "max" if args:
            return reduce(partial(_extremum, name), args[0] if len(args) == 1 else args)
        case "sum" if args:
            return reduce(partial(computed, "+"), args[0], args[1] if len(args) > 1 else 0)
    found = FUNCTIONS[name](*args, **keywords)
    return found if isinstance(found, range | int | float | slice) else tuple(found)


def _of_sizes(name: str, args: tuple[Any, ...]) -> Any:
    match name, args:
        case "range", _:
            return SymbolicRange(args[-1] if len(args) < 3 else args[1])
        case (("min" | "max"), [first, *more]):
            return reduce(partial(_extremum, name), more, first)
        case "abs", [size]:
            return _extremum("max", size, computed("-", 0, size))
        case (("int" | "round"), [size]):
            return size
        case "bool", [size]:
            return compared("!=", size, 0)
        case "divmod", [left, right]:
            return computed("//", left, right), computed("%", left, right)
        case "isinstance", [_, kinds]:
            return isinstance(0, kinds)
        case "slice", _:
            return slice(*args)
    raise TypeError(f"{name}() of a size has no value yet")


def of_math(name: str, args: tuple[Any, ...]) -> Any:
    function = getattr(math, name, None)
    if function is None:
        raise InputError(f"Python's math has no '{name}'", None, "write functions that it has")
    with _told(f"write numbers that math.{name} takes"):
        return function(*args)


@contextmanager
def _told(hint: str) -> Iterator[None]:
    """Python's errors as InputErrors."""
    try:
        yield
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InputError(f"Python says: {error}", None, hint) from None


def extent(value: Any) -> Expr:
    if isinstance(value, Expr):
        return value
    if isinstance(value, int):
        return Const(int(value))
    raise InputError(f"{described(value)} is no size and no integer", None, "compute sizes with integers")


def described(value: Any) -> str:
    """A value in messages."""
    match value:
        case str():
            return "a string"
        case tuple():
            return "a tuple"
        case DType():
            return "a dtype"
    return f"'{getattr(value, '__name__', value)}'"


def _extremum(op: str, left: Any, right: Any) -> Any:
    if isinstance(left, Expr) or isinstance(right, Expr):
        return normal(Binary(op, extent(left), extent(right)))
    return FUNCTIONS[op](left, right)


def _decided(op: str, left: Expr, right: Expr) -> bool:
    """Whether sizes compare so, for all values that they may have."""
    one = Const(1)
    holds = {
        "==": left == right,
        "!=": is_at_least(left, Binary("+", right, one)) or is_at_least(right, Binary("+", left, one)),
        "<": is_at_least(right, Binary("+", left, one)),
        "<=": is_at_least(right, left),
        ">": is_at_least(left, Binary("+", right, one)),
        ">=": is_at_least(left, right),
    }
    if holds[op]:
        return True
    if holds[OPPOSITE[op]]:
        return False
    hint = "make the size a number, or write code that needs no condition"
    raise InputError(f"whether {left} {op} {right} depends on sizes", None, hint)


OF_SIZES = {"+": "+", "-": "-", "*": "*", "//": "floordiv", "%": "floormod"}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{op: UNBOUNDED[op] for op in ("+", "-", "*", "&", "|", "^", "<<", ">>")},
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        range, len, min, max, abs, int, float, bool, tuple, list, enumerate, zip, reversed, sum, any, all, slice,
        divmod, pow, round, isinstance, sorted,
    )
}  # fmt: skip
