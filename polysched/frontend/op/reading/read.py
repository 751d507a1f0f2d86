"""From the statements of an operator's Python code to a graph in SSA form.

    out = np.zeros((N, 4))          %out = Const() {value = 0.0} : f64[N, 4]
    out[:, 0] = x + 1               %v0 = BinaryType::Add(%x, %one) : f64[N]
                                    %out_1 = Update(%out, %v0) {at = [:, 0]} : f64[N, 4]

The code is read as Python runs it, but for arrays, of which shapes and dtypes alone are known: loops over ranges of
numbers are unrolled, an `if` on numbers and shapes is decided. Assigning in place gives the memory a new value.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from polysched.frontend.op.emit import Captured, Emitter, type_of
from polysched.frontend.op.memory import Memory, Ref
from polysched.frontend.op.reading.outside import settled
from polysched.frontend.op.reading.statements import Statements
from polysched.frontend.python_source import Source
from polysched.ir.graph.cse import eliminate
from polysched.ir.graph.operations import Graph, TensorType, Value
from polysched.ir.nodes import Array, Var

Arguments = Mapping[str, Array | Var | None]  # arrays, scalars and, as None, sizes, by name


@dataclass(frozen=True)
class Output:
    """A result of the graph, and the array that it goes to: a new one, or a parameter that is changed in place."""

    name: str
    value: Value
    in_place: bool


@dataclass(frozen=True)
class Program:
    graph: Graph
    outputs: tuple[Output, ...]
    returned: tuple[str, ...]  # for each value that the function returns, the array that has it in the end
    captured: tuple[Captured, ...]  # arrays from outside that are parameters


def read(source: Source, definition: ast.FunctionDef, arguments: Arguments, constants: Mapping[str, Any]) -> Program:
    """The graph of a function; `arguments` are arrays, scalars, and None for sizes.

    `constants` are what names outside of it stand for. InputError with the place of what an operator cannot have.
    """
    reader = _Reader(source, arguments, constants)
    with source.at(definition):
        reader.statements.block(definition.body)
        return reader.program(definition)


class _Reader:
    """The memories of the parameters, and the statements that change them."""

    def __init__(self, source: Source, arguments: Arguments, constants: Mapping[str, Any]):
        self.source, self.arguments = source, arguments
        self.memories: dict[str, Memory] = {}
        variables: dict[str, Any] = {}
        for name, given in arguments.items():
            if given is None:
                variables[name] = Var(name)
                continue
            is_array, shape = isinstance(given, Array), given.shape if isinstance(given, Array) else ()
            memory = Memory(name, Value(name, TensorType(given.dtype, shape)), is_array=is_array)
            self.memories[name], variables[name] = memory, Ref(memory, given.dtype, shape)
        self.emit = Emitter(*(memory.value for memory in self.memories.values()), reserved=arguments)
        self.statements = Statements(source, self.emit, variables, constants)
        self.arrays_returned: list[str] = []

    def program(self, definition: ast.FunctionDef) -> Program:
        self.arguments = {**self.arguments, **{one.name: one.array for one in self.emit.captured.values()}}
        outputs = list(self.results())
        for name, given in self.arguments.items():
            memory = self.memories.get(name)
            if isinstance(given, Array) and memory and memory.value.name != name:
                outputs.append(Output(name, memory.value, True))
        if not outputs:
            hint = "return an array, or change a parameter in place, as in out[...] = x"
            raise self.source.error(definition, f"'{definition.name}' gives nothing", hint)
        results = tuple(output.value for output in outputs)
        graph = Graph(definition.name, self.emit.builder.block(*results))
        body, captured = settled(self.emit, eliminate(graph).body)
        graph = _named(eliminate(replace(graph, body=body)), self.emit.named)
        named = zip(outputs, graph.body.results, strict=True)
        outputs = [replace(output, value=value) for output, value in named]
        return Program(graph, tuple(outputs), tuple(self.arrays_returned), captured)

    def results(self) -> Iterator[Output]:
        if self.statements.returned is None or self.statements.returned[1] is None:
            return
        node, value = self.statements.returned
        assert node.value is not None
        values = value if isinstance(value, tuple) else (value,)
        nodes = [node.value] * len(values)
        if isinstance(value, tuple) and isinstance(node.value, ast.Tuple):
            nodes = node.value.elts
        taken = set(self.arguments)
        for k, (one, given) in enumerate(zip(nodes, values, strict=True)):
            memory = given.memory if isinstance(given, Ref) and not given.path else None
            if memory and self.memories.get(memory.name) is memory and memory.value.name != memory.name:
                self.arrays_returned.append(memory.name)  # a parameter that is changed in place
                continue
            name = one.id if isinstance(one, ast.Name) else "out" if len(values) == 1 else f"out{k}"
            while name in taken:
                name = f"{name}_out" if name in self.arguments else f"{name}_{k}"
            taken.add(name)
            self.arrays_returned.append(name)
            with self.source.at(one):
                held = self.statements.expressions.operand(given)
                result = self.emit.in_dtype(held, type_of(held).dtype)
            yield Output(name, result, False)


def _named(graph: Graph, names: Mapping[str, str]) -> Graph:
    """The graph with values by these names, and the others numbered in order."""
    made = [result.name for operation in graph.body.operations for result in operation.results]
    by_number = re.compile(r"v\d+")  # names that the builder gave
    own = {name for name in made if not by_number.fullmatch(name)} | {value.name for value in graph.body.arguments}
    numbers = (f"v{k}" for k in count() if f"v{k}" not in {*own, *names.values()})
    new = {name: names.get(name) or next(numbers) for name in made if name not in own}

    def named(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(replace(value, name=new.get(value.name, value.name)) for value in values)

    operations = tuple(
        replace(one, operands=named(one.operands), results=named(one.results)) for one in graph.body.operations
    )
    return replace(graph, body=replace(graph.body, operations=operations, results=named(graph.body.results)))
