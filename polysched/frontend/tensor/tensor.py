"""Tensors: arrays that are given, and arrays whose elements an expression in their indices gives.

    A = placeholder((n, 64), f32, "A")
    D = compute((n, 64), lambda i, j: select(A[i, j] > 0.0, A[i, j], 0.0), "D")
    S = scan((n,), lambda S, i: select(i > 0, S[i - 1], 0) + D[i, 0], f32, "S")
    U = update(D, (n, 16), lambda i, j: ((i, 4 * j), 0.0), "U")

The parameters of the functions are the indices, and their names those of the loops.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from polysched.errors import InputError, Loc
from polysched.frontend import arithmetic
from polysched.frontend.arithmetic import counted
from polysched.frontend.tensor.caller import at_caller, caller
from polysched.frontend.tensor.functions import Axis, Reduction
from polysched.frontend.tensor.value import (
    Name,
    Names,
    Operand,
    SizeName,
    Value,
    as_value,
    index,
    integer,
    made,
    merged,
)
from polysched.ir.dtypes import DType
from polysched.ir.nodes import Expr, Load, Var
from polysched.support.brief import brief
from polysched.support.entry import entry


@dataclass(frozen=True)
class Body:
    """Elements that are stored, one for each value of the indices, in lexicographic order.

    The value is an expression in the indices and in the results of reductions, by their names.
    """

    indices: tuple[str, ...]
    extents: tuple[Expr, ...]
    at: tuple[Expr, ...]  # which element
    value: Expr
    reductions: tuple[Reduction, ...] = ()
    loc: Loc | None = field(default=None, compare=False)

    @property
    def is_plain(self) -> bool:
        """Is each element stored once, at its own indices?"""
        return self.at == tuple(map(Var, self.indices))


@dataclass(frozen=True, eq=False)
class Tensor(Name):
    """An array; a subscript gives its element, a scalar value."""

    dtype: DType
    extents: tuple[Expr, ...]  # in the sizes
    bodies: tuple[Body, ...] = ()  # one after the other; none of a placeholder
    names: Names = field(default_factory=dict, repr=False)  # of what its extents and its bodies use
    inline: bool | None = None  # None: where it pays
    loc: Loc | None = None
    what = "a tensor"

    def __repr__(self) -> str:
        return brief(self, f"{self.name}: {self.dtype}[{', '.join(map(str, self.extents))}]")

    @property
    def shape(self) -> tuple[Value, ...]:
        return tuple(map(as_value, self.extents))

    @property
    def ndim(self) -> int:
        return len(self.extents)

    def __getitem__(self, subscripts: object) -> Value:
        given = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        if len(given) != self.ndim:
            rank, subscripts = counted(self.ndim, "dimension"), counted(len(given), "subscript")
            raise InputError(f"{self.name} has {rank} and is given {subscripts}", caller())
        values = [integer(one, f"a subscript of {self.name}") for one in given]
        element = Load(self.name, tuple(value.expr for value in values), self.dtype)
        return Value(element, names=merged([*values, Value(element, names={self.name: self})]))

    __iter__ = None  # a loop over a tensor would never end


@entry
def placeholder(shape: Iterable[Any], dtype: DType, name: str, *, loc: Loc | None = None) -> Tensor:
    """An array that is given; extents are sizes, numbers and expressions of them."""
    loc = loc or caller()
    extents, names = _extents(shape, name)
    return Tensor(name, dtype, extents, (), names, None, loc)


@entry
def compute(
    shape: Iterable[Any],
    element: Callable[..., Operand],
    name: str,
    *,
    dtype: DType | None = None,
    names: Sequence[str] | None = None,
    inline: bool | None = None,
    loc: Loc | None = None,
) -> Tensor:
    """The array whose elements are given by a function of their indices.

    With `dtype` the value is cast to it; `names` are those of the indices, instead of the function's parameters'. With
    `inline=True` there will be no array, but each use computes the element; with False there will be one; None decides
    by cost.
    """
    return _computed(shape, element, name, dtype, names, inline, loc or caller())


@entry
def scan(
    shape: Iterable[Any],
    element: Callable[..., Operand],
    dtype: DType,
    name: str,
    *,
    names: Sequence[str] | None = None,
    loc: Loc | None = None,
) -> Tensor:
    """The array whose elements are given, in lexicographic order, by a function of itself and their indices; it may
    read elements that come before."""
    if not isinstance(dtype, DType):
        hint = f'its elements are of one before they are known: ps.scan(shape, f, ps.f64, "{name}")'
        raise InputError(f"scan '{name}' has {dtype!r} for a dtype", loc or caller(), hint)
    return _computed(shape, element, name, dtype, names and ("self", *names), None, loc or caller(), is_scan=True)


def _computed(
    shape: Iterable[Any],
    element: Callable[..., Operand],
    name: str,
    dtype: DType | None,
    names: Sequence[str] | None,
    inline: bool | None,
    loc: Loc | None,
    is_scan: bool = False,
) -> Tensor:
    """The tensor; of a scan, the element is also given the tensor itself, and `names` one for it."""
    extents, of_extents = _extents(shape, name)
    itself = [Tensor(name, dtype, extents)] if is_scan and dtype else []
    indices = _parameters(element, len(itself) + len(extents), name, names, loc)[len(itself) :]
    with at_caller():
        value = as_value(element(*itself, *map(index, indices)))
        dtype = dtype or value.dtype
        expr = arithmetic.converted(value.typed, dtype) if value.weak else arithmetic.cast(value.typed, dtype)
    used = merged([value, Value(value.expr, names=of_extents)])
    reductions = _reductions(name, indices, used, loc)
    body = Body(indices, extents, tuple(map(Var, indices)), expr, reductions, loc)
    return Tensor(name, dtype, extents, (body,), _outside(used, indices, *itself), inline, loc)


@entry
def update(
    base: Tensor,
    shape: Iterable[Any],
    store: Callable[..., tuple[Any, Operand]],
    name: str,
    *,
    op: Literal["", "+", "*", "min", "max"] = "",
    names: Sequence[str] | None = None,
    loc: Loc | None = None,
) -> Tensor:
    """The tensor `base` with some elements stored anew: a function of indices, which run below `shape`, gives the
    subscripts of an element and its value, in lexicographic order; with `op`, what the element is combined with.

    The values read `base` as it was. Subscripts may depend on data, which is trusted to stay in bounds.
    """
    loc = loc or caller()
    extents, of_extents = _extents(shape, name)
    itself = Tensor(name, base.dtype, base.extents)
    indices = _parameters(store, len(extents), name, names, loc)
    with at_caller():
        where, what = store(*map(index, indices))
        value = as_value(what)
        element = itself[where]
        stored = _combined(op, element, value.astype(base.dtype)).expr
    assert isinstance(element.expr, Load)
    sizes = {name: meaning for name, meaning in base.names.items() if isinstance(meaning, SizeName)}
    used = merged([value, element, Value(value.expr, names=of_extents), Value(value.expr, names=sizes)])
    stores = Body(indices, extents, element.expr.index, stored, _reductions(name, indices, used, loc), loc)
    kept = {**_outside(used, indices, itself), base.name: base}
    return Tensor(name, base.dtype, base.extents, (_copy(base, loc), stores), kept, None, loc)


def _combined(op: str, element: Value, value: Value) -> Value:
    match op:
        case "":
            return value
        case "+" | "*":
            return made(arithmetic.binary(op, element.typed, value.typed))
        case "min" | "max":
            return made(arithmetic.extremum(op, [element.typed, value.typed]))
    raise InputError(f"an update cannot combine by {op!r}", None, "op is one of '', '+', '*', 'min', 'max'")


def _copy(base: Tensor, loc: Loc | None) -> Body:
    indices = tuple(f"i{k}" for k in range(base.ndim))
    own = tuple(map(Var, indices))
    return Body(indices, base.extents, own, Load(base.name, own, base.dtype), loc=loc)


def _extents(shape: Iterable[Any], name: str) -> tuple[tuple[Expr, ...], Mapping[str, Name]]:
    given = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    values = [integer(extent, f"an extent of {name}") for extent in given]
    names = merged(values)
    for other in names.values():
        if not isinstance(other, SizeName):
            hint = 'extents are numbers and sizes: n = ps.var("n")'
            raise InputError(f"an extent of {name} uses {other.name}, {other.what}", caller(), hint)
    return tuple(value.expr for value in values), names


def _parameters(
    function: Callable[..., Any], rank: int, name: str, given: Sequence[str] | None, loc: Loc | None
) -> tuple[str, ...]:
    """The names of the indices: those given, else the function's parameters, else, for *args, i0, i1, ...

    Parameters with a default are none: they are how Python binds what a loop changes.
    """
    parameters = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    if given is None and any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return tuple(f"i{k}" for k in range(rank))
    names = tuple(parameter.name for parameter in parameters) if given is None else tuple(given)
    if len(names) != rank:
        message = f"{name} has {counted(rank, 'index')}, and its function takes {len(names)}"
        raise InputError(message, loc, f"write a lambda of {counted(rank, 'parameter')}")
    return names


def _reductions(name: str, indices: tuple[str, ...], used: Names, loc: Loc | None) -> tuple[Reduction, ...]:
    """Those in what is used; InputError for an axis that is not reduced, or has the name of an index."""
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
    return tuple(meaning for meaning in used.values() if isinstance(meaning, Reduction))


def _outside(used: Names, indices: tuple[str, ...], *itself: Tensor) -> Names:
    """The names that stand for things of their own, not for parts of this tensor."""
    own = {name for name, meaning in used.items() if isinstance(meaning, Reduction) or meaning in itself}
    return {name: meaning for name, meaning in used.items() if name not in own and name not in indices}
