"""Functions of scalar values: `select`, extrema, and C's functions of floats.

    select(C[i] > 0.0, C[i], 0.0)     ->     C[i] > 0.0f32 ? C[i] : 0.0f32
    exp(A[i])                         ->     exp(A[i])

A function of floats is computed in the dtype of its arguments, in f64 for integers, as in nests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def _of_one(name: str) -> Callable[[Operand], Value]:
    @entry
    def function(x: Operand) -> Value:
        return call(name, x)

    function.__name__ = function.__qualname__ = name
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
rint = _of_one("rint")  # the nearest integer as a float, of two the even one


@entry
def power(x: Operand, y: Operand) -> Value:
    return call("pow", x, y)
