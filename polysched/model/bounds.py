"""For which sizes every access stays inside its array.

    for i in range(m): a[i] = ...     with a: f64["n"]     ->     m <= n, checked at each call
    for i in range(n): a[i + 1] = ... with a: f64["n"]     ->     InputError: S[i = 0] touches a[1] when n = 1
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from polysched.errors import BudgetExceeded, InputError
from polysched.ir.nodes import Array, Binary, Const, Expr, Var
from polysched.ir.text import show
from polysched.model.affine import AffineSpace, NotAffine, element_names
from polysched.model.scop import Statement
from polysched.model.witness import smallest
from polysched.support import clock, isl

T = TypeVar("T")


def sizes_in_bounds(
    context: isl.Set, statements: tuple[Statement, ...], arrays: dict[str, Array], sizes: tuple[str, ...]
) -> isl.Set:
    """The part of `context` for which all exact accesses are in bounds, or less of it where isl takes long to tell.

    InputError if an access leaves its array for all the sizes at which its statement runs at all. BudgetExceeded if
    no size is left, and isl took too long to tell whether there is one.
    """
    with isl.within(_EXACT_SECONDS):
        beyond = {name: _beyond(array, sizes) for name, array in arrays.items()}
    deadline, is_missed, valid = clock.Deadline.after(_EXACT_SECONDS), False, context

    def exact(question: Callable[[], T]) -> T | None:
        """What isl answers; None where it takes too long."""
        return isl.decided(question, None, seconds=min(_QUESTION_SECONDS, deadline.left))

    for statement in statements:
        for access in statement.accesses:
            relation = access.relation.intersect_domain(statement.domain.intersect_params(context))
            outside = relation.intersect_range(beyond[access.array])
            if is_inside := exact(outside.is_empty):
                continue
            bad = outside.params()
            if is_never := exact(partial(relation.params().is_subset, bad)):
                complaint = _complaint(statement, outside, arrays[access.array], sizes)
                raise InputError(complaint, statement.loc, _HINT)
            left = exact(partial(valid.subtract, bad))
            is_missed = is_missed or any(answer is None for answer in (is_inside, is_never, left))
            # or without all sizes at which a fraction of an iteration is outside, which are more, and easier to find
            valid = valid.subtract(bad.remove_divs()) if left is None else left
    if is_missed and valid.is_empty():
        raise BudgetExceeded("whether accesses stay inside their arrays was not decided in time")
    return valid.coalesce()


_EXACT_SECONDS = 3.0  # for all accesses of a nest
_QUESTION_SECONDS = 0.5


_HINT = 'shrink the loop, guard the access, or declare the array larger, as in n + 1 for n'


def _complaint(statement: Statement, outside: isl.Map, array: Array, sizes: tuple[str, ...]) -> str:
    smallest_sizes, point = smallest(outside.wrap())
    instance, element = point[: statement.depth], list(point[statement.depth :])
    where = ", ".join(f"{name} = {value}" for name, value in zip(statement.iterators, instance, strict=True))
    given = ", ".join(f"{name} = {smallest_sizes[name]}" for name in sizes)
    shape = ", ".join(show(extent) for extent in array.shape)
    return f"'{array.name}' has shape [{shape}], but {where or 'the statement'} touches {array.name}{element}" + (
        f" when {given}" if given else ""
    )


def elements(array: Array, sizes: tuple[str, ...]) -> isl.Set:
    """{ A[x] }: all that it has; InputError if an extent is not affine."""
    names = element_names(len(array.shape))
    space = AffineSpace(array.name, names, sizes)
    found = space.universe
    for name, extent in zip(names, array.shape, strict=True):
        found = found.intersect(space.where(Binary("<=", Const(0), Var(name))))
        try:
            found = found.subtract(_from(extent, Var(name), space))
        except NotAffine as error:
            raise InputError(f"how long '{array.name}' is, {show(extent)}, is not affine in the sizes") from error
    return found


def _beyond(array: Array, sizes: tuple[str, ...]) -> isl.Set:
    """{ A[x] : x < 0 or x >= extent }; in a dimension whose extent is not affine, the latter is not looked for."""
    names = element_names(len(array.shape))
    space = AffineSpace(array.name, names, sizes)
    found = space.universe.complement()
    for name, extent in zip(names, array.shape, strict=True):
        found = found.union(space.where(Binary("<", Var(name), Const(0))))
        try:
            found = found.union(_from(extent, Var(name), space))
        except NotAffine:
            continue
    return found


def _from(extent: Expr, x: Expr, space: AffineSpace) -> isl.Set:
    """Where x >= extent. A maximum is met where both operands are: as a function, that of many has too many pieces."""
    match extent:
        case Binary("max", one, other):
            return _from(one, x, space).intersect(_from(other, x, space))
        case Binary("min", one, other):
            return _from(one, x, space).union(_from(other, x, space))
    return space.where(Binary(">=", x, extent))
