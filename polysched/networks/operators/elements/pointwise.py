"""Functions of one element: activations, arithmetic of C's functions, tests and casts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf, pi, sqrt
from typing import Any

from polysched.frontend import tensor as te
from polysched.ir.dtypes import ALL, DType, boolean
from polysched.networks.array import Array, constant
from polysched.networks.node import Node
from polysched.networks.operators.table import operator

Value = Any  # of `frontend/tensor`, whose operators give what type checkers cannot follow

_CALLS = {
    **{name.capitalize(): name for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh")},
    **{name.capitalize(): name for name in ("erf", "exp", "floor", "log", "sin", "sinh", "sqrt", "tan", "tanh")},
    "Round": "rint",
}


def mapped(node: Node, x: Array, f: Callable[[Value], Value], dtype: DType | None = None) -> Array:
    """The function of each element."""
    return node.make.compute(x.shape, dtype or x.dtype, lambda i: f(x[i]))


def _enter(kind: str, f: Callable[..., Value], **attributes: str) -> None:
    """Enters f(value, number=..., one=..., name of an attribute=...) of each element."""

    @operator(kind, pointwise=True)
    def lower(node: Node, x: Array) -> Array:
        number = partial(constant, dtype=x.dtype)
        return mapped(node, x, partial(f, number=number, **{to: node.get(name) for to, name in attributes.items()}))


for _kind, _name in _CALLS.items():
    _enter(_kind, lambda v, number, name=_name: te.call(name, v))


def sigmoid(v: Value, number: Callable[[float], Value]) -> Value:
    return number(1) / (number(1) + te.exp(-v))


def softplus(v: Value, number: Callable[[float], Value]) -> Value:
    """log(1 + exp(v)), without an overflow."""
    return te.maximum(v, number(0)) + te.call("log1p", te.exp(-te.abs(v)))


def _sign(v: Value, number: Callable[[float], Value]) -> Value:
    less = number(-1) if v.dtype.kind != "u" else number(0)
    return te.select(v > number(0), number(1), te.select(v < number(0), less, v))


def _selu(v: Value, number: Callable[[float], Value], alpha: float, gamma: float) -> Value:
    return number(gamma) * te.select(v > number(0), v, number(alpha) * (te.exp(v) - number(1)))


def _elu(v: Value, number: Callable[[float], Value], alpha: float) -> Value:
    return te.select(v < number(0), number(alpha) * (te.exp(v) - number(1)), v)


def _celu(v: Value, number: Callable[[float], Value], alpha: float) -> Value:
    return te.select(v < number(0), number(alpha) * (te.exp(v / number(alpha)) - number(1)), v)


def hard_sigmoid(v: Value, number: Callable[[float], Value], alpha: float, beta: float) -> Value:
    return te.maximum(number(0), te.minimum(number(1), number(alpha) * v + number(beta)))


def _shrink(v: Value, number: Callable[[float], Value], lambd: float, bias: float) -> Value:
    above = te.select(v > number(lambd), v - number(bias), number(0))
    return te.select(v < number(-lambd), v + number(bias), above)


_enter("Neg", lambda v, number: -v)
_enter("Abs", lambda v, number: v if v.dtype.kind == "u" else te.abs(v))
_enter("Reciprocal", lambda v, number: number(1) / v)
_enter("Relu", lambda v, number: te.maximum(v, number(0)))
_enter("Sigmoid", sigmoid)
_enter("Sign", _sign)
_enter("Softplus", softplus)
_enter("Softsign", lambda v, number: v / (number(1) + te.abs(v)))
_enter("Elu", _elu, alpha="alpha")
_enter("Celu", _celu, alpha="alpha")
_enter("Selu", _selu, alpha="alpha", gamma="gamma")
_enter("LeakyRelu", lambda v, number, alpha: te.select(v < number(0), v * number(alpha), v), alpha="alpha")
_enter("ThresholdedRelu", lambda v, number, alpha: te.select(v > number(alpha), v, number(0)), alpha="alpha")
_enter("HardSigmoid", hard_sigmoid, alpha="alpha", beta="beta")
_enter("HardSwish", lambda v, number: v * hard_sigmoid(v, number, 1 / 6, 0.5))
_enter("Mish", lambda v, number: v * te.tanh(softplus(v, number)))
_enter("Swish", lambda v, number, alpha: v * sigmoid(number(alpha) * v, number), alpha="alpha")
_enter("Shrink", _shrink, lambd="lambd", bias="bias")
_enter("BitwiseNot", lambda v, number: ~v)
_enter("Not", lambda v, number: ~v)


@operator("Gelu", pointwise=True)
def gelu(node: Node, x: Array) -> Array:
    number = partial(constant, dtype=x.dtype)
    if node.choice("approximate", "none", "tanh") == "none":
        return mapped(node, x, lambda v: number(0.5) * v * (number(1) + te.erf(v * number(sqrt(0.5)))))
    inner = number(sqrt(2 / pi))
    cubic = number(0.044715)
    return mapped(node, x, lambda v: number(0.5) * v * (number(1) + te.tanh(inner * (v + cubic * v * v * v))))


@operator("IsNaN", pointwise=True)
def is_nan(node: Node, x: Array) -> Array:
    return mapped(node, x, lambda v: v != v, boolean)


@operator("IsInf", pointwise=True)
def is_inf(node: Node, x: Array) -> Array:
    asked = [sign * inf for name, sign in (("detect_positive", 1), ("detect_negative", -1)) if node.get(name, 1)]
    if not asked:
        return mapped(node, x, lambda v: (v != v) & (v == v), boolean)
    return mapped(node, x, lambda v: te.any_of(*(v == constant(each, x.dtype) for each in asked)), boolean)


@operator("Clip", pointwise=True)
def clip(node: Node, x: Array, low: Array | None = None, high: Array | None = None) -> Array:
    bounds = [(te.maximum, low, "min"), (te.minimum, high, "max")]
    given = [(f, one.one() if one else constant(node.get(name), x.dtype)) for f, one, name in bounds
             if one is not None or node.has(name)]  # fmt: skip

    def clipped(v: Value) -> Value:
        for f, bound in given:
            v = f(v, bound)
        return v

    return mapped(node, x, clipped)


def cast(node: Node, x: Array, dtype: DType) -> Array:
    """Each element in another type: what is not zero is true, floats are truncated."""
    if dtype == boolean and x.dtype != boolean:
        return mapped(node, x, lambda v: v != constant(0, x.dtype), boolean)
    return mapped(node, x, lambda v: v.astype(dtype), dtype)


def dtype_named(node: Node, name: str) -> DType:
    """The type that an attribute names; the reader has put ours in place of the format's number."""
    value = node.get(name)
    if value not in ALL:
        raise node.refusal(f"attribute {name} is the type {value}", f"kernels have {', '.join(ALL)}")
    return ALL[str(value)]


@operator("Cast", pointwise=True)
def cast_to(node: Node, x: Array) -> Array:
    node.get("saturate"), node.get("round_mode")  # of types that kernels do not have
    return cast(node, x, dtype_named(node, "to"))


@operator("CastLike", pointwise=True)
def cast_like(node: Node, x: Array, like: Array) -> Array:
    node.get("saturate"), node.get("round_mode")
    return cast(node, x, like.dtype)
