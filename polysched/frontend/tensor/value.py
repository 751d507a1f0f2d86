"""Scalar values of tensor expressions: the loop IR's, with Python's operators and NumPy's dtypes.

    A[i, k] * B[k, j] + 1       ->      A[i, k] * B[k, j] + 1.0f32,  where A, B are tensors, i, j indices, k an axis

A value knows what the names in it stand for, so that `function` finds all that it needs. Python's numbers, sizes,
indices and axes are weak, as in nests: they take the dtype of what they meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from polysched.errors import InputError, Loc
from polysched.frontend import arithmetic
from polysched.frontend.arithmetic import Typed
from polysched.frontend.tensor.caller import at_caller, caller
from polysched.ir.dtypes import ALL, DType, Size, boolean, f64, i64, size
from polysched.ir.node import walk
from polysched.ir.nodes import Const, Expr, Unary, Var
from polysched.ir.simplify import simplify
from polysched.support.brief import brief
from polysched.support.entry import entry


@dataclass(frozen=True, eq=False)
class Name:
    """What a name in a value stands for; `what` says so in messages."""

    name: str
    what: ClassVar[str]


@dataclass(frozen=True)
class SizeName(Name):
    what = "a size"


@dataclass(frozen=True)
class ScalarName(Name):
    dtype: DType
    what = "a scalar"


@dataclass(frozen=True)
class IndexName(Name):
    """An index of the tensor that is being computed."""

    what = "an index"


Names = Mapping[str, Name]


_Method = Callable[["Value", "Operand"], "Value"]


def _operator(op: str) -> tuple[_Method, _Method]:
    """The methods of the operator with a value on the left, and with one on the right."""

    def on_left(self: Value, other: Operand) -> Value:
        return _binary(op, self, other)

    def on_right(self: Value, other: Operand) -> Value:
        return _binary(op, other, self)

    return on_left, on_right


def _binary(op: str, left: object, right: object) -> Value:
    both = as_value(left), as_value(right)
    with at_caller():
        return made(arithmetic.binary(op, both[0].typed, both[1].typed), *both)


def _comparison(op: str) -> _Method:
    def compared(self: Value, other: object) -> Value:
        operand = as_value(other)
        with at_caller():
            return made(arithmetic.comparison(op, self.typed, operand.typed), self, operand)

    return compared


@dataclass(frozen=True, eq=False)
class Value:
    """A scalar: an element, an index, a size, or what operators make of them."""

    expr: Expr
    weak: bool = False
    names: Names = field(default_factory=dict, repr=False)

    __array_ufunc__ = None  # numpy's scalars leave operators to us

    def __repr__(self) -> str:
        return brief(self, str(self.expr))

    @property
    def dtype(self) -> DType:
        return self.expr.dtype

    @property
    def typed(self) -> Typed:
        return Typed(self.expr, self.weak)

    def astype(self, dtype: DType) -> Value:
        """The value in another dtype, as C casts it: integers wrap, floats are truncated towards zero."""
        return Value(arithmetic.cast(self.typed, dtype), names=self.names)

    __add__, __radd__ = _operator("+")
    __sub__, __rsub__ = _operator("-")
    __mul__, __rmul__ = _operator("*")
    __truediv__, __rtruediv__ = _operator("/")
    __floordiv__, __rfloordiv__ = _operator("//")
    __mod__, __rmod__ = _operator("%")
    __pow__, __rpow__ = _operator("**")
    __and__, __rand__ = _operator("&")
    __or__, __ror__ = _operator("|")
    __xor__, __rxor__ = _operator("^")
    __lshift__, __rlshift__ = _operator("<<")
    __rshift__, __rrshift__ = _operator(">>")

    def __neg__(self) -> Value:
        return _unary("-", self)

    def __pos__(self) -> Value:
        return _unary("+", self)

    def __invert__(self) -> Value:
        if self.dtype == boolean:
            return Value(Unary("!", self.expr), self.weak, self.names)
        return _unary("~", self)

    def __abs__(self) -> Value:
        with at_caller():
            return made(arithmetic.absolute(self.typed), self)

    __lt__ = _comparison("<")
    __le__ = _comparison("<=")
    __gt__ = _comparison(">")
    __ge__ = _comparison(">=")
    __eq__ = _comparison("==")  # type: ignore[assignment]
    __ne__ = _comparison("!=")  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        hint = "write ps.select(cond, x, y) for if, & for and, | for or, ~ for not, (a < b) & (b < c) for a < b < c"
        raise InputError(f"'{self.expr}' is not known before the kernel runs", caller(), hint)


Operand = Value | Expr | int | float | bool | np.generic


@entry
def var(name: str, dtype: DType | Size | type[int] = size) -> Value:
    """A size, or with a dtype a read-only scalar parameter."""
    if not isinstance(dtype, DType):
        return Value(Var(name), weak=True, names={name: SizeName(name)})
    return Value(Var(name, dtype), names={name: ScalarName(name, dtype)})


def index(name: str) -> Value:
    return Value(Var(name), weak=True, names={name: IndexName(name)})


def as_value(operand: object) -> Value:
    """A number as a value; the names in an expression of the loop IR are those of sizes and scalars."""
    match operand:
        case Value():
            return operand
        case bool():
            return Value(Const(operand, boolean), weak=True)
        case int():
            return Value(arithmetic.converted(Typed(Const(operand), weak=True), i64), weak=True)
        case float() if not isinstance(operand, np.generic):
            return Value(Const(operand, f64), weak=True)
        case np.generic() if operand.dtype.name in _BY_NUMPY:
            return Value(Const(operand.item(), _BY_NUMPY[operand.dtype.name]))
        case Expr():
            of_expr = [node for node in walk(operand) if isinstance(node, Var)]
            sizes: dict[str, Name] = {
                v.name: SizeName(v.name) if v.dtype == i64 else ScalarName(v.name, v.dtype) for v in of_expr
            }
            return Value(operand, operand.dtype == i64, sizes)
    hint = "subscript it, as in A[i, j]" if hasattr(operand, "shape") else "use numbers, elements, indices and sizes"
    raise InputError(f"{type(operand).__name__} is no scalar", caller(), hint)


_BY_NUMPY = {dtype.numpy: dtype for dtype in ALL.values()}


def merged(values: Iterable[Value]) -> Names:
    """What the names in all of the values stand for; InputError if one stands for two things."""
    return agreed((pair for one in values for pair in one.names.items()), lambda meaning: caller())


def agreed(names: Iterable[tuple[str, Name]], place: Callable[[Name], Loc | None]) -> dict[str, Name]:
    """The names and what they stand for; InputError, at the `place` of one of both, if one stands for two things."""
    found: dict[str, Name] = {}
    for name, meaning in names:
        known = found.setdefault(name, meaning)
        if known is not meaning and known != meaning:
            both = known.what if known.what == meaning.what else f"{known.what} and {meaning.what}"
            raise InputError(f"two different things are named {name}: {both}", place(meaning), "rename one of them")
    return found


def made(result: Typed, *operands: Value) -> Value:
    return Value(result.expr, result.weak, merged(operands))


def integer(operand: object, what: str) -> Value:
    """The operand as an i64, simplified; `what` says what it is used as."""
    value = as_value(operand)
    if not value.dtype.is_integer:
        hint = "divide with //, or convert it with .astype(ps.i64)"
        raise InputError(f"{what} must be an integer, and '{value.expr}' is {value.dtype}", caller(), hint)
    return Value(simplify(arithmetic.converted(value.typed, i64)), True, value.names)


def condition(operand: object, what: str) -> Value:
    """The operand as a bool; `what` says what it is used as."""
    value = as_value(operand)
    if value.dtype != boolean:
        hint = "compare it, as in x != 0"
        raise InputError(f"{what} must be a bool, and '{value.expr}' is {value.dtype}", caller(), hint)
    return value


def _unary(op: str, value: Value) -> Value:
    with at_caller():
        return made(arithmetic.unary(op, value.typed), value)
