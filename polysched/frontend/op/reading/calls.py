"""Calls, by the names of what is called: functions of NumPy, of Python, of the user, and of the device.

np.exp(x, out=y)         %v = UnaryType::Exp(%x), and y's memory has that value
np.tril(x)               the body of the library's tril
np.maximum.reduce(x)     %v = ReduceType::Max(%x) {axes = (0,)}
len(x), sum([x, y])      N, x + y
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from types import FunctionType
from typing import Any

import numpy as np

from polysched.errors import InputError
from polysched.frontend.arithmetic import Type, common
from polysched.frontend.op.emit import Emitter, Operand, name_of, type_of
from polysched.frontend.op.extents import number, product
from polysched.frontend.op.library import LIBRARY
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.numpy import elementwise
from polysched.frontend.op.numpy.functions import FUNCTIONS, HINTS, METHODS, OF_UFUNCS
from polysched.frontend.op.numpy.making import array, as_array
from polysched.frontend.op.numpy.operators import binary, cast, compared, where
from polysched.frontend.op.numpy.passed import DTYPES, dtype_of, plain
from polysched.frontend.op.numpy.shaping import reshape
from polysched.frontend.op.reading import known
from polysched.frontend.op.reading.subscripts import assign_to_elements, element
from polysched.ir.dtypes import DType
from polysched.ir.nodes import Expr

Arguments = tuple[Any, ...]
Keywords = Mapping[str, Any]
Inline = Callable[[FunctionType, Arguments, Keywords, bool], Any]  # the flag: is it the library's?

_ARRAYS = frozenset({"a", "b", "array", "x", "x1", "x2"})  # parameters that are arrays, or numbers as arrays of none
_NO_KEYWORDS = ("casting", "order", "subok", "extobj", "signature", "like", "device")
_COMBINED = {"add": "+", "multiply": "*", "subtract": "-", "maximum": "max", "minimum": "min"}


@dataclass(frozen=True)
class Calls:
    """`inline` reads the body of a Python function; with `in_library`, NumPy's names mean the front end's own first."""

    emit: Emitter
    inline: Inline
    in_library: bool

    def operand(self, value: Any) -> Operand:
        match value:
            case Ref() | Expr() | bool() | int() | float():
                return value
            case tuple() if value:
                return array(self.emit, value)
        raise InputError(f"{known.described(value)} is no array and no number", None, "pass an array or a number")

    # --- by name

    def function(self, written: str, name: str, args: Arguments, keywords: Keywords, *, any_name: bool) -> Any:
        """A function of NumPy or polysched; with `any_name` one that neither has is the device's."""
        if keywords.get("out") is not None:
            return self.into(written, name, args, dict(keywords), any_name)
        if name in _OF_TYPES:
            return _OF_TYPES[name](*_bound(written, _OF_TYPES[name], (self, *args), keywords).args)
        if name in LIBRARY and not (self.in_library and name in FUNCTIONS) and not _is_select_of_one(name, args):
            return self.inline(LIBRARY[name], args, keywords, True)
        if name in FUNCTIONS:
            return self.applied(written, FUNCTIONS[name], args, keywords)
        if name in DTYPES and len(args) == 1:
            result = cast(self.emit, self.operand(args[0]), DTYPES[name])
            return result if result.rank else self.emit.copy(result)
        if not elementwise.is_known(name) and not (any_name and args):
            own = "write it with functions that are, or call it by its plain name if the device has it"
            raise _unsupported(written, next((HINTS[part] for part in written.split(".") if part in HINTS), own))
        return self.elementwise(written, name, args, keywords)

    def elementwise(self, written: str, name: str, args: Arguments, keywords: Keywords) -> Ref:
        operands = [self.operand(arg) for arg in args]
        dtype = keywords.get("dtype")
        if dtype is not None:
            operands = [cast(self.emit, one, dtype_of(dtype)) for one in operands]
        more = keywords.keys() - {"dtype", "out"}
        if "where" in more:
            raise InputError("where= leaves the other elements unset", None, "write np.where(cond, x, y), or add out=y")
        if more:
            message = f"'{written}' takes no argument '{min(more)}' in an operator"
            raise InputError(message, None, "leave it out, or write it with functions that are supported")
        return elementwise.call(self.emit, name, operands)

    def into(self, written: str, name: str, args: Arguments, keywords: dict[str, Any], any_name: bool) -> Ref:
        """The call with out=: the result is stored there, where `where` holds."""
        target = keywords.pop("out")
        target = target[0] if isinstance(target, tuple) and len(target) == 1 else target
        if not isinstance(target, Ref):
            raise InputError(f"out={known.described(target)} is no array", None, "name the array that takes the result")
        chosen = keywords.pop("where", None) if elementwise.is_known(name) else None
        result = as_array(self.emit, self.function(written, name, args, keywords, any_name=any_name))
        if chosen is not None:
            result = cast(self.emit, where(self.emit, self.operand(chosen), result, target), result.dtype)
        check_kept(target, result)
        self.emit.assign(target, self.emit.broadcast_to(self.emit.in_dtype(result, target.dtype), target.shape, "out"))
        return target

    def applied(self, written: str, function: Callable[..., Any], args: Arguments, keywords: Keywords) -> Any:
        given = {name: value for name, value in keywords.items() if name not in _NO_KEYWORDS and name != "out"}
        bound = _bound(written, function, (self.emit, *args), given)
        for name in bound.arguments.keys() & _ARRAYS:
            bound.arguments[name] = as_array(self.emit, bound.arguments[name])
        if bound.arguments.get("dtype") is not None:
            bound.arguments["dtype"] = dtype_of(bound.arguments["dtype"])
        return function(*bound.args, **bound.kwargs)

    def method(self, array: Ref, name: str, args: Arguments, keywords: Keywords) -> Any:
        if name == "item":
            return replace(self.emit.copy(element(self.emit, reshape(self.emit, array, -1), args or [0])), weak=True)
        if name == "copy" and array.memory.is_number:  # np.copy makes an array of it
            return self.emit.copy(array)
        if name not in METHODS:
            hint = HINTS.get(name, f"it has {', '.join(sorted(METHODS))}")
            raise InputError(f"an array has no method '{name}' in an operator", None, hint)
        return self.function(f".{name}", name, (array, *args), keywords, any_name=False)

    def of_ufunc(self, written: str, ufunc: str, method: str, args: Arguments, keywords: Keywords) -> Any:
        """np.maximum.reduce(x), np.add.accumulate(x), np.multiply.outer(x, y)."""
        if method == "outer" and elementwise.is_known(ufunc) and len(args) == 2:
            left, right = (as_array(self.emit, arg) for arg in args)
            spread = element(self.emit, left, [Ellipsis, *[None] * right.rank], "...")
            return self.function(written, ufunc, (spread, right), keywords, any_name=False)
        if (ufunc, method) in OF_UFUNCS:
            axis = {} if len(args) > 1 or "axis" in keywords else {"axis": 0}
            return self.applied(written, OF_UFUNCS[ufunc, method], args, {**axis, **keywords})
        raise _unsupported(written, "write it with functions that are")

    def combine_at(self, ufunc: str, target: Ref, indices: Any, value: Any) -> None:
        """np.add.at(target, indices, value)."""
        if ufunc not in _COMBINED:
            raise _unsupported(f"np.{ufunc}.at", f"there are {', '.join(sorted(_COMBINED))}")
        new, op = self.operand(value), _COMBINED[ufunc]
        if op == "-":
            new, op = binary(self.emit, "*", new, -1), "+"
        chosen = indices if isinstance(indices, tuple) else (indices,)
        assign_to_elements(self.emit, target, chosen, new, op=op)

    # --- Python's own functions

    def of_python(self, name: str, args: Arguments, keywords: Keywords) -> Any:
        """Of tuples, numbers and sizes; of arrays as far as Python's meaning is an array's."""
        if not any(_has_array(arg) for arg in args):
            if name == "float" and isinstance(args[0], Expr):
                return replace(cast(self.emit, args[0], DTYPES["f64"]), weak=True)
            return known.called(name, args, keywords)
        match name, args:
            case "len", [Ref() as x] if x.rank:
                return plain(x.shape[0])
            case (("float" | "int" | "bool"), [Ref() as x]):
                return replace(self.emit.copy(cast(self.emit, x, dtype_of(known.FUNCTIONS[name]))), weak=True)
            case "sum", [tuple(entries), *start]:
                return reduce(self.sum, entries, start[0] if start else 0)
            case "sum", [Ref() as x] if x.rank:
                return FUNCTIONS["sum"](self.emit, x, axis=0, dtype=binary(self.emit, "+", x, 0).dtype)
            case (("min" | "max"), [tuple(entries)]):
                return reduce(partial(self.extremum, name), entries)
            case (("min" | "max"), [_, _, *_]):
                return reduce(partial(self.extremum, name), args)
            case (("min" | "max" | "any" | "all"), [Ref(rank=1) as x]):
                return FUNCTIONS[name](self.emit, x)
            case (("enumerate" | "zip" | "reversed" | "tuple" | "list"), _):
                several = tuple(tuple(self.entries(arg)) if isinstance(arg, Ref) else arg for arg in args)
                return known.called(name, several, keywords)
            case "round", [Ref() as x, *places]:
                return self.function("round", "round", (x, *places), keywords, any_name=False)
            case (("len" | "isinstance"), _):
                return known.called(name, args, keywords)
        return self.function(name, name, args, keywords, any_name=False)

    def sum(self, left: Any, right: Any) -> Any:
        if isinstance(left, Ref) or isinstance(right, Ref):
            return binary(self.emit, "+", self.operand(left), self.operand(right))
        return known.computed("+", left, right)

    def extremum(self, name: str, left: Any, right: Any) -> Ref:
        """Python's min or max of two numbers, which passes over a NaN that comes second."""
        one, two = self.operand(left), self.operand(right)
        if any(isinstance(each, Ref) and each.rank for each in (one, two)):
            raise InputError(f"'{name}' compares arrays, and needs one truth", None, f"write np.{name}imum(x, y)")
        return where(self.emit, compared(self.emit, "<" if name == "min" else ">", two, one), two, one)

    def entries(self, value: Any) -> Iterator[Any]:
        """What a loop over the value gives; of an array its entries as they are when the loop comes to them."""
        match value:
            case tuple() | range():
                return iter(value)
            case Ref() if value.rank:
                extent = number(value.shape[0])
                if extent is not None:
                    return (element(self.emit, value, [k], str(k)) for k in range(extent))
                message = f"{name_of(value)} has {value.shape[0]} entries, a number that is not known"
                raise InputError(message, None, "write operations on the whole array, or a nest: @ps.nest")
            case known.SymbolicRange():
                hint = "write operations on whole arrays, as in np.cumsum(x), or a nest: @ps.nest"
                raise InputError(f"the number of iterations, {value.extent}, is not known", None, hint)
        raise InputError("this is no range and no tuple", None, "write for i in range(4)")

    def of_math(self, name: str, args: Arguments) -> Any:
        """A function of Python's math: of numbers a number, else one that is computed in f64."""
        if not any(isinstance(arg, Ref | Expr) for arg in args):
            return known.of_math(name, args)
        operands = [cast(self.emit, self.operand(arg), DTYPES["f64"]) for arg in args]
        return replace(elementwise.call(self.emit, name, operands), weak=True)


