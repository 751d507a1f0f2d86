"""From an operator's graph to tensor expressions: each operation is a tensor, whose elements are given by theirs.

    %v0 = Slice(%offset) {at = [:, 1::4]}     ->      v0[i, j] = offset[i, 4 * j + 1]               f32[N, K]
    %v1 = BinaryType::Mul(%v0, %w)            ->      v1[i, j] = v0[i, j] * w[i]
    %s = ReduceType::Sum(%v1) {axes = (1,)}   ->      s[i] = sum(v1[i, j], j < K)
    %o = Update(%z, %s) {at = [:, 0]}         ->      o = z; o[i, 0] = s[i]

Views and what is cheap get no array; the tensor layer decides of the rest. `Tensors` prints as text, stores of an
update below what it updates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from polysched.errors import Loc
from polysched.frontend.op.emit import shape_of
from polysched.frontend.op.extents import normal
from polysched.frontend.op.lowering.elements import Elements, axis_of, exprs, integers
from polysched.frontend.op.lowering.scalars import is_nan, scalar
from polysched.frontend.op.lowering.storing import Storing
from polysched.frontend.op.memory import View
from polysched.frontend.op.reading.read import Program
from polysched.frontend.tensor.caller import lowering
from polysched.frontend.tensor.functions import Reduction
from polysched.frontend.tensor.tensor import Body, Tensor, compute, placeholder, scan, update
from polysched.frontend.tensor.value import Operand, Value, merged, var
from polysched.ir.build import add, zero
from polysched.ir.graph import operations as ir_graph
from polysched.ir.graph.operations import Operation
from polysched.ir.node import substitute, walk
from polysched.ir.nodes import Array, Binary, Const, Expr, Load, Select, Var
from polysched.ir.text import show
from polysched.support.brief import Brief


@dataclass(frozen=True)
class Lowered:
    """Tensors of what is given and of what is computed, each after those it reads; which parameters are changed."""

    inputs: tuple[Tensor | Value, ...]
    all: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    in_place: tuple[tuple[str, str], ...]  # an output, and the parameter that takes its values when all are computed


def lowered(program: Program, arguments: Mapping[str, Array | Var | None], *, values_first: bool = False) -> Lowered:
    """The tensor expressions of a program.

    With `values_first`, what is stored in place is computed before, in an array of its own.
    """
    return _Lowering(program, arguments, values_first).all()


@dataclass
class _Lowering:
    program: Program
    arguments: Mapping[str, Array | Var | None]
    values_first: bool
    tensors: dict[str, Tensor] = field(default_factory=dict)  # of the values of the graph, by their names
    scalars: dict[str, Value] = field(default_factory=dict)

    def all(self) -> Lowered:
        graph = self.program.graph
        self.operations = graph.body.operations
        self.made_by = {operation.results[0].name: operation for operation in self.operations}
        self.results = {value.name for value in graph.body.results}
        self.storing = Storing(self.operations, self.made_by, self.results, self.values_first)
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
        self.elements = Elements(self.made_by, self.tensors, self.scalars, self.index_names)
        for operation in self.operations:
            (result,) = operation.results
            with lowering(operation.loc):
                self.tensors[result.name] = self.tensor(operation, self.names[result.name])
        outputs, in_place = [], []
        for output, value, target in zip(self.program.outputs, graph.body.results, targets, strict=True):
            tensor = self.tensors.get(value.name)
            if tensor is None or tensor.name != target:
                tensor = self.copied(value, target)
            outputs.append(tensor)
            if target != output.name:
                in_place.append((target, output.name))
        inputs = (self.tensors.get(name) or self.scalars.get(name) for name in self.arguments if name in used)
        made = dict.fromkeys([*self.tensors.values(), *outputs])
        return Lowered(tuple(one for one in inputs if one is not None), tuple(made), tuple(outputs), tuple(in_place))

    def targets(self, used: set[str]) -> list[str]:
        """The arrays that the results are computed in: of a parameter that is read, one beside it."""
        taken = {*self.arguments, *used}
        found = []
        for output in self.program.outputs:
            name = output.name
            if output.in_place and name in used:
                name = next(f"{name}_new{k or ''}" for k in range(99) if f"{name}_new{k or ''}" not in taken)
            found.append(name)
        return found

    def tensor_names(self, targets: Sequence[str]) -> dict[str, str]:
        """What the values are called: a result as its target, the others as in the graph, if that is free."""
        names: dict[str, str] = {}
        for value, target in zip(self.program.graph.body.results, targets, strict=True):
            if value.name not in self.arguments:
                names.setdefault(value.name, target)
        taken = {*names.values(), *targets, *self.arguments}
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
            case "Scatter":
                return self.scattered(operation, name)
            case "CumSum" | "CumProd" | "CumMax" | "CumMin":
                return self.running(operation, name)
            case "Stack" | "Concatenate" if operation.results[0].name in self.results:
                return self.joined(operation, name)
        inline, loc = self.storing.inline(operation), operation.loc
        return self.computed(operation.results[0], lambda *at: self.elements.element(operation, at), name, inline, loc)

    def computed(
        self,
        value: ir_graph.Value,
        element: Callable[..., Operand],
        name: str,
        inline: bool | None = None,
        loc: Loc | None = None,
    ) -> Tensor:
        names = self.index_names[: len(value.type.shape)]
        return compute(shape_of(value), element, name, dtype=value.type.dtype, names=names, inline=inline, loc=loc)

    def copied(self, value: ir_graph.Value, name: str) -> Tensor:
        return self.computed(value, lambda *index: self.elements.load(value, index), name)

    def updated(self, operation: Operation, name: str) -> Tensor:
        base, new = operation.operands
        step = dict(operation.attributes)["at"]
        assert isinstance(step, View)

        def store(*index: Value) -> tuple[Any, Operand]:
            return tuple(integers(step.source(exprs(index)), index)), self.elements.load(new, index)

        names = self.index_names[: len(step.shape)]
        before = self.copied(base, f"{name}_was") if base.name in self.scalars else self.tensors[base.name]
        return update(before, step.shape, store, name, names=names, loc=operation.loc)

    def joined(self, operation: Operation, name: str) -> Tensor:
        """One array after the other, each in its place."""
        (result,) = operation.results
        axis, none = axis_of(operation), Value(zero(result.type.dtype))
        made = self.computed(result, lambda *index: none, f"{name}_none")
        start: Expr = Const(0)
        for k, operand in enumerate(operation.operands):

            def store(*index: Value, operand: ir_graph.Value = operand, start: Expr = start) -> tuple[Any, Operand]:
                at = list(exprs(index))
                if operation.kind == "Stack":
                    at.insert(axis, start)
                else:
                    at[axis] = normal(add(at[axis], start))
                return tuple(integers(at, index)), self.elements.load(operand, index)

            last = k == len(operation.operands) - 1
            shape = shape_of(operand)
            names = self.index_names[: len(shape)]
            made = update(made, shape, store, name if last else f"{name}_part{k}", names=names, loc=operation.loc)
            start = normal(add(start, 1 if operation.kind == "Stack" else shape[axis]))
        return made

    def scattered(self, operation: Operation, name: str) -> Tensor:
        base, new, *indices = operation.operands
        of: dict[str, Any] = dict(operation.attributes)
        shape = shape_of(new)

        def store(*index: Value) -> tuple[Any, Operand]:
            at = self.elements.chosen(base, indices, of["axes"], of["first"], index)
            return at, self.elements.load(new, index)

        names, op = self.index_names[: len(shape)], of["op"]
        return update(self.tensors[base.name], shape, store, name, op=op, names=names, loc=operation.loc)

    def running(self, operation: Operation, name: str) -> Tensor:
        (operand,) = operation.operands
        axis = axis_of(operation)
        dtype, kind = operand.type.dtype, _RUNNING[operation.kind]

        def element(itself: Tensor, *index: Value) -> Operand:
            before = itself[tuple(i - 1 if k == axis else i for k, i in enumerate(index))]
            value = self.elements.load(operand, index)
            combined = scalar(kind, (before.expr, value.expr), dtype)
            if dtype.is_float and kind in ("BinaryType::Max", "BinaryType::Min"):
                combined = Select(is_nan(value.expr), value.expr, combined)
            first = Binary("==", index[axis].expr, Const(0))
            return Value(Select(first, value.expr, combined), names=merged([before, value, *index]))

        names = self.index_names[: len(operand.type.shape)]
        return scan(shape_of(operand), element, dtype, name, names=names, loc=operation.loc)


_RUNNING = {
    "CumSum": "BinaryType::Add",
    "CumProd": "BinaryType::Mul",
    "CumMax": "BinaryType::Max",
    "CumMin": "BinaryType::Min",
}


@dataclass(frozen=True, repr=False)
class Tensors(Brief):
    """Tensors, each after those it reads; prints as text."""

    all: tuple[Tensor, ...]

    def __str__(self) -> str:
        return "\n".join(line for tensor in self.all if tensor.bodies for line in _lines(tensor))


def _lines(tensor: Tensor) -> Iterator[str]:
    shape = f"{tensor.dtype}[{', '.join(map(show, tensor.extents))}]"
    first, *rest = tensor.bodies
    match first.value:
        case Load(array, index) if rest and first.is_plain and index == first.at:
            yield f"{tensor.name} = {array} : {shape}"
        case _:
            yield f"{_element(tensor.name, first)} = {_value(first)} : {shape}"
    for body in rest:
        bounds = ", ".join(f"{i} < {show(n)}" for i, n in zip(body.indices, body.extents, strict=True))
        yield f"    {_element(tensor.name, body)} = {_value(body)} for {bounds}"


def _element(name: str, body: Body) -> str:
    return f"{name}[{', '.join(map(show, body.at))}]"


def _value(body: Body) -> str:
    """The value, reductions in their places."""
    return show(substitute(body.value, {one.name: Var(_reduction(one), one.dtype) for one in body.reductions}))


def _reduction(one: Reduction) -> str:
    name = {"+": "sum", "*": "prod", "||": "any", "&&": "all"}.get(one.op, one.op)
    lows = ("" if axis.lo == Const(0) else f"{show(axis.lo)} <= " for axis in one.axes)
    axes = ", ".join(f"{low}{axis.name} < {show(axis.hi)}" for low, axis in zip(lows, one.axes, strict=True))
    where = f" if {show(one.where)}" if one.where is not None else ""
    return f"{name}({show(one.term)}, {axes}{where})"
