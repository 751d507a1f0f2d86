"""Binds the arguments of a call to the parameters of a function, or refuses them before anything runs.

    fn(n: size, A: f64[n, n + 1], b: f64[n])
    bind = Binder(fn)
    bind({"A": zeros((4, 5)), "b": zeros(4)})       n is 4: the arrays show it
    bind({"A": zeros((4, 5)), "b": zeros(3)})       LaunchError: n is 4 by A's dimension 0, but 3 by b's dimension 0

Arrays are numpy's; for a program that runs on a CUDA device, those of other libraries too that are there.

Nearly all checks need only the forms of the arrays and the sizes given: those that fit are remembered. A call with such
ones again costs microseconds: it looks at what each array is like now, where it is, and at the scalars.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from math import isinf, prod
from typing import Any

import numpy as np

from polysched.codegen.emit.source import parameters
from polysched.errors import LaunchError
from polysched.ir.defaults import default_arguments
from polysched.ir.dtypes import DType
from polysched.ir.integers.intervals import whole
from polysched.ir.interp import evaluate
from polysched.ir.node import stored, walk
from polysched.ir.nodes import LARGEST_SIZE, Alloc, Array, Function, Var
from polysched.ir.text import in_words
from polysched.prelude.structure.radix import factors_of, products_in
from polysched.runtime.extents import polynomial, size_of, sizes_of
from polysched.runtime.views import Form, View, view_of
from polysched.support import isl

_MOST_BYTES = (1 << 63) - 1
_REMEMBERED = 64  # calls that fit, the latest ones
_OF_NUMPY, _NUMBERS = (np.generic, np.ndarray), (bool, int, float)  # unions would be built anew at each call
_FLOATS = {16: "e", 32: "f", 64: "d"}  # as `struct` calls them


@dataclass(frozen=True)
class BoundArguments:
    """Arguments that fit."""

    order: tuple[str, ...]  # names of the parameters
    values: dict[str, int | float | bool]  # sizes and scalars
    arrays: dict[str, View]

    @property
    def in_order(self) -> list[Any]:
        """As the entry takes them; the arrays must outlive the call."""
        return self.in_order_at({name: view.at for name, view in self.arrays.items()})

    def in_order_at(self, addresses: Mapping[str, int]) -> list[Any]:
        """The same with arrays that are elsewhere."""
        return [addresses[name] if name in addresses else self.values[name] for name in self.order]


def named(fn: Function, in_order: Sequence[Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments by name; LaunchError for more than there are parameters, and for one given twice."""
    names = parameters(fn)
    if len(in_order) > len(names):
        raise LaunchError(f"{fn.name} takes {', '.join(names)}: {len(names)} arguments, and {len(in_order)} are given")
    for name in names[: len(in_order)]:
        if name in arguments:
            raise LaunchError(f"{fn.name} is given {name} twice, by its place and by its name")
    return {**dict(zip(names, in_order, strict=False)), **arguments}


@dataclass(frozen=True)
class Fit:
    """What is known of a call from the forms of its arrays and the sizes given."""

    sizes: dict[str, int]
    apart: tuple[tuple[str, int, str, int], ...]  # arrays that must not share memory, each with its bytes