def _unsupported(written: str, hint: str) -> InputError:
    return InputError(f"the function '{written}' is not supported in an operator", None, hint)


def check_kept(target: Ref, new: Ref) -> None:
    """InputError where NumPy refuses to change an array in place: floats do not go into integers."""
    kept = {"b": 0, "u": 1, "i": 1, "f": 2}
    if kept[new.dtype.kind] > kept[target.dtype.kind] or (new.dtype.kind, target.dtype.kind) == ("i", "u"):
        message = f"the result is {new.dtype}, and does not go into an array of {target.dtype} in place"
        raise InputError(message, None, f"convert it, as in x = (x + y).astype(ps.{target.dtype})")


def bound_arguments(written: str, function: Callable[..., Any], args: Arguments, keywords: Keywords) -> dict[str, Any]:
    """The parameters of a Python function by name, defaults included; InputError if it takes others."""
    bound = _bound(written, function, args, keywords)
    bound.apply_defaults()
    return bound.arguments


def _bound(
    written: str, function: Callable[..., Any], args: Sequence[Any], keywords: Keywords
) -> inspect.BoundArguments:
    signature = inspect.signature(function)
    try:
        return signature.bind(*args, **keywords)
    except TypeError as error:
        names = ", ".join(name for name in signature.parameters if name not in ("emit", "calls"))
        message = f"'{written}' is called with other arguments than it takes: {error}"
        raise InputError(message, None, f"it takes {names}") from None


def _has_array(value: Any) -> bool:
    return isinstance(value, Ref) or (isinstance(value, tuple) and any(map(_has_array, value)))


def _is_select_of_one(name: str, args: Arguments) -> bool:
    """Is it select(cond, x, y), which is `where`, and not NumPy's, of lists?"""
    return name == "select" and bool(args) and not isinstance(args[0], tuple)


# --- functions of types and shapes


def _result_type(calls: Calls, *given: Any) -> DType:
    types = [type_of(one) if isinstance(one, Ref | int | float) else Type(dtype_of(one)) for one in given]
    return reduce(common, types).dtype


_OF_TYPES: dict[str, Callable[..., Any]] = {
    "shape": lambda calls, a: tuple(map(plain, as_array(calls.emit, a).shape)),
    "ndim": lambda calls, a: as_array(calls.emit, a).rank,
    "size": lambda calls, a: plain(product(as_array(calls.emit, a).shape)),
    "dtype": lambda calls, given: dtype_of(given),
    "result_type": _result_type,
    "promote_types": _result_type,
    "finfo": lambda calls, given: np.finfo(dtype_of(given).numpy),
    "iinfo": lambda calls, given: np.iinfo(dtype_of(given).numpy),
}
