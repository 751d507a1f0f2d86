"""From the statements of an operator's Python code to a graph in SSA form.

    out = np.zeros((N, 4))          %out = Const() {value = 0.0} : f64[N, 4]
    out[:, 0] = x + 1               %v0 = BinaryType::Add(%x, %one) : f64[N]
                                    %out_1 = Update(%out, %v0) {at = [:, 0]} : f64[N, 4]

The code is read as Python runs it, but for arrays, of which shapes and dtypes alone are known: loops over ranges of
numbers are unrolled, an `if` on numbers and shapes is decided. Assigning in place gives the memory a new value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from polysched.errors import InputError
from polysched.frontend.op.elementwise import binary, where
from polysched.frontend.op.emit import Emitter, name_of, shape_of, type_of
from polysched.frontend.op.expressions import SYMBOLS, Expressions, written
from polysched.frontend.op.extents import shown
from polysched.frontend.op.memory import Memory, Ref
from polysched.frontend.op.subscripts import assign_to_elements, element, is_gather, is_mask, viewed
from polysched.frontend.python_source import Source
from polysched.ir.graph import Graph, TensorType, Value
from polysched.ir.graph_cse import eliminate
from polysched.ir.nodes import Array, Var


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


def read(
    source: Source,
    definition: ast.FunctionDef,
    arguments: Mapping[str, Array | Var | None],
    constants: Mapping[str, Any],
) -> Program:
    """The graph of a function; `arguments` are arrays, scalars, and None for sizes.

    `constants` are what names outside of it stand for. InputError with the place of what an operator cannot have.
    """
    reader = _Statements(source, arguments, constants)
    with reader.source.at(definition):
        reader.block(definition.body)
        return reader.program(definition)


class _Statements:
    def __init__(self, source: Source, arguments: Mapping[str, Array | Var | None], constants: Mapping[str, Any]):
        self.source = source
        types = {
            name: TensorType(given.dtype, given.shape if isinstance(given, Array) else ())
            for name, given in arguments.items()
            if given is not None
        }
        values = {name: Value(name, kind) for name, kind in types.items()}
        self.emit = Emitter(*values.values())
        self.memories = {name: Memory(name, value) for name, value in values.items()}
        variables: dict[str, Any] = {name: Var(name) for name, given in arguments.items() if given is None}
        for name, value in values.items():
            variables[name] = Ref(self.memories[name], value.type.dtype, shape_of(value))
        self.arguments = arguments
        self.expressions = Expressions(source, self.emit, variables, constants)
        self.variables = variables
        self.returned: tuple[ast.Return, Any] | None = None
        self.arrays_returned: list[str] = []

    def block(self, nodes: Iterable[ast.stmt]) -> None:
        for node in nodes:
            if self.returned:
                return
            self.emit.loc = self.source.loc(node)
            with self.source.at(node):
                self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Assign(targets=targets, value=value):
                new = self.expressions.value(value)
                for target in targets:
                    self.assign(target, new)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.expressions.value(value))
            case ast.AugAssign(target=target, op=op, value=value):
                self.augment(target, SYMBOLS[type(op)], self.expressions.value(value))
            case ast.For():
                self.loop(node)
            case ast.If():
                self.block(node.body if self.expressions.truth(node.test) else node.orelse)
            case ast.Assert(test=test, msg=message):
                if not self.expressions.truth(test):
                    said = self.expressions.value(message) if message else ast.unparse(test)
                    raise self.source.error(node, f"the assertion does not hold: {said}")
            case ast.Return(value=value):
                self.returned = node, None if value is None else self.expressions.value(value)
            case ast.Expr(value=ast.Call() as call):
                self.expressions.statement(call)
            case ast.Expr(value=value):
                raise self.source.error(value, "this has no effect", "assign it to a name or a slice, or delete it")
            case _:
                name = type(node).__name__.lower()
                what, hint = _REFUSED.get(type(node), (f"a statement '{name}'", "write assignments, for and if"))
                raise self.source.error(node, f"{what} cannot be in an operator", hint)

    # --- assignment

    def assign(self, target: ast.expr, new: Any) -> None:
        match target:
            case ast.Name(id=name):
                self.bind(name, new)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                values = self.expressions.entries(target, new)
                if len(values) != len(targets):
                    message = f"{len(values)} values are assigned to {len(targets)} names"
                    raise self.source.error(target, message, "write one name for each value")
                for one, value in zip(targets, values, strict=True):
                    self.assign(one, value)
            case ast.Subscript(value=base, slice=subscript):
                array = self.expressions.array(base)
                self.store(array, self.expressions.subscripts(subscript), written(subscript), new)
            case _:
                message = f"'{ast.unparse(target)}' cannot be assigned in an operator"
                raise self.source.error(target, message, "assign to a name, or to a slice of an array")

    def bind(self, name: str, new: Any) -> None:
        if isinstance(new, Ref):
            self.emit.call_it(new, name)
        self.variables[name] = new

    def store(self, array: Ref, subscripts: tuple[Any, ...], text: str, new: Any) -> None:
        """array[subscripts] = new."""
        if any(map(is_mask, subscripts)):
            chosen = self.expressions.masked(array, subscripts)
            self.overwrite(array, where(self.emit, chosen, new, array), "it")
        elif any(map(is_gather, subscripts)):
            assign_to_elements(self.emit, array, subscripts, self.expressions.operand(new), add=False)
        else:
            seen = viewed(array, subscripts, text)
            self.overwrite(seen, new, name_of(seen))

    def overwrite(self, target: Ref, new: Any, what: str) -> None:
        value = self.emit.in_dtype(self.expressions.operand(new), target.dtype)
        self.emit.assign(target, self.emit.broadcast_to(value, target.shape, what))

    def augment(self, target: ast.expr, op: str, operand: Any) -> None:
        """target op= operand: arrays are changed in place, numbers are not."""
        match target:
            case ast.Name(id=name):
                old = self.expressions.value(target)
                if isinstance(old, Ref) and (old.rank or old.path):
                    self.in_place(old, op, old, operand, name)
                else:
                    self.bind(name, self.expressions.binary(op, old, operand))
            case ast.Subscript(value=base, slice=subscript):
                array, subscripts = self.expressions.array(base), self.expressions.subscripts(subscript)
                text = written(subscript)
                if any(map(is_mask, subscripts)):
                    chosen = self.expressions.masked(array, subscripts)
                    new = self.checked(array, self.expressions.binary(op, array, operand))
                    self.overwrite(array, where(self.emit, chosen, new, array), "it")
                elif any(map(is_gather, subscripts)):
                    old = element(self.emit, array, subscripts)
                    new = self.checked(array, self.expressions.binary(op, old, operand))
                    assign_to_elements(self.emit, array, subscripts, new, add=False)
                else:
                    seen = viewed(array, subscripts, text)
                    self.in_place(seen, op, seen, operand, name_of(seen))
            case _:
                raise self.source.error(target, f"'{ast.unparse(target)}' cannot be assigned in an operator")

    def in_place(self, target: Ref, op: str, old: Ref, operand: Any, what: str) -> None:
        new = self.checked(target, binary(self.emit, op, old, self.expressions.operand(operand)))
        if new.shape != target.shape:
            message = f"the result of shape {shown(new.shape)} does not fit in {what} of shape {shown(target.shape)}"
            raise InputError(message, None, "in place, the shape stays: write x = x + y for a new array")
        self.overwrite(target, new, what)

    def checked(self, target: Ref, new: Ref) -> Ref:
        """InputError where NumPy refuses to change an array in place: floats do not go into integers."""
        kept = {"b": 0, "u": 1, "i": 1, "f": 2}
        if kept[new.dtype.kind] > kept[target.dtype.kind] or (new.dtype.kind, target.dtype.kind) == ("i", "u"):
            message = f"the result is {new.dtype}, and does not go into an array of {target.dtype} in place"
            raise InputError(message, None, f"convert it, as in x = (x + y).astype(ps.{target.dtype})")
        return new

    # --- control

    def loop(self, node: ast.For) -> None:
        over = self.expressions.value(node.iter)
        if node.orelse:
            raise self.source.error(
                node.orelse[0], "an else after a for cannot be in an operator", "put it after the loop"
            )
        for entry in self.expressions.entries(node.iter, over):
            self.assign(node.target, entry)
            self.block(node.body)
            if self.returned:
                return

    # --- results

    def program(self, definition: ast.FunctionDef) -> Program:
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
        graph = _named(eliminate(graph).graph, self.emit.named)
        named = zip(outputs, graph.body.results, strict=True)
        return Program(
            graph, tuple(replace(output, value=value) for output, value in named), tuple(self.arrays_returned)
        )

    def is_changed(self, memory: Memory) -> bool:
        """Is it a parameter that is changed in place?"""
        return self.memories.get(memory.name) is memory and memory.value.name != memory.name

    def results(self) -> Iterator[Output]:
        if self.returned is None or self.returned[1] is None:
            return
        node, value = self.returned
        assert node.value is not None
        values = value if isinstance(value, tuple) else (value,)
        nodes = (
            node.value.elts
            if isinstance(value, tuple) and isinstance(node.value, ast.Tuple)
            else [node.value] * len(values)
        )
        taken = set(self.arguments)
        for k, (one, given) in enumerate(zip(nodes, values, strict=True)):
            if isinstance(given, Ref) and not given.path and self.is_changed(given.memory):
                self.arrays_returned.append(given.memory.name)
                continue
            name = one.id if isinstance(one, ast.Name) else "out" if len(values) == 1 else f"out{k}"
            while name in taken:
                name = f"{name}_out" if name in self.arguments else f"{name}_{k}"
            taken.add(name)
            self.arrays_returned.append(name)
            with self.source.at(one):
                held = self.expressions.operand(given)
                result = (
                    self.emit.value(held) if isinstance(held, Ref) else self.emit.in_dtype(held, type_of(held).dtype)
                )
            yield Output(name, result, False)


def _named(graph: Graph, names: Mapping[str, str]) -> Graph:
    """The graph with values by these names, and the others numbered in order."""
    made = [result.name for operation in graph.body.operations for result in operation.results]
    own = {name for name in made if not _is_number(name)} | {value.name for value in graph.body.arguments}
    numbers = (f"v{k}" for k in count() if f"v{k}" not in {*own, *names.values()})
    new = {name: names.get(name) or next(numbers) for name in made if name not in own}

    def named(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(replace(value, name=new.get(value.name, value.name)) for value in values)

    operations = tuple(
        replace(one, operands=named(one.operands), results=named(one.results)) for one in graph.body.operations
    )
    return replace(graph, body=replace(graph.body, operations=operations, results=named(graph.body.results)))


def _is_number(name: str) -> bool:
    """Is it a name that the builder gave?"""
    return name.startswith("v") and name[1:].isdigit()


_REFUSED: dict[type[ast.stmt], tuple[str, str]] = {
    ast.While: ("a while loop", "write for i in range(4), with a number of iterations that is known"),
    ast.Break: ("break", "choose the range of the loop, or write np.where(cond, new, old)"),
    ast.Continue: ("continue", "put the rest of the body under an if"),
    ast.With: ("a with", "leave it around the call"),
    ast.Try: ("a try", "leave it around the call"),
    ast.Raise: ("a raise", "write assert for what must hold of shapes"),
    ast.Import: ("an import", "import at the top of the file"),
    ast.ImportFrom: ("an import", "import at the top of the file"),
    ast.ClassDef: ("a class", "define it at the top of the file"),
    ast.FunctionDef: ("a function", "write its body where it is called"),
    ast.Delete: ("a del", "delete the line"),
    ast.Global: ("a global", "pass the value as a parameter"),
    ast.Nonlocal: ("a nonlocal", "pass the value as a parameter"),
    ast.Match: ("a match", "write if and elif"),
}