@dataclass(frozen=True)
class Binder:
    """Binds the arguments of calls of `fn`.

    `valid_sizes`, { : ... }, are those for which all accesses are in bounds; None if they are for all sizes. With
    `on_device`, arrays may be on a CUDA device.
    """

    fn: Function
    valid_sizes: isl.Set | None = None
    on_device: bool = False

    def __call__(self, arguments: Mapping[str, Any]) -> BoundArguments:
        """The arguments, and the sizes that the arrays show; LaunchError if they do not fit."""
        if not self._needed <= arguments.keys() <= self._known:
            self._refuse_names(arguments)
        given = {**self._defaults, **arguments}
        views = {array.name: _view(array, given[array.name], self.on_device) for array in self.fn.arrays}
        sizes = [(name, size_of(name, arguments[name])) for name in self.fn.sizes if name in arguments]
        fit = self._fit(tuple([view.form for view in views.values()]), tuple(sizes))
        _check_apart(fit, views, self.written)
        scalars = {scalar.name: _scalar(scalar, given[scalar.name]) for scalar in self.fn.scalars}
        return BoundArguments(self.order, {**fit.sizes, **scalars}, views)

    def _refuse_names(self, given: Mapping[str, Any]) -> None:
        takes = f"it takes {', '.join(self.order)}"
        if unknown := sorted(given.keys() - self._known):
            raise LaunchError(f"{self.fn.name} has no parameter {', '.join(unknown)}; {takes}")
        if missing := [name for name in self.order if name in self._needed and name not in given]:
            raise LaunchError(f"{self.fn.name} needs {', '.join(missing)} too; {takes}")

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return parameters(self.fn)

    @cached_property
    def written(self) -> frozenset[str]:
        """The names of the arrays that it writes."""
        return stored(self.fn.body).intersection(array.name for array in self.fn.arrays)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.order)

    @cached_property
    def _needed(self) -> frozenset[str]:
        return self._known - set(self.fn.sizes) - self._defaults.keys()

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        return default_arguments(self.fn)

    @cached_property
    def _fit(self) -> Callable[[tuple[Form, ...], tuple[tuple[str, int], ...]], Fit]:
        return lru_cache(_REMEMBERED)(self._checked)

    def _checked(self, forms: tuple[Form, ...], given: tuple[tuple[str, int], ...]) -> Fit:
        """All that can be said without addresses; LaunchError, which is not remembered, if it does not fit."""
        fn = self.fn
        arrays = list(zip(fn.arrays, forms, strict=True))
        for array, form in arrays:
            _check_array(array, form, array.name in self.written)
        sizes = sizes_of(fn, dict(given), {array.name: form.shape for array, form in arrays})
        for array, form in arrays:
            _check_shape(array, form, sizes)
        if self.valid_sizes is not None:
            _check_bounds(fn, sizes, self.valid_sizes)
        _check_memory(fn, sizes)
        _check_products(fn, sizes)
        pairs = combinations(((array.name, form.nbytes) for array, form in arrays if form.nbytes), 2)
        return Fit(sizes, tuple((*one, *other) for one, other in pairs if {one[0], other[0]} & self.written))


def _view(array: Array, given: Any, on_device: bool) -> View:
    view = view_of(given)
    if view is not None and (on_device or not view.form.is_on_device):
        return view
    kinds = "a numpy array or one on a CUDA device," if on_device else "a numpy array"
    expected, found = f"{array.name} must be {kinds} {signature(array)}", type(given).__name__
    if view is None:
        raise LaunchError(f"{expected}, not {found}")
    raise LaunchError(f'{expected}, not a {found} on a CUDA device; copy it to the host, or use target="cuda"')


def _check_array(array: Array, given: Form, is_written: bool) -> None:
    """What can be said of one array without the sizes."""
    expected = f"{array.name} must be {'an' if given.is_on_device else 'a numpy'} array {signature(array)}"
    found = f"{given.dtype} of shape {given.shape}"
    if given.dtype != np.dtype(array.dtype.numpy):
        order = "" if given.dtype.isnative else " in foreign byte order"
        type_name = array.dtype.numpy if given.is_on_device else f"numpy.{array.dtype.numpy}"
        is_complex = given.dtype.kind == "c"
        how = "complex numbers are not supported" if is_complex else f"convert it with .astype({type_name})"
        raise LaunchError(f"{expected}, not {found}{order}; {how}")
    if len(given.shape) != len(array.shape):
        raise LaunchError(f"{expected}, not {found}: {len(given.shape)} dimensions instead of {len(array.shape)}")
    if not given.is_contiguous:
        copy = "a contiguous copy" if given.is_on_device else f"a copy: numpy.ascontiguousarray({array.name})"
        raise LaunchError(f"{expected}, in C order without gaps; its strides are {given.strides}; pass {copy}")
    if not given.is_aligned and given.nbytes:
        raise LaunchError(f"{expected}, aligned to {given.dtype.alignment} bytes; pass {array.name}.copy()")
    if is_written and not given.is_writable:
        raise LaunchError(f"{array.name} is written, but the array given is read-only; pass a writable copy")


