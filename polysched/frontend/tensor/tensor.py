"""Tensors: arrays that are given, and arrays whose elements an expression in their indices gives.

A = placeholder((n, 64), f32, "A")
D = compute((n, 64), lambda i, j: select(A[i, j] > 0.0, A[i, j], 0.0), "D")
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from polysched.errors import InputError, Loc
from polysched.frontend import arithmetic
from polysched.frontend.tensor.caller import at_caller, caller
from polysched.frontend.tensor.reduce import Axis, Reduction
from polysched.frontend.tensor.value import (
    NO_NAMES,
    Name,
    Names,
    Operand,
    SizeName,
    Value,
    as_value,
    index,
    integer,
    merged,
)
from polysched.ir.dtypes import DType
from polysched.ir.nodes import Expr, Load


@dataclass(frozen=True)
class Body:
    """The value of an element: an expression in the indices and in the results of reductions, by their names."""

    indices: tuple[str, ...]
    value: Expr
    reductions: tuple[Reduction, ...] = ()


@dataclass(frozen=True, eq=False)
class Tensor(Name):
    """An array; a subscript gives its element, a scalar value."""

    dtype: DType
    extents: tuple[Expr, ...]  # in the sizes
    body: Body | None = None  # None: a placeholder
    names: Names = field(default=NO_NAMES, repr=False)  # of what its extents and its body use
    inline: bool | None = None  # None: where it pays
    loc: Loc | None = None
    what = "a tensor"  # type: ignore[assignment]

    @property
    def shape(self) -> tuple[Value, ...]:
        return tuple(map(as_value, self.extents))

    @property
    def ndim(self) -> int:
        return len(self.extents)

    def __getitem__(self, subscripts: object) -> Value:
        given = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        if len(given) != self.ndim:
            message = f"{self.name} has {_count(self.ndim, 'dimension')} and is given {_count(len(given), 'subscript')}"
            raise InputError(message, caller())
        values = [integer(one, f"a subscript of {self.name}") for one in given]
        element = Load(self.name, tuple(value.expr for value in values), self.dtype)
        return Value(element, names=merged([*values, Value(element, names={self.name: self})]))

    __iter__ = None  # a loop over a tensor would never end


def placeholder(shape: Iterable[Any], dtype: DType, name: str, *, loc: Loc | None = None) -> Tensor:
    """An array that is given; extents are sizes, numbers and expressions of them."""
    loc = loc or caller()
    extents, names = _extents(shape, name)
    return Tensor(name, dtype, extents, None, names, None, loc)


def compute(
    shape: Iterable[Any],
    element: Callable[..., Operand],
    name: str,
    *,
    dtype: DType | None = None,
    inline: bool | None = None,
    loc: Loc | None = None,
) -> Tensor:
    """The array whose elements are given by a function of their indices, whose names those of its parameters are.

    With `dtype` the value is cast to it. With `inline=True` there will be no array, but each use computes the element;
    with False there will be one; None decides by cost.
    """
    loc = loc or caller()
    extents, names = _extents(shape, name)
    indices = _parameters(element, len(extents), name, loc)
    with at_caller():
        value = as_value(element(*map(index, indices)))
    wanted = dtype or value.dtype
    used = merged([value, Value(value.expr, names=names)])
    _check(name, indices, used, loc)
    reductions = tuple(meaning for meaning in used.values() if isinstance(meaning, Reduction))
    body = Body(indices, arithmetic.cast(value.typed, wanted), reductions)
    kept = {n: meaning for n, meaning in used.items() if n not in indices and not isinstance(meaning, Reduction)}
    return Tensor(name, wanted, extents, body, kept, inline, loc)


def _extents(shape: Iterable[Any], name: str) -> tuple[tuple[Expr, ...], Mapping[str, Name]]:
    given = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    values = [integer(extent, f"an extent of {name}") for extent in given]
    names = merged(values)
    for other in names.values():
        if not isinstance(other, SizeName):
            hint = 'extents are numbers and sizes: n = ps.var("n")'
            raise InputError(f"an extent of {name} uses {other.name}, {other.what}", caller(), hint)
    return tuple(value.expr for value in values), names


def _parameters(element: Callable[..., Operand], rank: int, name: str, loc: Loc | None) -> tuple[str, ...]:
    """The names of the function's parameters: i0, i1, ... for *args."""
    parameters = list(inspect.signature(element).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return tuple(f"i{k}" for k in range(rank))
    if len(parameters) != rank:
        message = f"{name} has {_count(rank, 'dimension')}, and its function takes {_count(len(parameters), 'index')}"
        raise InputError(message, loc, f"write a lambda of {_count(rank, 'parameter')}")
    return tuple(parameter.name for parameter in parameters)


def _check(name: str, indices: tuple[str, ...], used: Names, loc: Loc | None) -> None:
    """InputError for an axis that is not reduced, or has the name of an index."""
    for meaning in used.values():
        match meaning:
            case Axis():
                hint = f"reduce over it: ps.sum(..., axis={meaning.name})"
                raise InputError(f"{name} uses the axis {meaning.name} outside of a reduction over it", loc, hint)
            case Reduction(axes=axes):
                for axis in axes:
                    if axis.name in indices:
                        message = f"{axis.name} is an index of {name} and an axis that it is reduced over"
                        raise InputError(message, loc, "rename one of them")


def _count(number: int, thing: str) -> str:
    plural = {"index": "indices"}.get(thing, f"{thing}s")
    return f"{number} {thing if number == 1 else plural}"
