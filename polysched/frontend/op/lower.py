"""From an operator's graph to tensor expressions: each operation is a tensor, whose elements are given by theirs.

    %v0 = Slice(%offset) {at = [:, 1::4]}     ->      v0[i, j] = offset[i, 4 * j + 1]
    %v1 = BinaryType::Mul(%v0, %w)            ->      v1[i, j] = v0[i, j] * w[i]
    %s = ReduceType::Sum(%v1) {axes = (1,)}   ->      s[i] = sum(v1[i, j], axis=j)
    %o = Update(%z, %s) {at = [:, 0]}         ->      o = z; o[i, 0] = s[i]

Views and what is cheap get no array; the tensor layer decides of the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from polysched.frontend.arithmetic import Typed
from polysched.frontend.arithmetic import cast as cast_of
from polysched.frontend.op.contraction import labels_of
from polysched.frontend.op.elementwise import scalar
from polysched.frontend.op.emit import shape_of
from polysched.frontend.op.extents import normal
from polysched.frontend.op.read import Program
from polysched.frontend.op.reshape import reshaped_source
from polysched.frontend.op.views import View
from polysched.frontend.tensor import reduce as reductions
from polysched.frontend.tensor.tensor import Tensor, compute, placeholder, scan, update
from polysched.frontend.tensor.value import Name, Operand, SizeName, Value, merged, var
from polysched.ir import graph as ir_graph
from polysched.ir.build import add, conjunction, sub
from polysched.ir.graph import Operation
from polysched.ir.node import walk
from polysched.ir.nodes import Array, Binary, Call, Const, Expr, Select, Var

Index = Sequence[Value]


@dataclass(frozen=True)
class Lowered:
    """Tensors of what is given and of what is computed, each after those it reads; which parameters are changed."""

    inputs: tuple[Tensor | Value, ...]
    all: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    in_place: tuple[tuple[str, str], ...]  # an output, and the parameter that takes its values when all are computed


def lowered(program: Program, arguments: Mapping[str, Array | Var | None]) -> Lowered:
    """The tensor expressions of a program."""
    return _Lowering(program, arguments).all()


@dataclass
class _Lowering:
    program: Program
    arguments: Mapping[str, Array | Var | None]
    tensors: dict[str, Tensor] = field(default_factory=dict)  # of the values of the graph, by their names
    scalars: dict[str, Value] = field(default_factory=dict)
    costs: dict[str, int] = field(default_factory=dict)

    def all(self) -> Lowered:
        graph = self.program.graph
        self.operations = graph.body.operations
        self.made_by = {operation.results[0].name: operation for operation in self.operations}
        self.results = {value.name for value in graph.body.results}
        for name, given in self.arguments.items():
            match given:
                case Array():
                    self.tensors[name] = placeholder(given.shape, given.dtype, name)
                case Var():
                    self.scalars[name] = var(name, given.dtype)
        used = {operand.name for operation in self.operations for operand in operation.operands}
        used |= self.results
        targets = self.targets(used)
        self.names = self.tensor_names(targets)
        self.index_names = self.free_names()
        for operation in self.operations:
            (result,) = operation.results
            self.tensors[result.name] = self.tensor(operation, self.names[result.name])
        outputs, in_place = [], []
        for value, target in zip(graph.body.results, targets, strict=True):
            tensor = self.tensors.get(value.name)
            if tensor is None or tensor.name != target.name:
                tensor = self.copied(value, target.name)
            outputs.append(tensor)
            if target.parameter != target.name:
                in_place.append((target.name, target.parameter))
        inputs = tuple(one for name in self.arguments if name in used and (one := self.given(name)) is not None)
        made = dict.fromkeys([*self.tensors.values(), *outputs])
        return Lowered(inputs, tuple(made), tuple(outputs), tuple(in_place))

    def given(self, name: str) -> Tensor | Value | None:
        return self.tensors.get(name) or self.scalars.get(name)

    def targets(self, used: set[str]) -> list[_Target]:
        """The arrays that the results are computed in: of a parameter that is read, one beside it."""
        taken = {*self.arguments, *used}
        found = []
        for output in self.program.outputs:
            name = output.name
            if output.in_place and name in used:
                name = next(f"{name}_new{k or ''}" for k in range(99) if f"{name}_new{k or ''}" not in taken)
            found.append(_Target(name, output.name))
        return found

    def tensor_names(self, targets: Sequence[_Target]) -> dict[str, str]:
        """What the values are called: a result as its target, the others as in the graph, if that is free."""
        names: dict[str, str] = {}
        for value, target in zip(self.program.graph.body.results, targets, strict=True):
            if value.name not in self.arguments:
                names.setdefault(value.name, target.name)
        taken = {*names.values(), *(target.name for target in targets), *self.arguments}
        made = {value.name for operation in self.operations for value in operation.results}
        for name in sorted(made - names.keys()):
            others = (f"{name}_{k}" for k in range(len(made) + 1))
            names[name] = name if name not in taken else next(one for one in others if one not in {*taken, *made})
            taken.add(names[name])
        return names

    def free_names(self) -> list[str]:
        """Names of indices that nothing else has."""
        sizes = {v.name for t in self.tensors.values() for e in t.extents for v in walk(e) if isinstance(v, Var)}
        taken = {*self.arguments, *self.names.values(), *sizes}
        letters = [*"ijklmnpqrstuvw", *(f"i{k}" for k in range(32))]
        return [name for name in letters if name not in taken]

    # --- operations

    def tensor(self, operation: Operation, name: str) -> Tensor:
        match operation.kind:
            case "Update":
                return self.updated(operation, name)
            case "Scatter" | "ScatterAdd":
                return self.scattered(operation, name)
            case "CumSum":
                return self.summed_up(operation, name)
            case "Stack" | "Concatenate" if operation.results[0].name in self.results:
                return self.joined(operation, name)
        (result,) = operation.results
        shape = shape_of(result)
        names = self.index_names[: len(shape)]
        elements: Callable[..., Operand] = lambda *index: self.element(operation, index)  # noqa: E731
        inline = True if self.is_recomputed(operation) else False if self.is_viewed(operation) else None
        return compute(shape, elements, name, dtype=result.type.dtype, names=names, inline=inline, loc=operation.loc)

    def is_recomputed(self, operation: Operation) -> bool:
        """Should each reader compute the elements for itself? Of the rest, the tensor layer decides."""
        name = operation.results[0].name
        if name in self.results:
            return False
        return operation.kind in _VIEWS or (self.cost(name) <= _CHEAP and not self.is_reduced(name))

    def is_viewed(self, operation: Operation) -> bool:
        """Does a view, which gets no array, read what is not element-wise and so needs one?"""
        name = operation.results[0].name
        readers = [one for one in self.operations if name in [operand.name for operand in one.operands]]
        return not operation.kind.startswith(_ELEMENTWISE) and any(one.kind in _VIEWS for one in readers)

    def is_reduced(self, name: str) -> bool:
        """Is the value, or a view of it, read by an operation that reads elements many times?"""
        readers = [one for one in self.operations if name in [operand.name for operand in one.operands]]
        return any(
            self.is_reduced(one.results[0].name) if one.kind in _VIEWS else not one.kind.startswith(_ELEMENTWISE)
            for one in readers
            if one.kind not in ("Update", "Stack", "Concatenate", "Pad")
        )

    def cost(self, name: str) -> int:
        """About how many operations an element takes, with those of the operands."""
        if name not in self.costs:
            self.costs[name] = self.counted(name)
        return self.costs[name]

    def counted(self, name: str) -> int:
        operation = self.made_by.get(name)
        if operation is None or not (operation.kind in _VIEWS or operation.kind.startswith(_ELEMENTWISE)):
            return 100
        own = 8 if operation.kind.startswith(("UnaryType", "SpecFunc")) else operation.kind not in _VIEWS
        return own + sum(self.cost(operand.name) for operand in operation.operands if operand.name in self.made_by)

    def copied(self, value: ir_graph.Value, name: str) -> Tensor:
        """The value in an array of its own."""
        names = self.index_names[: len(value.type.shape)]
        return compute(
            shape_of(value), lambda *index: self.load(value, index), name, dtype=value.type.dtype, names=names
        )

    def updated(self, operation: Operation, name: str) -> Tensor:
        base, new = operation.operands
        step = dict(operation.attributes)["at"]
        assert isinstance(step, View)

        def store(*index: Value) -> tuple[Any, Operand]:
            return tuple(_integers(step.source(_exprs(index)), index)), self.load(new, index)

        names = self.index_names[: len(step.shape)]
        return update(self.tensors[base.name], step.shape, store, name, names=names, loc=operation.loc)

    def joined(self, operation: Operation, name: str) -> Tensor:
        """One array after the other, each in its place."""
        (result,) = operation.results
        axis, rank, dtype = dict(operation.attributes)["axis"], len(result.type.shape), result.type.dtype
        assert isinstance(axis, int)
        zero = Value(Const(0.0 if dtype.is_float else 0 if dtype.is_integer else False, dtype))
        names = self.index_names[:rank]
        made = compute(shape_of(result), lambda *index: zero, f"{name}_none", dtype=dtype, names=names)
        start: Expr = Const(0)
        for k, operand in enumerate(operation.operands):

            def store(*index: Value, operand: ir_graph.Value = operand, start: Expr = start) -> tuple[Any, Operand]:
                at = list(_exprs(index))
                if operation.kind == "Stack":
                    at.insert(axis, start)
                else:
                    at[axis] = normal(add(at[axis], start))
                return tuple(_integers(at, index)), self.load(operand, index)

            last = k == len(operation.operands) - 1
            shape = shape_of(operand)
            made = update(
                made, shape, store, name if last else f"{name}_part{k}", names=names[: len(shape)], loc=operation.loc
            )
            start = normal(add(start, 1 if operation.kind == "Stack" else shape[axis]))
        return made

    def scattered(self, operation: Operation, name: str) -> Tensor:
        base, new, *indices = operation.operands
        axes = dict(operation.attributes)["axes"]
        assert isinstance(axes, tuple)
        shape = shape_of(new)

        def store(*index: Value) -> tuple[Any, Operand]:
            return self.chosen(base, indices, axes, index), self.load(new, index)

        names, op = self.index_names[: len(shape)], "+" if operation.kind == "ScatterAdd" else ""
        return update(self.tensors[base.name], shape, store, name, op=op, names=names, loc=operation.loc)  # type: ignore[arg-type]

    def summed_up(self, operation: Operation, name: str) -> Tensor:
        (operand,) = operation.operands
        axis = dict(operation.attributes)["axis"]
        assert isinstance(axis, int)
        dtype = operand.type.dtype
        zero = Const(0.0 if dtype.is_float else 0, dtype)

        def element(itself: Tensor, *index: Value) -> Operand:
            before = itself[tuple(i - 1 if k == axis else i for k, i in enumerate(index))]
            first = Binary("==", index[axis].expr, Const(0))
            value = self.load(operand, index)
            total = Select(first, zero, before.expr)
            return Value(Binary("+", total, value.expr), names=merged([before, value, *index]))

        names = self.index_names[: len(operand.type.shape)]
        return scan(shape_of(operand), element, dtype, name, names=names, loc=operation.loc)

    # --- elements

    def load(self, value: ir_graph.Value, index: Index) -> Value:
        """The element of a value that an element of an operation on it reads, by broadcasting."""
        if value.name in self.scalars:
            return self.scalars[value.name]
        shape = shape_of(value)
        own = index[len(index) - len(shape) :]
        places = (Value(Const(0), True) if extent == Const(1) else i for i, extent in zip(own, shape, strict=True))
        return self.tensors[value.name][tuple(places)]

    def at(self, value: ir_graph.Value, places: Iterable[Expr], index: Index) -> Value:
        """An element of a value, by expressions in the indices."""
        return self.tensors[value.name][tuple(_integers(places, index))]

    def element(self, operation: Operation, index: Index) -> Operand:
        """The element of the operation's result."""
        (result,) = operation.results
        operands, dtype = operation.operands, result.type.dtype
        of = dict(operation.attributes)
        places = _exprs(index)
        match operation.kind, of:
            case "Const", {"value": Const() as constant}:
                return Value(constant)
            case "Size", {"value": Expr() as extent}:
                return Value(extent, names=_sizes(extent))
            case "Empty", _:
                return Value(Const(0.0 if dtype.is_float else 0 if dtype.is_integer else False, dtype))
            case "Iota", _:
                return Value(index[0].expr, names=index[0].names)
            case "Cast", _:
                value = self.load(operands[0], index)
                return Value(cast_of(Typed(value.expr), dtype), names=value.names)
            case "Broadcast", _:
                return self.load(operands[0], index)
            case "Slice", {"at": View() as step}:
                return self.at(operands[0], step.source(places), index)
            case "Transpose", {"axes": tuple(axes)}:
                return self.at(operands[0], (places[axes.index(k)] for k in range(len(axes))), index)
            case "Reshape", _:
                source = reshaped_source(places, shape_of(result), shape_of(operands[0]))
                return self.at(operands[0], source, index)
            case "Select", _:
                cond, then, other = (self.load(operand, index) for operand in operands)
                return Value(Select(cond.expr, then.expr, other.expr), names=merged([cond, then, other]))
            case "Pad", {"before": tuple(before)}:
                return self.padded(operands, before, index)
            case "Stack", {"axis": int(axis)}:
                rest = (*index[:axis], *index[axis + 1 :])
                return self.first_of(
                    [self.load(one, rest) for one in operands], index[axis], [Const(1)] * len(operands)
                )
            case "Concatenate", {"axis": int(axis)}:
                return self.concatenated(operands, axis, index)
            case "Gather", {"axes": tuple(axes)}:
                return self.tensors[operands[0].name][self.chosen(operands[0], operands[1:], axes, index)]
            case (("MatMul" | "Einsum"), _):
                return self.contracted(operation, index)
            case "DeviceCall", {"name": str(name)}:
                args = [self.load(operand, index) for operand in operands]
                return Value(Call(name, tuple(arg.expr for arg in args), dtype), names=merged(args))
        if operation.kind.startswith("ReduceType::"):
            return self.reduced(operation, index)
        if operation.kind in ("BinaryType::Max", "BinaryType::Min") and dtype.is_float:
            return self.extremum(operation, index)
        values = [self.load(operand, index) for operand in operands]
        return Value(scalar(operation.kind, _exprs(values), dtype), names=merged(values))

    def extremum(self, operation: Operation, index: Index) -> Value:
        """NumPy's maximum or minimum of floats is NaN if one of them is; the loop IR's if the first is."""
        first, second = sorted(operation.operands, key=self.is_constant)
        left, right = self.load(first, index), self.load(second, index)
        result = scalar(operation.kind, (left.expr, right.expr), left.dtype)
        if not self.is_constant(second):
            result = Select(Binary("!=", right.expr, right.expr), right.expr, result)
        return Value(result, names=merged([left, right]))

    def is_constant(self, value: ir_graph.Value) -> bool:
        return value.name in self.made_by and self.made_by[value.name].kind in ("Const", "Size")

    def padded(self, operands: Sequence[ir_graph.Value], before: Sequence[Expr], index: Index) -> Value:
        array, fill = operands
        inner = [normal(sub(place, start)) for place, start in zip(_exprs(index), before, strict=True)]
        zipped = zip(inner, shape_of(array), before, index, strict=True)
        bounds = [
            bound
            for at, extent, start, _ in zipped
            for bound in ((Binary("<=", Const(0), at),) if start != Const(0) else ()) + (Binary("<", at, extent),)
        ]
        value, other = self.at(array, inner, index), self.load(fill, ())
        names = merged([value, other, *_integers(inner, index)])
        return Value(Select(conjunction(bounds), value.expr, other.expr), names=names)

    def concatenated(self, operands: Sequence[ir_graph.Value], axis: int, index: Index) -> Value:
        start: Expr = Const(0)
        values: list[Value] = []
        extents: list[Expr] = []
        for operand in operands:
            places = list(_exprs(index))
            places[axis] = normal(sub(places[axis], start))
            values.append(self.at(operand, places, index))
            extents.append(shape_of(operand)[axis])
            start = normal(add(start, extents[-1]))
        return self.first_of(values, index[axis], extents)

    def first_of(self, values: Sequence[Value], place: Value, extents: Sequence[Expr]) -> Value:
        """The value in whose part of a dimension the place is; each part begins where the one before it ends."""
        starts: list[Expr] = [Const(0)]
        for extent in extents[:-1]:
            starts.append(normal(add(starts[-1], extent)))
        result = values[-1].expr
        for value, end in reversed(list(zip(values[:-1], starts[1:], strict=True))):
            result = Select(Binary("<", place.expr, end), value.expr, result)
        names = {**merged([*values, place]), **{k: v for start in starts for k, v in _sizes(start).items()}}
        return Value(result, names=names)

    def chosen(
        self, array: ir_graph.Value, indices: Sequence[ir_graph.Value], axes: Sequence[int], index: Index
    ) -> tuple[Value, ...]:
        """The element that arrays of indices choose; negative ones count from the end."""
        shape, rank = shape_of(array), len(indices[0].type.shape)
        first = axes[0] if list(axes) == list(range(axes[0], axes[0] + len(axes))) else 0
        inner = index[first : first + rank]
        rest = iter((*index[:first], *index[first + rank :]))
        found = []
        for axis, extent in enumerate(shape):
            if axis not in axes:
                found.append(next(rest))
                continue
            value = self.load(indices[list(axes).index(axis)], inner)
            wrapped = Select(Binary("<", value.expr, Const(0)), add(value.expr, extent), value.expr)
            found.append(Value(wrapped, True, {**value.names, **_sizes(extent)}))
        return tuple(found)

    def reduced(self, operation: Operation, index: Index) -> Value:
        (operand,) = operation.operands
        axes = dict(operation.attributes)["axes"]
        assert isinstance(axes, tuple)
        shape = shape_of(operand)
        spare = iter(self.index_names[len(index) :])
        reduced_over = {k: self.axis(shape[k], next(spare)) for k in axes}
        rest = iter(index)
        places = [reduced_over[k] if k in axes else next(rest) for k in range(len(shape))]
        return self.over(_REDUCTIONS[operation.kind], self.load(operand, places), [*reduced_over.values()])

    def contracted(self, operation: Operation, index: Index) -> Value:
        """A sum of products, of all labels that the result has not."""
        operands, dtype = operation.operands, operation.results[0].type.dtype
        labels: tuple[str, ...]
        if operation.kind == "MatMul":
            labels = _labels_of_product(*(len(one.type.shape) for one in operands))
        else:
            labels = labels_of(str(dict(operation.attributes)["spec"]))
        known = dict(zip(labels[-1], index, strict=True))
        spare = iter(self.index_names[len(index) :])
        axes = []
        for letters, operand in zip(labels, operands, strict=False):
            for letter, extent in zip(letters, shape_of(operand), strict=True):
                if letter not in known and extent != Const(1):
                    known[letter] = self.axis(extent, next(spare))
                    axes.append(known[letter])
        factors = [
            self.load(operand, [known.get(letter, Value(Const(0), True)) for letter in letters])
            for letters, operand in zip(labels, operands, strict=False)
        ]
        op = "&&" if not dtype.is_float and not dtype.is_integer else "*"
        term = reduce(lambda one, two: Value(Binary(op, one.expr, two.expr), names=merged([one, two])), factors)
        return self.over(reductions.any if op == "&&" else reductions.sum, term, axes) if axes else term

    def axis(self, extent: Expr, name: str) -> Value:
        return reductions.reduce_axis(Value(extent, True, _sizes(extent)), name)

    def over(self, function: Callable[..., Value], term: Value, axes: Sequence[Value]) -> Value:
        """The reduction of terms, which need not depend on all of the axes."""
        return function(Value(term.expr, names=merged([term, *axes])), axis=tuple(axes))


