"""What an element of an operation's result is, given tensors of its operands.

BinaryType::Mul(%x, %w), of [n, m] and [m]       ->      x[i, j] * w[j]
Transpose(%x) {axes = (1, 0)}                    ->      x[j, i]
Gather(%x, %idx) {axes = (0,)}                   ->      x[idx[i] < 0 ? idx[i] + n : idx[i], j]
ReduceType::Sum(%x) {axes = (1,)}                ->      sum(x[i, j], j < m)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from polysched.frontend.arithmetic import Typed
from polysched.frontend.arithmetic import cast as cast_of
from polysched.frontend.op.emit import shape_of
from polysched.frontend.op.extents import is_at_least, normal
from polysched.frontend.op.lowering.reshape import reshaped_source
from polysched.frontend.op.lowering.scalars import contracted, reduced, scalar, sizes_in
from polysched.frontend.op.memory import Sums, View
from polysched.frontend.tensor.tensor import Tensor
from polysched.frontend.tensor.value import Operand, Value, merged
from polysched.ir.build import add, conjunction, sub, zero
from polysched.ir.graph import operations as ir_graph
from polysched.ir.graph.operations import Operation
from polysched.ir.nodes import Binary, Call, Const, Expr, Select

Index = Sequence[Value]


@dataclass(frozen=True)
class Elements:
    """`tensors` and `scalars` are those of values of the graph, by name; the former grow while it is lowered."""

    made_by: Mapping[str, Operation]  # the operation that gives a value
    tensors: Mapping[str, Tensor]
    scalars: Mapping[str, Value]
    indices: Sequence[str]  # names that nothing else has; an operation's own indices are the first of them

    def load(self, value: ir_graph.Value, index: Index) -> Value:
        """The element of a value that an element of an operation on it reads, by broadcasting."""
        if value.name in self.scalars:
            return self.scalars[value.name]
        shape = shape_of(value)
        own = index[len(index) - len(shape) :]
        places = (Value(Const(0), True) if extent == Const(1) else i for i, extent in zip(own, shape, strict=True))
        return self.tensors[value.name][tuple(places)]

    def at(self, value: ir_graph.Value, places: Iterable[Expr], index: Index) -> Value:
        """An element of a value, by expressions in the indices; of a stack at a known place, the operand's there."""
        given = list(places)
        operation = self.made_by.get(value.name)
        if operation and operation.kind == "Stack":
            match given.pop(axis := axis_of(operation)):
                case Const(int(place)):
                    return self.at(operation.operands[int(place)], given, index)
                case place:
                    given.insert(axis, place)
        if value.name in self.scalars:
            return self.scalars[value.name]
        return self.tensors[value.name][tuple(integers(given, index))]

    def element(self, operation: Operation, index: Index) -> Operand:
        (result,) = operation.results
        operands, dtype = operation.operands, result.type.dtype
        of = dict(operation.attributes)
        places = exprs(index)
        match operation.kind, of:
            case "Const", {"value": Const() as constant}:
                return Value(constant)
            case "Size", {"value": Expr() as extent}:
                return Value(extent, names=sizes_in(extent))
            case "Empty", _:
                return Value(zero(dtype))
            case "Iota", _:
                return Value(index[0].expr, names=index[0].names)
            case "Cast", _:
                value = self.load(operands[0], index)
                return Value(cast_of(Typed(value.expr), dtype), names=value.names)
            case "Broadcast", _:
                return self.load(operands[0], index)
            case (("Slice" | "Sums"), {"at": (View() | Sums()) as step}):
                return self.at(operands[0], step.source(places), index)
            case "Transpose", {"axes": tuple(axes)}:
                return self.at(operands[0], (places[axes.index(k)] for k in range(len(axes))), index)
            case "Reshape", _:
                return self.at(operands[0], reshaped_source(places, shape_of(result), shape_of(operands[0])), index)
            case "Select", _:
                cond, then, other = (self.load(operand, index) for operand in operands)
                return Value(Select(cond.expr, then.expr, other.expr), names=merged([cond, then, other]))
            case "Pad", {"before": tuple(before)}:
                return self.padded(operands, before, index)
            case "Stack", {"axis": int(axis)}:
                rest = (*index[:axis], *index[axis + 1 :])
                values = [self.load(one, rest) for one in operands]
                return self.first_of(values, index[axis], list(map(Const, range(1, len(values)))))
            case "Concatenate", {"axis": int(axis)}:
                return self.concatenated(operands, axis, index)
            case "Gather", {"axes": tuple(axes), "first": int(first)}:
                return self.tensors[operands[0].name][self.chosen(operands[0], operands[1:], axes, first, index)]
            case (("MatMul" | "Einsum"), _):
                return contracted(operation, index, self.load, self.indices)
            case "DeviceCall", {"name": str(name)}:
                args = [self.load(operand, index) for operand in operands]
                return Value(Call(name, tuple(arg.expr for arg in args), dtype), names=merged(args))
        if operation.kind.startswith("ReduceType::"):
            return reduced(operation, index, self.load, self.indices)
        if operation.kind in ("BinaryType::Max", "BinaryType::Min") and dtype.is_float:
            return self.extremum(operation, index)
        values = [self.load(operand, index) for operand in operands]
        if operation.kind in ("BinaryType::Shl", "BinaryType::Shr"):
            values[1] = self.number(operands[1], values[1])  # a count that is known needs no test
        return Value(scalar(operation.kind, exprs(values), dtype), names=merged(values))

    def extremum(self, operation: Operation, index: Index) -> Value:
        """NumPy's maximum or minimum of floats is NaN if one of them is; the loop IR's if the first is."""
        first, second = sorted(operation.operands, key=self.is_constant)
        left, right = self.load(first, index), self.load(second, index)
        result = scalar(operation.kind, (left.expr, right.expr), left.dtype)
        if not self.is_constant(second):
            result = Select(Binary("!=", right.expr, right.expr), right.expr, result)
        return Value(result, names=merged([left, right]))

    def number(self, value: ir_graph.Value, element: Value) -> Value:
        """The constant that the value is, if it is one; else `element`."""
        made = self.made_by.get(value.name)
        constant = dict(made.attributes).get("value") if made else None
        return Value(constant) if isinstance(constant, Const) else element

    def is_constant(self, value: ir_graph.Value) -> bool:
        return value.name in self.made_by and self.made_by[value.name].kind in ("Const", "Size")

    def padded(self, operands: Sequence[ir_graph.Value], before: Sequence[Expr], index: Index) -> Value:
        array, fill = operands
        inner = [normal(sub(place, start)) for place, start in zip(exprs(index), before, strict=True)]
        bounds = []
        for at, extent, start in zip(inner, shape_of(array), before, strict=True):
            bounds += [Binary("<=", Const(0), at)] if start != Const(0) else []
            bounds.append(Binary("<", at, extent))
        value, other = self.at(array, inner, index), self.load(fill, ())
        names = merged([value, other, *integers(inner, index)])
        return Value(Select(conjunction(bounds), value.expr, other.expr), names=names)

    def concatenated(self, operands: Sequence[ir_graph.Value], axis: int, index: Index) -> Value:
        start: Expr = Const(0)
        values: list[Value] = []
        ends: list[Expr] = []
        for operand in operands:
            places = list(exprs(index))
            places[axis] = normal(sub(places[axis], start))
            values.append(self.at(operand, places, index))
            start = normal(add(start, shape_of(operand)[axis]))
            ends.append(start)
        return self.first_of(values, index[axis], ends[:-1])

    def first_of(self, values: Sequence[Value], place: Value, ends: Sequence[Expr]) -> Value:
        """The value in whose part of a dimension the place is; all parts but the last have an end."""
        result = values[-1].expr
        for value, end in reversed(list(zip(values[:-1], ends, strict=True))):
            result = Select(Binary("<", place.expr, end), value.expr, result)
        names = {**merged([*values, place]), **{k: v for end in ends for k, v in sizes_in(end).items()}}
        return Value(result, names=names)

    def chosen(
        self, array: ir_graph.Value, indices: Sequence[ir_graph.Value], axes: Sequence[int], first: int, index: Index
    ) -> tuple[Value, ...]:
        """The element that arrays of indices choose; those that may be negative count from the end."""
        shape, rank = shape_of(array), len(indices[0].type.shape)
        inner = index[first : first + rank]
        rest = iter((*index[:first], *index[first + rank :]))
        found = []
        for axis, extent in enumerate(shape):
            if axis not in axes:
                found.append(next(rest))
                continue
            value = self.load(indices[list(axes).index(axis)], inner)
            at = value.expr
            if not _is_never_negative(at):
                at = Select(Binary("<", at, Const(0)), add(at, extent), at)
            found.append(Value(at, True, {**value.names, **sizes_in(extent)}))
        return tuple(found)


def axis_of(operation: Operation) -> int:
    axis = dict(operation.attributes)["axis"]
    assert isinstance(axis, int)
    return axis


def exprs(values: Iterable[Value]) -> tuple[Expr, ...]:
    return tuple(value.expr for value in values)


def integers(places: Iterable[Expr], index: Index) -> list[Value]:
    """Expressions in indices and sizes as values."""
    known = merged(index)
    own = ((place, sizes_in(place)) for place in places)
    return [Value(place, True, {name: known.get(name, size) for name, size in sizes.items()}) for place, sizes in own]


def _is_never_negative(index: Expr) -> bool:
    match index:
        case Select(_, then, other):
            return _is_never_negative(then) and _is_never_negative(other)
    return is_at_least(index, Const(0))
