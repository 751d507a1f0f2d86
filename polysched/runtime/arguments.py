"""Binds the arguments of a call to the parameters of a function, or refuses them before anything runs.

    fn(n: size, A: f64[n, n + 1], b: f64[n])
    bind(fn, {"A": zeros((4, 5)), "b": zeros(4)})      n is 4: the arrays show it
    bind(fn, {"A": zeros((4, 5)), "b": zeros(3)})      LaunchError: n is 4 by A's dimension 0, but 3 by b's dimension 0

Arrays are numpy's; for a program that runs on a CUDA device, those of other libraries too that are there.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from polysched import isl
from polysched.codegen.passes.radix import factors_of, products_in
from polysched.codegen.source import parameters
from polysched.errors import LaunchError
from polysched.ir.dtypes import DType
from polysched.ir.interp import evaluate
from polysched.ir.node import walk
from polysched.ir.nodes import LARGEST_SIZE, Alloc, Array, Binary, Const, Expr, Function, Store, Unary, Var
from polysched.runtime.views import View, view_of

_MOST_BYTES = (1 << 63) - 1


@dataclass(frozen=True)
class BoundArguments:
    """Arguments that fit."""

    order: tuple[str, ...]  # names of the parameters
    values: dict[str, int | float | bool]  # sizes and scalars
    arrays: dict[str, View]


def bind(
    fn: Function, arguments: Mapping[str, Any], valid_sizes: isl.Set | None = None, *, on_device: bool = False
) -> BoundArguments:
    """The arguments of `fn`, and the sizes that the arrays show; LaunchError if they do not fit.

    `valid_sizes`, { : ... }, are those for which all accesses are in bounds; None if they are for all sizes. With
    `on_device`, arrays may be on a CUDA device.
    """
    order = parameters(fn)
    _check_names(fn, order, arguments)
    views = {array.name: _view(array, arguments[array.name], on_device) for array in fn.arrays}
    for array in fn.arrays:
        _check_array(array, views[array.name], array.name in written(fn))
    sizes = _sizes(fn, arguments, views)
    for array in fn.arrays:
        _check_shape(array, views[array.name], sizes)
    if valid_sizes is not None:
        _check_bounds(fn, sizes, valid_sizes)
    _check_memory(fn, sizes)
    _check_products(fn, sizes)
    _check_overlap(fn, views)
    scalars = {scalar.name: _scalar(scalar, arguments[scalar.name]) for scalar in fn.scalars}
    return BoundArguments(order, {**sizes, **scalars}, views)


def written(fn: Function) -> frozenset[str]:
    """The names of the arrays of `fn` that it writes."""
    stores = {node.array for node in walk(fn.body) if isinstance(node, Store)}
    return frozenset(array.name for array in fn.arrays if array.name in stores)


def _check_names(fn: Function, order: tuple[str, ...], arguments: Mapping[str, Any]) -> None:
    if unknown := sorted(set(arguments) - set(order)):
        raise LaunchError(f"{fn.name} has no parameter {', '.join(unknown)}; it takes {', '.join(order)}")
    needed = [name for name in order if name not in fn.sizes]
    if missing := [name for name in needed if name not in arguments]:
        raise LaunchError(f"{fn.name} needs {', '.join(missing)} too; it takes {', '.join(order)}")


def _view(array: Array, given: Any, on_device: bool) -> View:
    view = view_of(given)
    kinds = "a numpy array or one on a CUDA device," if on_device else "a numpy array"
    expected = f"{array.name} must be {kinds} {signature(array)}"
    if view is None:
        raise LaunchError(f"{expected}, not {type(given).__name__}")
    if view.is_on_device and not on_device:
        raise LaunchError(
            f'{expected}, not a {type(given).__name__} on a CUDA device; copy it to the host, or use target="cuda"'
        )
    return view


def _check_array(array: Array, given: View, is_written: bool) -> None:
    """What can be said of one array without the sizes."""
    expected = f"{array.name} must be {'an' if given.is_on_device else 'a numpy'} array {signature(array)}"
    found = f"{given.dtype} of shape {given.shape}"
    if given.dtype != np.dtype(array.dtype.numpy):
        order = "" if given.dtype.isnative else " in foreign byte order"
        type_name = array.dtype.numpy if given.is_on_device else f"numpy.{array.dtype.numpy}"
        raise LaunchError(f"{expected}, not {found}{order}; convert it with .astype({type_name})")
    if len(given.shape) != len(array.shape):
        raise LaunchError(f"{expected}, not {found}: {len(given.shape)} dimensions instead of {len(array.shape)}")
    if not given.is_contiguous:
        copy = "a contiguous copy" if given.is_on_device else f"a copy: numpy.ascontiguousarray({array.name})"
        raise LaunchError(f"{expected}, in C order without gaps; its strides are {given.strides}; pass {copy}")
    if given.at % given.dtype.alignment and given.nbytes:
        raise LaunchError(f"{expected}, aligned to {given.dtype.alignment} bytes; pass {array.name}.copy()")
    if is_written and not given.is_writable:
        raise LaunchError(f"{array.name} is written, but the array given is read-only; pass a writable copy")


def signature(array: Array) -> str:
    """The array's type as a user declares it: f64[n, n + 1]."""
    return f"{array.dtype}[{', '.join(str(extent) for extent in array.shape)}]"


