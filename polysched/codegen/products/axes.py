"""Loops that are run as one: their common number, and its digits.

y in 0..56, x in 0..56          q = y * 56 + x          y = q // 56, x = q % 56
"""

from __future__ import annotations

from polysched.ir.build import add, floordiv, floormod, mul
from polysched.ir.nodes import Const, Expr, Load, Var
from polysched.transform.products import Axes


def number(axes: Axes) -> Expr:
    """The common number of the loops' variables."""
    total: Expr = Const(0)
    for name, extent in axes.extents.items():
        total = Var(name) if total == Const(0) else add(mul(total, extent), Var(name))
    return total


def digits(axes: Axes, total: Expr) -> dict[str, Expr]:
    """The loops' variables, from their common number."""
    out: dict[str, Expr] = {}
    stride, names = 1, [*axes.extents]
    for name in reversed(names):
        digit = total if stride == 1 else floordiv(total, stride)
        out[name] = digit if name == names[0] else floormod(digit, axes.extents[name])
        stride *= axes.extents[name]
    return out


def is_flat(load: Load, axes: Axes, shape: tuple[Expr, ...]) -> bool:
    """Are the last subscripts these loops, over all of the array's extents but the first of them?"""
    count, (_, *inner) = len(axes.extents), axes.extents.values()
    in_order = load.index[-count:] == tuple(map(Var, axes.extents))
    return in_order and list(shape[-count:][1:]) == list(map(Const, inner))


def lies_by_terms(factor: Expr, terms: Axes) -> bool:
    """Does the factor step by one along the last of the terms' loops?"""
    match factor:
        case Load(index=(*_, Var(name))):
            return [*terms.extents][-1] == name
    return False
