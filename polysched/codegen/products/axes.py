"""Loops that are run as one: their common number, and its digits.

y in 0..56, x in 0..56          q = y * 56 + x          y = q // 56, x = q % 56
"""

from __future__ import annotations

from collections.abc import Callable

from polysched.codegen.products.words import first_term
from polysched.ir.build import add, binary, floordiv, floormod, mul
from polysched.ir.nodes import Cast, Const, Expr, If, Load, Stmt, Var
from polysched.transform.analysis.axes import Axes, strides


def number(axes: Axes) -> Expr:
    """The common number of the loops' variables."""
    total: Expr = Const(0)
    for name, extent in axes.extents.items():
        total = Var(name) if total == Const(0) else add(mul(total, extent), Var(name))
    return total


def digits(axes: Axes, total: Expr) -> dict[str, Expr]:
    """The loops' variables, from their common number."""
    out: dict[str, Expr] = {}
    for k, (name, stride) in enumerate(zip(axes.extents, strides(axes), strict=True)):
        digit = total if stride == 1 else floordiv(total, stride)
        out[name] = digit if k == 0 else floormod(digit, axes.extents[name])
    return out


def is_flat(load: Load, axes: Axes, shape: tuple[Expr, ...]) -> bool:
    """Are the last subscripts these loops, over all of the array's extents but the first of them?"""
    count, (_, *inner) = len(axes.extents), axes.extents.values()
    in_order = load.index[-count:] == tuple(map(Var, axes.extents))
    return in_order and list(shape[-count:][1:]) == list(map(Const, inner))


def element(factor: Expr) -> Load | None:
    """The element that is a factor, as it is or cast, or the first of the two that are in a word; None for others."""
    match first_term(factor):
        case (Load() as load) | Cast(Load() as load):
            return load
    return None


def full_or_last(tile: Var, size: int, width: int, make: Callable[[int], tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
    """What `make` gives for the numbers of a tile: `width` of them, or what is left of all `size` in the last one."""
    full, rest = divmod(size, width)
    if not (full and rest):
        return make(rest or width)
    return (If(binary("<", tile, full), make(width), make(rest)),)
