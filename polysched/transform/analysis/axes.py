"""Loops from 0 that are run as one, outermost first, as the columns of a convolution.

    y in 0..56, x in 0..56      q = y * 56 + x      out[f, y, x] is as far from each q to the next, out[f, x, y] is not
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from polysched.ir.build import add, mul
from polysched.ir.integers.linear import forms
from polysched.ir.node import walk
from polysched.ir.nodes import Cast, Const, Expr, Load, Store, Var


@dataclass(frozen=True)
class Axes:
    """Loops from 0, outermost first, that are run as one."""

    extents: Mapping[str, int]

    @property
    def size(self) -> int:
        return prod([*self.extents.values()])


def strides(axes: Axes) -> list[int]:
    """How far apart numbers are of which one digit differs by one."""
    extents = [*axes.extents.values()]
    return [prod(extents[k + 1 :]) for k in range(len(extents))]


def steps_alike(used: Load | Store, axes: Axes, shape: tuple[Expr, ...]) -> bool:
    """Is it as far from each common number of the loops to the next?"""
    place: Expr = Const(0)
    for subscript, extent in zip(used.index, shape, strict=True):
        place = add(mul(place, extent), subscript)
    form, *others = forms(place, upper=True)
    loops = {Var(name): stride for name, stride in zip(axes.extents, strides(axes), strict=True)}
    step = form.get([*loops][-1], 0)
    is_linear = not any(node in loops for atom in form if atom is not None and atom not in loops for node in walk(atom))
    return not others and is_linear and all(form.get(loop, 0) == step * stride for loop, stride in loops.items())


def lies_by_terms(factor: Expr, terms: Axes) -> bool:
    """Does the factor, as it is or cast, step by one along the last of the terms' loops?"""
    match factor:
        case Load(index=(*_, Var(name))) | Cast(Load(index=(*_, Var(name)))):
            return [*terms.extents][-1] == name
    return False