# --- sizes


def _sizes(fn: Function, arguments: Mapping[str, Any], views: Mapping[str, View]) -> dict[str, int]:
    """Every size: the given ones, and those that extents determine, each extent as soon as one size is left in it."""
    sizes = {name: _size(name, arguments[name]) for name in fn.sizes if name in arguments}
    origin = dict.fromkeys(sizes, "the argument")
    extents = [
        (extent, views[array.name].shape[k], f"{array.name}'s dimension {k}")
        for array in fn.arrays
        for k, extent in enumerate(array.shape)
    ]
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
    if unknown := [name for name in fn.sizes if name not in sizes]:
        raise LaunchError(f"the size {', '.join(unknown)} cannot be seen in the shapes of the arrays; pass it as well")
    for extent, actual, place in extents:
        match extent:
            case Var(name, _) if sizes[name] != actual:
                raise LaunchError(f"{name} is {sizes[name]} by {origin[name]}, but {actual} by {place}")
    return sizes


def _size(name: str, given: Any) -> int:
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
    linear = _linear(extent, sizes)
    if linear is None or len(linear) != 2:
        return None
    (name,) = (name for name in linear if name)
    factor, rest = linear[name], actual - linear[""]
    value, remainder = divmod(rest, factor)
    return name, value if remainder == 0 and value >= 0 else None


def _linear(extent: Expr, sizes: Mapping[str, int]) -> dict[str, int] | None:
    """Factors of the unknown sizes and, under "", the constant; None if the extent is not affine in them."""
    match extent:
        case Const(value, _):
            return {"": int(value)}
        case Var(name, _):
            return {"": sizes[name]} if name in sizes else {"": 0, name: 1}
        case Unary("-", arg):
            return _scaled(_linear(arg, sizes), -1)
        case Binary("+" | "-" as op, left, right):
            first, second = _linear(left, sizes), _scaled(_linear(right, sizes), 1 if op == "+" else -1)
            if first is None or second is None:
                return None
            total = {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}
            return {name: factor for name, factor in total.items() if factor or not name}
        case Binary("*", left, right):
            first, second = _linear(left, sizes), _linear(right, sizes)
            if first is None or second is None or (len(first) > 1 and len(second) > 1):
                return None
            return _scaled(second, first[""]) if len(first) == 1 else _scaled(first, second[""])
    names = [node.name for node in walk(extent) if isinstance(node, Var)]
    return {"": evaluate(extent, sizes)} if all(name in sizes for name in names) else None


def _scaled(linear: dict[str, int] | None, factor: int) -> dict[str, int] | None:
    if linear is None:
        return None
    return {name: value * factor for name, value in linear.items() if value * factor or not name}


# --- what needs the sizes