def signature(array: Array) -> str:
    """The array's type as a user declares it: f64[n, n + 1]."""
    return f"{array.dtype}[{', '.join(str(extent) for extent in array.shape)}]"


def _check_shape(array: Array, given: Form, sizes: Mapping[str, int]) -> None:
    shape = tuple(evaluate(extent, sizes) for extent in array.shape)
    if given.shape != shape:
        known = in_words(dict(sorted(sizes.items())))
        raise LaunchError(f"{array.name} is {signature(array)}, with {known} of shape {shape}, not {given.shape}")


def _check_bounds(fn: Function, sizes: Mapping[str, int], valid_sizes: isl.Set) -> None:
    if isl.at(valid_sizes, sizes).is_empty():
        known = " and ".join(f"{name} = {value}" for name, value in sizes.items())
        why = "it would leave its arrays, or what its schedule assumes"
        raise LaunchError(f"{fn.name} cannot run with {known}: {why}; it is for {valid_sizes.remove_redundancies()}")


def _check_memory(fn: Function, sizes: Mapping[str, int]) -> None:
    """Temporaries whose extents are known now must have a size in bytes."""
    for node in walk(fn.body):
        if isinstance(node, Alloc):
            extents = [polynomial(extent, sizes) for extent in node.array.shape]
            known = [int(extent.constant) for extent in extents if extent is not None and not extent.names]
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


def _check_apart(fit: Fit, views: Mapping[str, View], written: frozenset[str]) -> None:
    """No memory may be under two names if one of them is written: the compiler counts on it."""
    for one, one_bytes, other, other_bytes in fit.apart:
        first, second = views[one].at, views[other].at
        if first < second + other_bytes and second < first + one_bytes:
            writes = [f"{name} is" for name in (one, other) if name in written]
            what = writes[0] if len(writes) == 1 else "both are"
            raise LaunchError(f"{one} and {other} share memory, and {what} written; pass a copy of one of them")


def _scalar(scalar: Var, given: Any) -> int | float | bool:
    """A scalar argument as a Python number of its dtype. Python's own numbers are rounded to a float, since they have
    no width that says how exact they are; those of numpy must not change."""
    dtype = scalar.dtype
    is_numpy = isinstance(given, _OF_NUMPY) and not given.ndim
    value = given.item() if is_numpy else given
    if not isinstance(value, _NUMBERS):
        raise LaunchError(f"{scalar.name} must be a number of type {dtype}, not {type(given).__name__} {given!r}")
    converted = _converted(value, dtype)
    if converted is None:
        beyond = f": {dtype} ends at {float(np.finfo(dtype.numpy).max):g}" if dtype.is_float else ""
        raise LaunchError(f"{scalar.name} is {given!r}, which is not a value of {dtype}{beyond}")
    if is_numpy and converted != value == value:
        hint = f"round it first: numpy.{dtype.numpy}({value!r})"
        raise LaunchError(f"{scalar.name} is {value!r}, which is not a value of {dtype}; {hint}")
    return converted


def _converted(value: bool | int | float, dtype: DType) -> int | float | bool | None:
    """`value` in `dtype`, rounded to a float; None if there is none near it."""
    if dtype.kind == "b":
        return bool(value) if value in (0, 1) else None
    if dtype.is_float:
        try:
            (result,) = struct.unpack(_FLOATS[dtype.bits], struct.pack(_FLOATS[dtype.bits], float(value)))
        except OverflowError:
            return None
        return None if isinf(result) and not isinf(value) else result
    low, high = whole(dtype)
    return int(value) if value == value and low <= value <= high and int(value) == value else None
