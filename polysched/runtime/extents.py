"""The sizes that the shapes of arrays show.

    A: f64[n, n + m], b: f64[2 * m]         of shapes (3, 7), (8,): n is 3 by A's dimension 0, m is 4 by b's dimension 0
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import index
from typing import Any

from polysched.errors import LaunchError
from polysched.ir.defaults import default_arguments
from polysched.ir.integers.polynomial import Polynomial, polynomial_of
from polysched.ir.interp import evaluate
from polysched.ir.node import variables
from polysched.ir.nodes import LARGEST_SIZE, Expr, Function, Var


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
    usual = default_arguments(fn).items()
    defaults = [(name, int(value), "its default") for name, value in usual if name in fn.sizes]
    while found := next(_shown(extents, sizes), None) or next((it for it in defaults if it[0] not in sizes), None):
        name, value, place = found
        sizes[name], origin[name] = _in_range(name, value), place
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
        value = index(given)
    except TypeError:
        raise LaunchError(f"the size {name} must be an integer, not {type(given).__name__} {given!r}") from None
    return _in_range(name, value)


def _in_range(name: str, value: int) -> int:
    if not 0 <= value <= LARGEST_SIZE:
        raise LaunchError(f"the size {name} is {value}; it must be from 0 to {LARGEST_SIZE}")
    return value


Extents = Sequence[tuple[Expr, int, str]]  # with what an array has, and where


def _shown(extents: Extents, sizes: Mapping[str, int]) -> Iterator[tuple[str, int, str]]:
    """The sizes that an extent determines, affine in that one alone; LaunchError if it is so for none from 0."""
    for extent, actual, place in extents:
        linear = polynomial(extent, sizes)
        if linear is None or linear.degree != 1 or len(linear.names) != 1:
            continue
        ((name,), factor), *_ = linear
        value, remainder = divmod(actual - linear.constant, factor)
        if remainder or value < 0:
            known = "".join(f", with {other} = {size}" for other, size in sorted(sizes.items()))
            raise LaunchError(f"{place} is {actual}, but {extent} is that for no {name} of zero or more{known}")
        yield name, int(value), place


def polynomial(extent: Expr, sizes: Mapping[str, int]) -> Polynomial | None:
    """The extent in the sizes that are not known; None if that is no polynomial."""
    if isinstance(extent, Var):
        return Polynomial.number(sizes[extent.name]) if extent.name in sizes else Polynomial.name(extent.name)
    found = polynomial_of(extent, lambda part: polynomial(part, sizes))
    if found is None and variables(extent) <= sizes.keys():
        return Polynomial.number(evaluate(extent, sizes))
    return found
