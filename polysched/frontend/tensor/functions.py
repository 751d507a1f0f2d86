"""Functions of scalar values: `select`, extrema, and C's functions of floats.

    select(C[i] > 0.0, C[i], 0.0)     ->     C[i] > 0.0f32 ? C[i] : 0.0f32
    exp(A[i])                         ->     exp(A[i])

A function of floats is computed in the dtype of its arguments, in f64 for integers, as in nests.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

from polysched.frontend import arithmetic
from polysched.frontend.python_functions import call as call_of
from polysched.frontend.tensor.caller import at_caller
from polysched.frontend.tensor.value import Operand, Value, as_value, condition, made
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


@entry
def abs(x: Operand) -> Value:
    return call("abs", x)


@entry
def sqrt(x: Operand) -> Value:
    return call("sqrt", x)


@entry
def exp(x: Operand) -> Value:
    return call("exp", x)


@entry
def log(x: Operand) -> Value:
    return call("log", x)


@entry
def tanh(x: Operand) -> Value:
    return call("tanh", x)


@entry
def erf(x: Operand) -> Value:
    return call("erf", x)


@entry
def sin(x: Operand) -> Value:
    return call("sin", x)


@entry
def cos(x: Operand) -> Value:
    return call("cos", x)


@entry
def floor(x: Operand) -> Value:
    return call("floor", x)


@entry
def ceil(x: Operand) -> Value:
    return call("ceil", x)


@entry
def trunc(x: Operand) -> Value:
    return call("trunc", x)


@entry
def rint(x: Operand) -> Value:
    """The nearest integer as a float, of two the even one."""
    return call("rint", x)


@entry
def power(x: Operand, y: Operand) -> Value:
    return call("pow", x, y)
