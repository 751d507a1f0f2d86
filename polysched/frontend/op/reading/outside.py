"""Arrays from outside of an operator: what they hold is numbers in the code, or the default of one more parameter.

KERNEL = np.array([0.25, 0.5])      KERNEL[1] * x       %KERNEL = Stack(%v0, %v1), of constants
W = np.ones((64, 64))               x @ W               MatMul(%x, %W), and %W: f64[64, 64] is a parameter

Numbers are faster where each place is known, as in an unrolled stencil. Where loops count through them they gain
nothing, and the more there are, the longer gcc takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polysched.config.heuristics.nest import CONSTANTS_AT_KNOWN_PLACES, CONSTANTS_ELSEWHERE
from polysched.errors import InputError
from polysched.frontend.op.emit import Captured, Emitter
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.numpy.making import array
from polysched.frontend.op.numpy.passed import dtype_of
from polysched.frontend.op.views import At, Every, View
from polysched.ir.contents import contents_of
from polysched.ir.graph.operations import Block, Operation
from polysched.ir.nodes import Const


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
