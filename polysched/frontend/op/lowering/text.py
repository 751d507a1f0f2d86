"""Tensor expressions as text: what each tensor's elements are.

v0[i, j] = offset[i, 4 * j + 1]             f32[N, K]
s[i] = sum(v0[i, j], j < K)                 f32[N]
out[i, 4 * j] = ...                         stores of an update, below what it updates
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polysched.frontend.tensor.reduce import Reduction
from polysched.frontend.tensor.tensor import Body, Tensor
from polysched.ir.node import substitute
from polysched.ir.nodes import Const, Load, Var
from polysched.ir.text import show
from polysched.support.brief import brief


@dataclass(frozen=True)
class Tensors:
    """Tensors, each after those it reads; prints as text."""

    all: tuple[Tensor, ...]

    def __repr__(self) -> str:
        return brief(self, str(self))

    def __str__(self) -> str:
        return "\n".join(line for tensor in self.all if tensor.bodies for line in _lines(tensor))


def _lines(tensor: Tensor) -> Iterator[str]:
    shape = f"{tensor.dtype}[{', '.join(map(show, tensor.extents))}]"
    first, *rest = tensor.bodies
    match first.value:
        case Load(array, index) if rest and first.is_plain and index == first.at:
            yield f"{tensor.name} = {array} : {shape}"
        case _:
            yield f"{_element(tensor.name, first)} = {_value(first)} : {shape}"
    for body in rest:
        bounds = ", ".join(f"{i} < {show(n)}" for i, n in zip(body.indices, body.extents, strict=True))
        yield f"    {_element(tensor.name, body)} = {_value(body)} for {bounds}"


def _element(name: str, body: Body) -> str:
    return f"{name}[{', '.join(map(show, body.at))}]"


def _value(body: Body) -> str:
    """The value, reductions in their places."""
    return show(substitute(body.value, {one.name: Var(_reduction(one), one.dtype) for one in body.reductions}))


def _reduction(one: Reduction) -> str:
    name = {"+": "sum", "*": "prod", "||": "any", "&&": "all"}.get(one.op, one.op)
    lows = ("" if axis.lo == Const(0) else f"{show(axis.lo)} <= " for axis in one.axes)
    axes = ", ".join(f"{low}{axis.name} < {show(axis.hi)}" for low, axis in zip(lows, one.axes, strict=True))
    where = f" if {show(one.where)}" if one.where is not None else ""
    return f"{name}({show(one.term)}, {axes}{where})"
