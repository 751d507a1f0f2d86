"""Functions of scalar values: `select`, extrema, C's functions of floats; and reductions, of a range of terms.

    select(C[i] > 0.0, C[i], 0.0)     ->     C[i] > 0.0f32 ? C[i] : 0.0f32
    exp(A[i])                         ->     exp(A[i])

A function of floats is computed in the dtype of its arguments, in f64 for integers, as in nests.

    k = reduce_axis(64, "k")
    sum(A[i, k] * B[k, j], axis=k)                     0 + A[i, 0] * B[0, j] + ... + A[i, 63] * B[63, j], in this order
    max(A[i + r], axis=r, where=i + r < n)             of those terms alone for which the condition holds

A reduction has the dtype of its terms: cast them, as in `sum(A[i, k].astype(i32), axis=k)`. Of no terms, a sum is 0,
a product 1, `any` False, `all` True; `max` is the least value of the dtype, minus infinity for floats, and `argmax`
0. `argmax` and `argmin` give the first of several equal ones, as an i64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import count
from typing import Protocol

from polysched.errors import InputError, Loc
from polysched.frontend import arithmetic
from polysched.frontend.python_functions import call as call_of
from polysched.frontend.tensor.caller import at_caller, caller
from polysched.frontend.tensor.value import Name, Operand, Value, as_value, condition, integer, made, merged
from polysched.ir.dtypes import DType, boolean, i64
from polysched.ir.nodes import Binary, Const, Expr, Var
from polysched.support.entry import entry


@entry
def select(cond: Operand, then: Operand, other: Operand) -> Value:
    """`then` where the condition holds, else `other`; only the one that is needed is evaluated."""
    test, yes, no = condition(cond, "the condition of a select"), as_value(then), as_value(other)
    with at_caller():
        return made(arithmetic.select(test.expr, yes.typed, no.typed), test, yes, no)


@entry
def all_of(*conditions: Operand) -> Value:
    """Whether all of the conditions hold, evaluated up to the first that does not."""
    return _joined("&", conditions)


@entry
def any_of(*conditions: Operand) -> Value:
    """Whether one of the conditions holds, evaluated up to the first that does."""
    return _joined("|", conditions)


def _joined(op: str, conditions: Sequence[Operand]) -> Value:
    values = [condition(each, "a condition") for each in conditions]
    with at_caller():
        return made(reduce(partial(arithmetic.binary, op), [value.typed for value in values]), *values)


@entry
def call(function: str, *args: Operand) -> Value:
    """A function by its name: C's functions of floats, abs, min, max; InputError if there is none."""
    values = tuple(map(as_value, args))
    with at_caller():
        return made(call_of("", function, [v.typed for v in values]), *values)


@entry
def minimum(first: Operand, *rest: Operand) -> Value:
    return call("min", first, *rest)


@entry
def maximum(first: Operand, *rest: Operand) -> Value:
    return call("max", first, *rest)


