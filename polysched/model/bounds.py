"""For which sizes every access stays inside its array.

    for i in range(m): a[i] = ...     with a: f64["n"]     ->     m <= n, checked at each call
    for i in range(n): a[i + 1] = ... with a: f64["n"]     ->     InputError: S[i = 0] touches a[1] when n = 1
"""

from __future__ import annotations

from polysched import isl
from polysched.errors import InputError
from polysched.ir.nodes import Array, Var
from polysched.ir.text import show
from polysched.model.affine import AffineSpace, NotAffine
from polysched.model.scop import Access, Statement
from polysched.model.witness import smallest


def sizes_in_bounds(
    context: isl.Set, statements: tuple[Statement, ...], arrays: dict[str, Array], sizes: tuple[str, ...]
) -> isl.Set:
    """The part of `context` for which all exact accesses are in bounds.

    InputError if an access leaves its array for all the sizes at which its statement runs at all.
    """
    boxes = {name: _box(array, sizes) for name, array in arrays.items()}
    valid = context
    for statement in statements:
        for access in (*statement.reads, *statement.writes):
            valid = valid.subtract(_bad_sizes(statement, access, boxes[access.array], context, arrays, sizes))
    return valid.coalesce()


def _bad_sizes(
    statement: Statement,
    access: Access,
    box: isl.Set,
    context: isl.Set,
    arrays: dict[str, Array],
    sizes: tuple[str, ...],
) -> isl.Set:
    relation = access.relation.intersect_domain(statement.domain.intersect_params(context))
    outside = relation.subtract_range(box)
    if outside.is_empty():
        return context.subtract(context)
    bad = outside.params()
    if relation.params().subtract(bad).is_empty():
        raise InputError(_complaint(statement, outside, arrays[access.array], sizes), statement.loc, _HINT)
    return bad


_HINT = "shrink the loop, guard the access, or declare the array larger, as in f64[\"n + 1\"]"


def _complaint(statement: Statement, outside: isl.Map, array: Array, sizes: tuple[str, ...]) -> str:
    smallest_sizes, point = smallest(outside.wrap())
    instance, element = point[: statement.depth], list(point[statement.depth :])
    where = ", ".join(f"{name} = {value}" for name, value in zip(statement.iterators, instance, strict=True))
    given = ", ".join(f"{name} = {smallest_sizes[name]}" for name in sizes)
    shape = ", ".join(show(extent) for extent in array.shape)
    return (
        f"'{array.name}' has shape [{shape}], but {where or 'the statement'} touches "
        f"{array.name}{element}" + (f" when {given}" if given else "")
    )


def _box(array: Array, sizes: tuple[str, ...]) -> isl.Set:
    """{ A[x] : 0 <= x < extent }; a dimension whose extent is not affine is left open."""
    names = tuple(f"x{k}" for k in range(len(array.shape)))
    space = AffineSpace(array.name, names, sizes)
    box = space.universe
    for name, extent in zip(names, array.shape, strict=True):
        x = space.function(Var(name))
        box = box.intersect(x.nonneg_set())
        try:
            box = box.intersect(x.lt_set(space.function(extent)))
        except NotAffine:
            continue
    return box
