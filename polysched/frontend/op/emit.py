"""Appends operations to the graph of an operator, with NumPy's dtypes and shapes.

    add(f32[N, 1], i64[4])     ->     %v0 = Cast(%b) {to = f64}, %v1 = Cast(%a) {to = f64}, BinaryType::Add(%v1, %v0)

Operands of an element-wise operation are broadcast by it; there is no operation for that.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count
from typing import Any

import numpy as np

from polysched.errors import InputError, Loc
from polysched.frontend.arithmetic import Type, common, fits, weak_bool, weak_float, weak_int
from polysched.frontend.op.extents import Shape, broadcast, fits_into, shown
from polysched.frontend.op.memory import READ_ONLY, Memory, Permuted, Ref, Reshaped, Spread, Step, Sums, View
from polysched.ir.contents import Contents
from polysched.ir.dtypes import ALL, DType, f64, i64
from polysched.ir.graph.operations import Builder, TensorType, Value
from polysched.ir.nodes import Array, Const, Expr

Operand = Ref | Expr | bool | int | float  # an Expr is an extent


@dataclass(frozen=True)
class Captured:
    """An array from outside of the operator."""

    given: np.ndarray  # known by its identity, and so kept
    ref: Ref
    contents: Contents
    loc: Loc | None  # where it is met first

    @property
    def name(self) -> str:
        return self.ref.memory.name

    @property
    def array(self) -> Array:
        """The parameter that it can be."""
        return Array(self.name, self.ref.dtype, self.ref.shape)


class Emitter:
    """Operations in the order of the program; `loc` is the place of the one being read.

    `reserved` are names that no value has: those of sizes.
    """

    def __init__(self, *arguments: Value, reserved: Iterable[str] = ()):
        self.builder = Builder(*arguments)
        self.loc: Loc | None = None
        self.given = {argument.name for argument in arguments}
        self.named: dict[str, str] = {}  # results by what the user calls them first
        self.reserved = set(reserved)
        self.captured: dict[int, Captured] = {}  # by the identity of what is given

    def add(self, kind: str, operands: Sequence[Value], dtype: DType, shape: Shape, **attributes: Hashable) -> Value:
        made: Any = attributes  # mypy takes them for the named parameters, too
        return self.builder.add(kind, *operands, types=[TensorType(dtype, shape)], loc=self.loc, **made)[0]

    def result(self, kind: str, operands: Sequence[Value], dtype: DType, shape: Shape, **attributes: Hashable) -> Ref:
        """A new array that the operation gives."""
        return fresh(self.add(kind, operands, dtype, shape, **attributes))

    def parameter(self, name: str, dtype: DType, shape: Shape) -> Ref:
        """An array more that the graph is given, by this name or one like it."""
        value = Value(name if self.is_free(name) else self.fresh_name(name), TensorType(dtype, shape))
        self.builder.give(value)
        self.given.add(value.name)
        return Ref(Memory(value.name, value), dtype, shape)

    # --- reading and writing memory

    def value(self, ref: Ref) -> Value:
        """What the user sees of the memory now."""
        if ref.memory.is_unsure:
            raise _view_or_copy(ref.memory)
        return reduce(self._through, ref.path, ref.memory.value)

    def _through(self, value: Value, step: Step) -> Value:
        dtype, shape = value.type.dtype, shape_of(value)
        match step:
            case View() | Sums():
                return self.add("Sums" if isinstance(step, Sums) else "Slice", [value], dtype, step.shape, at=step)
            case Permuted(axes):
                return self.add("Transpose", [value], dtype, tuple(shape[k] for k in axes), axes=axes)
            case Reshaped(to):
                return self.add("Reshape", [value], dtype, to)
            case Spread(to):
                return self.add("Broadcast", [value], dtype, to)
        raise TypeError(f"unknown step {type(step).__name__}")

    def assign(self, ref: Ref, new: Value) -> None:
        """The memory that the user sees as `ref` is overwritten by a value of its shape and dtype."""
        if ref.memory.origin is not None:
            raise _view_or_copy(ref.memory)
        if ref.memory.is_number:
            message = f"{name_of(ref)} is a number, which NumPy does not let anything change"
            raise InputError(message, None, "assign it anew, as in s = s + 1, or make it an array: s = np.array(s)")
        if ref.memory.is_outside:
            message = "an array from outside of the operator cannot be changed in it"
            raise InputError(message, None, "copy it first, as in y = x.copy(), or make it a parameter")
        if any(isinstance(step, READ_ONLY) for step in ref.path):
            raise InputError(f"{name_of(ref)} is a view that NumPy does not let anything change", None, "copy it first")
        ref.memory.value = self._written(ref.memory, ref.memory.value, ref.path, new)

    def _written(self, memory: Memory, old: Value, path: Sequence[Step], new: Value) -> Value:
        """`old` with `new` in the place that the path leads to."""
        if not path:
            return new
        first, *rest = path
        shape = shape_of(old)
        inner = self._written(memory, self._through(old, first), rest, new) if rest else new
        match first:
            case View() if first.is_whole(shape):
                return inner
            case View():
                return self.changed(memory, "Update", [old, inner], shape, at=first)
            case Permuted():
                return self._through(inner, first.inverse)
            case Reshaped():
                return self._through(inner, Reshaped(shape))
        raise TypeError(f"unknown step {type(first).__name__}")

    def changed(
        self, memory: Memory, kind: str, operands: Sequence[Value], shape: Shape, **attributes: Hashable
    ) -> Value:
        """A new value for the memory, by an operation on the old one."""
        names, made = [self.fresh_name(memory.name)] if memory.name else [], dict[str, Any](attributes)
        types = [TensorType(operands[0].type.dtype, shape)]
        return self.builder.add(kind, *operands, types=types, names=names, loc=self.loc, **made)[0]

    def fresh_name(self, name: str) -> str:
        return next(each for k in count(1) if self.is_free(each := f"{name}_{k}"))

    def is_free(self, name: str) -> bool:
        return name not in self.builder.taken and name not in self.reserved and name not in self.named.values()

    def call_it(self, ref: Ref, name: str) -> None:
        """The user's first name of an array is that of the operation's result, too."""
        if not ref.path and not ref.memory.name:
            ref.memory.name = name
            result = ref.memory.value.name
            if result not in self.named and result not in self.given and self.is_free(name):
                self.named[result] = name

    # --- dtypes and shapes

    def constant(self, number: bool | int | float, dtype: DType, shape: Shape = ()) -> Value:
        if dtype.is_integer and not fits(int(number), dtype):
            raise InputError(f"{number} does not fit in {dtype}", None, "use a wider dtype")
        value = {"f": float, "b": bool}.get(dtype.kind, int)(number)
        return self.add("Const", [], dtype, shape, value=Const(value, dtype))

    def in_dtype(self, operand: Operand, dtype: DType) -> Value:
        match operand:
            case Ref():
                return self.cast(self.value(operand), dtype)
            case Expr():
                return self.cast(self.add("Size", [], i64, (), value=operand), dtype)
        return self.constant(operand, dtype)

    def cast(self, value: Value, dtype: DType) -> Value:
        return value if value.type.dtype == dtype else self.add("Cast", [value], dtype, shape_of(value), to=dtype)

    def elementwise(self, kind: str, operands: Sequence[Operand], computed: DType, dtype: DType | None = None) -> Ref:
        """The operation between the operands, which are computed with in one dtype; the result may have another."""
        shape = self.together(operands)
        values = [self.in_dtype(operand, computed) for operand in operands]
        return fresh(self.add(kind, values, dtype or computed, shape))

    def together(self, operands: Sequence[Operand]) -> Shape:
        return broadcast([(name_of(operand), shape_of(operand)) for operand in operands])

    def broadcast_to(self, value: Value, shape: Shape, what: str) -> Value:
        """The value in this shape; InputError, with both shapes, if that needs more than broadcasting.

        Leading dimensions of 1 may be too many, as where NumPy stores a value.
        """
        given = shape_of(value)
        if given == shape:
            return value
        too_many = len(given) - len(shape)
        if too_many > 0 and given[:too_many] == (Const(1),) * too_many:
            return self.broadcast_to(self.add("Reshape", [value], value.type.dtype, given[too_many:]), shape, what)
        if not fits_into(given, shape):
            message = f"a value of shape {shown(given)} cannot be broadcast to {what} of shape {shown(shape)}"
            raise InputError(message, None, "each extent must be 1 or the same")
        return self.add("Broadcast", [value], value.type.dtype, shape)

    def copy(self, ref: Ref) -> Ref:
        return fresh(self.value(ref))

    def array(self, value: Value) -> Ref:
        """The value as an array, even if it has no dimensions."""
        return fresh(value).as_array()


def fresh(value: Value) -> Ref:
    """New memory that holds the value."""
    return Ref(Memory("", value), value.type.dtype, shape_of(value))


def shape_of(operand: Value | Operand) -> Shape:
    match operand:
        case Value(_, kind):
            return tuple(extent for extent in kind.shape if isinstance(extent, Expr))
        case Ref():
            return operand.shape
    return ()


def type_of(operand: Operand) -> Type:
    match operand:
        case Ref():
            return operand.type
        case bool():
            return weak_bool
        case int() | Expr():
            return weak_int
        case float():
            return weak_float
    raise TypeError(f"{type(operand).__name__} has no dtype")


def common_type(operands: Sequence[Operand]) -> Type:
    return reduce(common, map(type_of, operands))


def float_type(operands: Sequence[Operand]) -> DType:
    """The float dtype in which a function of floats is computed: the least that holds the operands' values."""
    dtype = common_type(operands).dtype
    if dtype.is_float:
        return dtype
    narrow = any(isinstance(operand, Ref | bool) for operand in operands) and dtype.bits < 32
    return ALL[f"f{2 * dtype.bits}"] if narrow else f64


def name_of(operand: Operand) -> str:
    """What messages call it."""
    match operand:
        case Ref(memory=memory, path=path):
            steps = "".join(str(step) if isinstance(step, View) else "" for step in path)
            return f"'{memory.name or memory.value.name}{steps}'"
    return f"{operand}"


def _view_or_copy(memory: Memory) -> InputError:
    assert memory.origin is not None
    of = f"of '{memory.origin.name}'" if memory.origin.name else "of another array"
    message = f"'{memory.name or 'it'}' is a view {of} or a copy, as NumPy decides, and one of both is changed"
    return InputError(message, None, "copy it first, as in y = x.reshape(-1).copy()")