def _of_one(name: str, doc: str | None = None) -> Callable[[Operand], Value]:
    @entry
    def function(x: Operand) -> Value:
        return call(name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


abs = _of_one("abs")
sqrt = _of_one("sqrt")
exp = _of_one("exp")
log = _of_one("log")
tanh = _of_one("tanh")
erf = _of_one("erf")
sin = _of_one("sin")
cos = _of_one("cos")
floor = _of_one("floor")
ceil = _of_one("ceil")
trunc = _of_one("trunc")
rint = _of_one("rint", "The nearest integer as a float, of two the even one.")


@entry
def power(x: Operand, y: Operand) -> Value:
    return call("pow", x, y)


@dataclass(frozen=True)
class Axis(Name):
    """A number that runs from lo up to hi."""

    lo: Expr
    hi: Expr
    what = "a reduce axis"


@dataclass(frozen=True)
class Reduction(Name):
    """The terms, of all values of the axes in lexicographic order, for which `where` holds; its name is no user's.

    `op` is a binary operator of the loop IR, or argmax or argmin, of which the result is `place` of that term.
    """

    op: str
    axes: tuple[Axis, ...]
    term: Expr
    where: Expr | None
    place: Expr  # the number of a term among all
    loc: Loc | None = field(default=None, compare=False)
    what = "a reduction"

    @property
    def dtype(self) -> DType:
        return i64 if self.op in ARGS else self.term.dtype


ARGS = {"argmax": "max", "argmin": "min"}


@entry
def reduce_axis(*bounds: object) -> Value:
    """The axis of a reduction: `reduce_axis(extent, name)`, or `reduce_axis(lo, hi, name)` for lo up to hi."""
    match bounds:
        case (hi, str(name)):
            lo: object = 0
        case (lo, hi, str(name)):
            pass
        case _:
            hint = 'write ps.reduce_axis(64, "k") or ps.reduce_axis(lo, hi, "k")'
            raise InputError("a reduce axis needs an extent or two bounds, and a name", caller(), hint)
    first, end = (integer(bound, f"a bound of the axis {name}") for bound in (lo, hi))
    names = merged((first, end))
    return Value(Var(name), True, {**names, name: Axis(name, first.expr, end.expr)})


class _Function(Protocol):
    def __call__(self, value: Operand, axis: Value | Sequence[Value], where: Operand | None = None) -> Value: ...


def _function(name: str, op: str, doc: str) -> _Function:
    @entry
    def function(value: Operand, axis: Value | Sequence[Value], where: Operand | None = None) -> Value:
        return _reduction(name, op, value, axis, where)

    function.__name__, function.__qualname__, function.__doc__ = name, name, doc
    return function


_NUMBER = "The number, from 0, of the first of the {} terms, or of the first NaN; of several axes, in C order."
sum = _function("sum", "+", "The sum of the terms.")
prod = _function("prod", "*", "The product of the terms.")
max = _function("max", "max", "The greatest term; NaNs are passed over.")
min = _function("min", "min", "The least term; NaNs are passed over.")
argmax = _function("argmax", "argmax", _NUMBER.format("greatest"))
argmin = _function("argmin", "argmin", _NUMBER.format("least"))
any = _function("any", "||", "Whether one of the terms is true.")
all = _function("all", "&&", "Whether all of the terms are true.")


def _reduction(name: str, op: str, of: Operand, axis: Value | Sequence[Value], where: Operand | None) -> Value:
    given = tuple(axis) if isinstance(axis, list | tuple) else (axis,)
    axes = tuple(_axis(one, name) for one in given)
    term = condition(of, f"a term of {name}") if op in ("||", "&&") else as_value(of)
    if term.dtype == boolean and op not in ("||", "&&"):
        raise InputError(f"a term of {name} is a bool", caller(), "cast it, as in x.astype(ps.i32)")
    cond = None if where is None else condition(where, f"the condition of {name}")
    names = merged((*given, term) if cond is None else (*given, term, cond))
    for inner in names.values():
        if isinstance(inner, Reduction):
            hint = "compute the inner one as a tensor of its own"
            raise InputError(f"there is a reduction inside of {name}", caller(), hint)
    number, test = next(_NUMBERS), None if cond is None else cond.expr
    made = Reduction(f"%{number}", op, axes, term.expr, test, _place(axes), caller())
    used = {n: meaning for n, meaning in names.items() if n not in [one.name for one in axes]}
    return Value(Var(made.name, made.dtype), names={**used, made.name: made})


_NUMBERS = count()


def _axis(value: Value, of: str) -> Axis:
    match value:
        case Value(expr=Var(name)) if isinstance(axis := value.names.get(name), Axis):
            return axis
    what = f"'{value.expr}'" if isinstance(value, Value) else repr(value)
    hint = 'make one: k = ps.reduce_axis(64, "k")'
    raise InputError(f"{of} is over {what}, which is no reduce axis", caller(), hint)


def _place(axes: tuple[Axis, ...]) -> Expr:
    """The number of this iteration of the axes among all, from 0."""

    def above_lo(expr: Expr, axis: Axis) -> Expr:
        return expr if axis.lo == Const(0) else Binary("-", expr, axis.lo)

    def with_inner(place: Expr, axis: Axis) -> Expr:
        return Binary("+", Binary("*", place, above_lo(axis.hi, axis)), above_lo(Var(axis.name), axis))

    return reduce(with_inner, axes[1:], above_lo(Var(axes[0].name), axes[0]))