def _check_shape(array: Array, given: View, sizes: Mapping[str, int]) -> None:
    shape = tuple(evaluate(extent, sizes) for extent in array.shape)
    if given.shape != shape:
        known = ", ".join(f"{name} = {value}" for name, value in sorted(sizes.items()))
        raise LaunchError(f"{array.name} is {signature(array)}, with {known} of shape {shape}, not {given.shape}")


def _check_bounds(fn: Function, sizes: Mapping[str, int], valid_sizes: isl.Set) -> None:
    known = " and ".join(f"{name} = {value}" for name, value in sizes.items())
    point = isl.Set(f"[{', '.join(sizes)}] -> {{ : {known} }}")
    if valid_sizes.intersect(point).is_empty():
        why = "it would leave its arrays, or what its schedule assumes"
        raise LaunchError(f"{fn.name} cannot run with {known}: {why}; it is for {valid_sizes}")


def _check_memory(fn: Function, sizes: Mapping[str, int]) -> None:
    """Temporaries whose extents are known now must have a size in bytes."""
    for node in walk(fn.body):
        if isinstance(node, Alloc) and (extents := [_linear(extent, sizes) for extent in node.array.shape]):
            known = [extent[""] for extent in extents if extent is not None and len(extent) == 1]
            size = node.array.dtype.bits // 8
            for extent in known:
                if extent < 0:
                    raise LaunchError(f"the temporary {node.array.name} has extent {extent} for {dict(sizes)}")
                size *= max(extent, 1)
            if size > _MOST_BYTES:
                raise LaunchError(f"the temporary {node.array.name}, {signature(node.array)}, outgrows 64 bits")


def _check_products(fn: Function, sizes: Mapping[str, int]) -> None:
    """Loops and arrays of products of sizes may have been taken apart, as if those never wrapped."""
    for product in products_in(fn):
        factors = (sizes[f.name] if isinstance(f, Var) else evaluate(f, sizes) for f in factors_of(product))
        if prod(max(factor, 1) for factor in factors) > LARGEST_SIZE:
            known = " and ".join(f"{name} = {value}" for name, value in sizes.items())
            raise LaunchError(f"with {known}, {product} in {fn.name} outgrows {LARGEST_SIZE}")


def _check_overlap(fn: Function, views: Mapping[str, View]) -> None:
    """No memory may be under two names if one of them is written: the compiler counts on it."""
    for one, other in combinations(fn.arrays, 2):
        if not {one.name, other.name} & written(fn):
            continue
        first, second = views[one.name], views[other.name]
        apart = first.at + first.nbytes <= second.at or second.at + second.nbytes <= first.at
        if first.nbytes and second.nbytes and not apart:
            writes = " and ".join(x.name for x in (one, other) if x.name in written(fn))
            raise LaunchError(
                f"{one.name} and {other.name} share memory, and {writes} is written; pass a copy of one of them"
            )


def _scalar(scalar: Var, given: Any) -> int | float | bool:
    """A scalar argument as a Python number, if its dtype holds it exactly."""
    dtype = scalar.dtype
    value = given.item() if isinstance(given, np.generic | np.ndarray) and not given.ndim else given
    if not isinstance(value, bool | int | float):
        raise LaunchError(f"{scalar.name} must be a number of type {dtype}, not {type(given).__name__} {given!r}")
    converted = _converted(value, dtype)
    if converted is None:
        hint = f"; round it first: numpy.{dtype.numpy}({given!r})" if dtype.is_float else ""
        raise LaunchError(f"{scalar.name} is {given!r}, which is not a value of {dtype}{hint}")
    return converted


def _converted(value: bool | int | float, dtype: DType) -> int | float | bool | None:
    """`value` in `dtype`; None if it would change."""
    if dtype.kind == "b":
        return bool(value) if value in (0, 1) else None
    if dtype.is_float:
        with np.errstate(over="ignore"):
            try:
                result = float(np.dtype(dtype.numpy).type(value))
            except OverflowError:
                return None
        return result if result == value or value != value else None
    low, high = (-(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1) if dtype.kind == "i" else (0, (1 << dtype.bits) - 1)
    return int(value) if value == value and low <= value <= high and int(value) == value else None
