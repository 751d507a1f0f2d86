"""What names from outside of an operator, and attributes, stand for; functions read in the place of their calls.

EPS = 1e-5                          known_to(norm)["EPS"]     1e-5
def norm(x): ... + EPS
x.shape, x.T                        a tuple of extents, a view
np.finfo(x.dtype).eps               a number of that dtype
KERNEL = np.array([0.25, 0.5])      KERNEL[1] * x       %KERNEL = Stack(%v0, %v1), of constants
W = np.ones((64, 64))               x @ W               MatMul(%x, %W), and %W: f64[64, 64] is a parameter

What arrays from outside hold is numbers in the code, or the default of one more parameter. Numbers are faster where
each place is known, as in an unrolled stencil. Where loops count through them they gain nothing, and the more there
are, the longer gcc takes.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import CellType, FunctionType
from typing import Any

import numpy as np

from polysched.config.heuristics.nest import CONSTANTS_AT_KNOWN_PLACES, CONSTANTS_ELSEWHERE
from polysched.errors import InputError, Loc
from polysched.frontend.op.emit import Captured, Emitter, fresh
from polysched.frontend.op.extents import product
from polysched.frontend.op.memory import At, Every, Ref, View
from polysched.frontend.op.numpy.making import array
from polysched.frontend.op.numpy.passed import dtype_of, plain
from polysched.frontend.op.numpy.shaping import swapaxes, transpose
from polysched.frontend.python_source import Source, definition_of
from polysched.ir.contents import contents_of
from polysched.ir.dtypes import DType
from polysched.ir.graph.operations import Block, Operation
from polysched.ir.nodes import Const

CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None}  # of NumPy and math


def attribute(emit: Emitter, base: Any, name: str, written: str) -> Any:
    """The attribute of an array, a dtype, or what NumPy knows of one."""
    match base, name:
        case Ref(), "T":
            return transpose(emit, base)
        case Ref(), "mT":
            return swapaxes(emit, base, -1, -2)
        case Ref(), "shape":
            return tuple(map(plain, base.shape))
        case Ref(), "ndim":
            return base.rank
        case Ref(), "size":
            return plain(product(base.shape))
        case Ref(), "dtype":
            return base.dtype
        case DType(), "kind":
            return base.kind
        case DType(), "name":
            return base.numpy
        case ((np.finfo() | np.iinfo()), _) if hasattr(base, name):
            number = getattr(base, name)
            is_float = isinstance(number, np.floating)
            return _number(emit, number) if is_float else int(number)
    message = f"the attribute '{written}' cannot be in an operator"
    raise InputError(message, None, "arrays have T, mT, shape, ndim, size and dtype")


def constant(emit: Emitter, name: str, value: Any) -> Any:
    """What a name outside of the operator stands for; NumPy's own numbers have their dtype."""
    match value:
        case np.generic():
            return _number(emit, value)
        case np.ndarray():
            return outside(emit, name, value)
        case list() | tuple():
            entries = enumerate(value)  # integers may be extents
            return tuple(n if isinstance(n, np.integer) else constant(emit, f"{name}_{k}", n) for k, n in entries)
    return value


def _number(emit: Emitter, value: np.generic) -> Ref:
    return fresh(emit.constant(value.item(), dtype_of(value.dtype.name)))


_KNOWN = (bool, int, float, str, tuple, list, FunctionType, np.generic, np.ndarray)


def known_to(function: FunctionType) -> dict[str, Any]:
    """What names outside of a function stand for, of what an operator can use: numbers, tuples, functions."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    enclosed = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
    found = {**function.__globals__, **enclosed}
    functions = ((name, getattr(value, "python", None), value) for name, value in found.items())  # those of operators
    values = ((name, python if isinstance(python, FunctionType) else value) for name, python, value in functions)
    return {name: value for name, value in values if isinstance(value, _KNOWN)}


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # a name that is assigned later
        return False
    return True


definition_read = cache(definition_of)


@dataclass(frozen=True)
class Elsewhere(Source):
    """Code that is not the user's: what is made of it stands where it is called, as errors from it do."""

    place: Loc | None = None

    def loc(self, node: ast.AST) -> Loc:
        assert self.place is not None
        return self.place

    def error(self, node: ast.AST, message: str, hint: str = "") -> InputError:
        return InputError(message, None, hint)


def outside(emit: Emitter, name: str, value: np.ndarray) -> Ref:
    """The array that a name from outside stands for, as it is now; nothing in the operator may change it."""
    if id(value) not in emit.captured:
        if type(value) not in (np.ndarray, np.memmap):
            message = f"'{name}' is a {type(value).__name__}, which may compute otherwise than an array of NumPy"
            raise InputError(message, None, f"make it one: np.asarray({name})")
        dtype = dtype_of(value.dtype.name)
        ref = emit.parameter(name, dtype, tuple(map(Const, value.shape)))
        ref.memory.is_outside = ref.memory.is_array = True
        emit.captured[id(value)] = Captured(value, ref, contents_of(value, dtype), emit.loc)
    return emit.captured[id(value)].ref


def settled(emit: Emitter, block: Block) -> tuple[Block, tuple[Captured, ...]]:
    """The block with those arrays as numbers that are few enough, and the others that it uses."""
    used = {value.name for value in block.results} | {
        operand.name for operation in block.operations for operand in operation.operands
    }
    numbers: list[Operation] = []
    parameters: list[Captured] = []
    for one in emit.captured.values():
        if one.name not in used:  # its shape alone may have been read
            continue
        if _are_few(block, one):
            numbers += _numbers(emit, one)
        else:
            parameters.append(one)
    gone = {one.name for one in emit.captured.values()} - {one.name for one in parameters}
    arguments = tuple(value for value in block.arguments if value.name not in gone)
    return replace(block, arguments=arguments, operations=(*numbers, *block.operations)), tuple(parameters)


def _are_few(block: Block, one: Captured) -> bool:
    count = one.given.size
    if not 0 < count <= CONSTANTS_AT_KNOWN_PLACES:
        return False
    return count <= CONSTANTS_ELSEWHERE or _has_known_places(block, one.name)


def _has_known_places(block: Block, name: str) -> bool:
    """Is each element of the value that is used at a place that is a number?"""
    readers = [one for one in block.operations if name in [operand.name for operand in one.operands]]
    return name not in [value.name for value in block.results] and all(
        _is_at_numbers(one) and (not one.results[0].type.shape or _has_known_places(block, one.results[0].name))
        for one in readers
    )


def _is_at_numbers(operation: Operation) -> bool:
    match dict(operation.attributes).get("at"):
        case View(parts):
            starts = [
                part.index if isinstance(part, At) else part.start for part in parts if isinstance(part, At | Every)
            ]
            return all(isinstance(start, Const) for start in starts)
    return False


def _numbers(emit: Emitter, one: Captured) -> Sequence[Operation]:
    """The operations that give the array."""
    emit.loc, made = one.loc, emit.builder.operations
    before = len(made)
    array(emit, _tuples(one.contents.array.tolist()), one.contents.dtype)
    *inner, last = made[before:]
    return *inner, replace(last, results=(one.ref.memory.value,))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