@dataclass(frozen=True)
class _Target:
    name: str
    parameter: str  # that has the values in the end; the same name for one of its own


_VIEWS = frozenset({"Slice", "Transpose", "Reshape", "Broadcast", "Const", "Size", "Iota", "Empty"})
_ELEMENTWISE = ("UnaryType", "BinaryType", "SpecFunc", "Select", "Cast")
_CHEAP = 6  # operations that are rather done again than stored
_REDUCTIONS = {
    "ReduceType::Sum": reductions.sum,
    "ReduceType::Prod": reductions.prod,
    "ReduceType::Max": reductions.max,
    "ReduceType::Min": reductions.min,
    "ReduceType::Any": reductions.any,
    "ReduceType::All": reductions.all,
    "ReduceType::ArgMax": reductions.argmax,
    "ReduceType::ArgMin": reductions.argmin,
}


def _exprs(values: Iterable[Value]) -> tuple[Expr, ...]:
    return tuple(value.expr for value in values)


def _integers(places: Iterable[Expr], index: Index) -> list[Value]:
    """Expressions in indices and sizes as values."""
    known = merged(index)
    found = []
    for place in places:
        names: dict[str, Name] = {
            v.name: known.get(v.name, SizeName(v.name)) for v in walk(place) if isinstance(v, Var)
        }
        found.append(Value(place, True, names))
    return found


def _sizes(extent: Expr) -> dict[str, Name]:
    return {v.name: SizeName(v.name) for v in walk(extent) if isinstance(v, Var)}


def _labels_of_product(left: int, right: int) -> tuple[str, str, str]:
    """Labels of the axes of a product of matrices: leading ones are broadcast from the right."""
    batch = "abcdefgh"[: max(left - 2, right - 2, 0)]
    first = batch[len(batch) - max(left - 2, 0) :] + ("xk" if left > 1 else "k")
    second = batch[len(batch) - max(right - 2, 0) :] + ("ky" if right > 1 else "k")
    return first, second, batch + ("x" if left > 1 else "") + ("y" if right > 1 else "")
