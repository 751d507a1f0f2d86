"""Values of expressions in some iterations at once: how often loops run, and where accesses go, without running them.

    for i in 0..n:                  64 iterations of i, spread over the loop, and in each of them one of j
        for j in 0..i: S            S runs as often as the mean of the 64 values of n * i says

Each sample takes a way of its own through the nest, and stands for as many iterations as there were to choose from
(Knuth, Estimating the efficiency of backtrack programs, Math. Comp. 29, 1975). What data decides is left to chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np

from polysched.ir.dtypes import DType
from polysched.ir.nodes import Binary, Call, Cast, Const, Expr, Load, Select, Unary, Var

SAMPLES = 64
Values = np.ndarray  # one for each sample


@dataclass(frozen=True, eq=False)
class Iteration:
    """Of a loop: so far from its first one, which moves with the loops around."""

    first: Expr
    ahead: Values


Bound = Values | Expr | Iteration


@dataclass
class Scope:
    """What names stand for in each of the samples: numbers, expressions, as of Let, and iterations."""

    names: dict[str, Bound]
    _known: dict[Expr, Values] = field(default_factory=dict)  # of expressions that were asked for
    _ahead: dict[str, Scope] = field(default_factory=dict)

    def inside(self, names: Mapping[str, Bound]) -> Scope:
        """A scope in this one."""
        return Scope({**self.names, **names})

    def bind(self, name: str, value: Expr) -> None:
        """From here on."""
        self.names[name] = value
        self._known.clear()
        self._ahead.clear()

    def ahead(self, loop: str, step: int) -> Scope:
        """The scope in the next iteration of a loop that it is in."""
        if loop not in self._ahead:
            at = self.names[loop]
            assert isinstance(at, Iteration)
            self._ahead[loop] = self.inside({loop: Iteration(at.first, at.ahead + step)})
        return self._ahead[loop]

    def value(self, expr: Expr) -> Values:
        """In each of the samples."""
        found = self._known.get(expr)
        if found is None:
            found = self._known[expr] = self._value(expr)
        return found

    def _value(self, expr: Expr) -> Values:
        match expr:
            case Const(value=value, dtype=dtype):
                return _as(np.full(SAMPLES, value, object), dtype)
            case Var(name=name) as var:
                return self._bound(var, self.names.get(name))
            case Unary(op="-", arg=arg):
                return -self.value(arg)
            case Unary(op="!", arg=arg):
                return ~self.value(arg).astype(bool)
            case Unary(arg=arg):
                return ~self.value(arg)
            case Binary(op=op, left=left, right=right):
                return _OPERATIONS[op](self.value(left), self.value(right))
            case Select(cond=cond, then=then, other=other):
                return np.where(self.value(cond), self.value(then), self.value(other))
            case Cast(arg=arg, dtype=dtype):
                return _as(self.value(arg), dtype)
            case Load(array=name, index=arguments) | Call(fn=name, args=arguments):
                return self._any(expr, name, arguments)
        raise AssertionError(f"unknown expression: {expr}")

    def _bound(self, var: Var, bound: Bound | None) -> Values:
        match bound:
            case None:  # a scalar parameter
                return self._any(var, var.name, ())
            case Iteration(first=first, ahead=ahead):
                return self.value(first) + ahead
            case Expr():
                return self.value(bound)
        return bound

    def _any(self, expr: Expr, name: str, arguments: tuple[Expr, ...]) -> Values:
        """Some values, the same for the same name and arguments: floats from -1 to 1, integers from 0 to 1023."""
        mixed = np.full(SAMPLES, crc32(name.encode()), np.uint64)
        for argument in arguments:
            mixed = (mixed ^ self.value(argument).astype(np.int64).view(np.uint64)) * _PRIME
        mixed = (mixed * _PRIME) >> np.uint64(54)
        if expr.dtype.is_float:
            return mixed / 512 - 1
        return mixed % 2 == 1 if expr.dtype.kind == "b" else mixed.astype(np.int64)


def _as(value: Values, dtype: DType) -> Values:
    """The value as the type has it, though unsigned ones of 64 bits are signed here."""
    if dtype.is_float or dtype.kind == "b":
        return value.astype(float if dtype.is_float else bool)
    if value.dtype.kind == "f":
        return np.nan_to_num(value).clip(-_LARGE, _LARGE).astype(np.int64)
    modulus, least = 1 << dtype.bits, 0 if dtype.kind == "u" and dtype.bits < 64 else -(1 << dtype.bits - 1)
    if value.dtype != object and dtype.bits == 64:
        return value.astype(np.int64)
    return ((value.astype(object) - least) % modulus + least).astype(np.int64)


_LARGE = 2.0**62
_PRIME = np.uint64(0x9E3779B97F4A7C15)


def _divided(by: Callable[[Values, Values], Values]) -> Callable[[Values, Values], Values]:
    """Where the divisor is zero, which a guard keeps from happening, by one."""
    return lambda one, other: by(one, np.where(other == 0, 1, other))


_OPERATIONS: dict[str, Callable[[Values, Values], Values]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "min": np.minimum, "max": np.maximum,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
    "&&": np.logical_and, "||": np.logical_or, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
    "<<": np.left_shift, ">>": np.right_shift,
    "/": _divided(np.true_divide), "floordiv": _divided(np.floor_divide), "floormod": _divided(np.mod),
    "truncdiv": _divided(lambda a, b: np.trunc(a / b).astype(np.int64)), "truncmod": _divided(np.fmod),
}  # fmt: skip
