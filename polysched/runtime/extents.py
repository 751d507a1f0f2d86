"""The sizes that the shapes of arrays show.

    A: f64[n, n + m], b: f64[2 * m]         of shapes (3, 7), (8,): n is 3 by A's dimension 0, m is 4 by b's dimension 0
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from polysched.errors import LaunchError
from polysched.ir.contents import default_arguments
from polysched.ir.interp import evaluate
from polysched.ir.node import walk
from polysched.ir.nodes import LARGEST_SIZE, Binary, Const, Expr, Function, Unary, Var


def sizes_of(fn: Function, given: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Every size: the given ones, and those that extents determine, each extent as soon as one size is left in it; of
    the others, the defaults.

    LaunchError if an extent has no size, a size no extent, or two extents that are it differ.
    """
    sizes = dict(given)
    origin = dict.fromkeys(sizes, "the argument")
    extents = [
        (extent, shapes[array.name][k], f"{array.name}'s dimension {k}")
        for array in fn.arrays
        for k, extent in enumerate(array.shape)
    ]
    defaults = [(name, int(value)) for name, value in default_arguments(fn).items() if name in fn.sizes]
    progress = True
    while progress:
        progress = False
        for extent, actual, place in extents:
            if (solved := _solve(extent, actual, sizes)) is None:
                continue
            name, value = solved
            if value is None:
                known = "".join(f", with {other} = {size}" for other, size in sorted(sizes.items()))
                raise LaunchError(f"{place} is {actual}, but {extent} is that for no {name} of zero or more{known}")
            sizes[name], origin[name] = _in_range(name, value), place
            progress = True
        if not progress and (left := [(name, value) for name, value in defaults if name not in sizes]):
            name, sizes[name] = left[0]
            origin[name], progress = "its default", True
    if unknown := [name for name in fn.sizes if name not in sizes]:
        raise LaunchError(f"the size {', '.join(unknown)} cannot be seen in the shapes of the arrays; pass it as well")
    for extent, actual, place in extents:
        match extent:
            case Var(name, _) if sizes[name] != actual:
                raise LaunchError(f"{name} is {sizes[name]} by {origin[name]}, but {actual} by {place}")
    return sizes


def size_of(name: str, given: Any) -> int:
    """A size that is given, as a Python integer; LaunchError if it is none, or one that is not allowed."""
    try:
        value = operator.index(given)
    except TypeError:
        raise LaunchError(f"the size {name} must be an integer, not {type(given).__name__} {given!r}") from None
    return _in_range(name, value)


def _in_range(name: str, value: int) -> int:
    if not 0 <= value <= LARGEST_SIZE:
        raise LaunchError(f"the size {name} is {value}; it must be from 0 to {LARGEST_SIZE}")
    return value


def _solve(extent: Expr, actual: int, sizes: Mapping[str, int]) -> tuple[str, int | None] | None:
    """The one unknown size of an extent that is affine in it, and its value, None if no integer from 0 fits.

    None if the extent determines no size (yet).
    """
    linear = affine(extent, sizes)
    if linear is None or len(linear) != 2:
        return None
    (name,) = (name for name in linear if name)
    factor, rest = linear[name], actual - linear[""]
    value, remainder = divmod(rest, factor)
    return name, value if remainder == 0 and value >= 0 else None


def affine(extent: Expr, sizes: Mapping[str, int]) -> dict[str, int] | None:
    """Factors of the unknown sizes and, under "", the constant; None if the extent is not affine in them."""
    match extent:
        case Const(value, _):
            return {"": int(value)}
        case Var(name, _):
            return {"": sizes[name]} if name in sizes else {"": 0, name: 1}
        case Unary("-", arg):
            return _scaled(affine(arg, sizes), -1)
        case Binary("+" | "-" as op, left, right):
            first, second = affine(left, sizes), _scaled(affine(right, sizes), 1 if op == "+" else -1)
            if first is None or second is None:
                return None
            total = {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}
            return {name: factor for name, factor in total.items() if factor or not name}
        case Binary("*", left, right):
            first, second = affine(left, sizes), affine(right, sizes)
            if first is None or second is None or (len(first) > 1 and len(second) > 1):
                return None
            return _scaled(second, first[""]) if len(first) == 1 else _scaled(first, second[""])
    names = [node.name for node in walk(extent) if isinstance(node, Var)]
    return {"": evaluate(extent, sizes)} if all(name in sizes for name in names) else None


def _scaled(linear: dict[str, int] | None, factor: int) -> dict[str, int] | None:
    if linear is None:
        return None
    return {name: value * factor for name, value in linear.items() if value * factor or not name}
