"""Loops that are run as one: their common number, and its digits.

y in 0..56, x in 0..56          q = y * 56 + x          y = q // 56, x = q % 56
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from polysched.codegen.products.pairs import low_half
from polysched.ir.build import add, binary, floordiv, floormod, mul
from polysched.ir.linear import forms
from polysched.ir.node import walk
from polysched.ir.nodes import Cast, Const, Expr, If, Load, Stmt, Var
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
    for k, (name, stride) in enumerate(zip(axes.extents, strides(axes), strict=True)):
        digit = total if stride == 1 else floordiv(total, stride)
        out[name] = digit if k == 0 else floormod(digit, axes.extents[name])
    return out


def is_flat(load: Load, axes: Axes, shape: tuple[Expr, ...]) -> bool:
    """Are the last subscripts these loops, over all of the array's extents but the first of them?"""
    count, (_, *inner) = len(axes.extents), axes.extents.values()
    in_order = load.index[-count:] == tuple(map(Var, axes.extents))
    return in_order and list(shape[-count:][1:]) == list(map(Const, inner))


def steps_alike(load: Load, axes: Axes, shape: tuple[Expr, ...]) -> bool:
    """Is it as far from each common number of the loops to the next?"""
    place: Expr = Const(0)
    for subscript, extent in zip(load.index, shape, strict=True):
        place = add(mul(place, extent), subscript)
    form, *others = forms(place, upper=True)
    loops = {Var(name): stride for name, stride in zip(axes.extents, strides(axes), strict=True)}
    step = form.get([*loops][-1], 0)
    is_linear = not any(node in loops for atom in form if atom is not None and atom not in loops for node in walk(atom))
    return not others and is_linear and all(form.get(loop, 0) == step * stride for loop, stride in loops.items())


def strides(axes: Axes) -> list[int]:
    """How far apart numbers are of which one digit differs by one."""
    extents = [*axes.extents.values()]
    return [prod(extents[k + 1 :]) for k in range(len(extents))]


def element(factor: Expr) -> Load | None:
    """The element that is a factor, as it is or cast, or the first of the two that are in a word; None for others."""
    match low_half(factor) or factor:
        case (Load() as load) | Cast(Load() as load):
            return load
    return None


def lies_by_terms(factor: Expr, terms: Axes) -> bool:
    """Does the factor step by one along the last of the terms' loops?"""
    match element(factor):
        case Load(index=(*_, Var(name))):
            return [*terms.extents][-1] == name
    return False


def full_or_last(tile: Var, size: int, width: int, make: Callable[[int], tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
    """What `make` gives for the numbers of a tile: `width` of them, or what is left of all `size` in the last one."""
    full, rest = divmod(size, width)
    if not (full and rest):
        return make(rest or width)
    return (If(binary("<", tile, full), make(width), make(rest)),)
